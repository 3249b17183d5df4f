"""Which tests reach which line: recorded in one run of the tests, kept while sources and tests are unchanged."""

import ast
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from coverage import CoverageData

from tools.mutants.faults import Fault
from tools.mutants.recording import FIXTURE
from tools.mutants.sample import PACKAGE
from tools.mutants.tree import Tree

MEASURED = """\
[run]
source = mashq
patch = subprocess
sigterm = true
disable_warnings = module-not-imported, no-data-collected
"""
LONGEST = 3 * 3600.0


@dataclass(frozen=True, slots=True)
class Touch:
    """Each test's duration, and the tests that run each line of each file."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, frozenset[str]]]
    importers: dict[str, frozenset[str]]

    def tests(self, fault: Fault) -> list[str]:
        """Return the tests that could catch the fault, fastest first; those that only import the module last."""
        file_lines = self.lines.get(fault.file, {})
        first, last = fault.touched
        direct = self._union(file_lines.get(line, frozenset()) for line in range(first, last + 1))
        if not fault.at_import:
            return self._quickest(direct)
        in_file = self._union(file_lines.values())
        in_importers = self._union(
            tests for file in self.importers.get(fault.file, ()) for tests in self.lines.get(file, {}).values()
        )
        return [*self._quickest(in_file), *self._quickest(in_importers - in_file)]

    def _union(self, sets: Iterable[frozenset[str]]) -> frozenset[str]:
        return frozenset[str]().union(*sets)

    def _quickest(self, tests: Iterable[str]) -> list[str]:
        return sorted(tests, key=lambda test: (self.seconds[test], test))


def importers(root: Path) -> dict[str, frozenset[str]]:
    """Return the modules that import from each module, also through a package's `__init__`."""
    files = {path.relative_to(root).as_posix(): path for path in sorted((root / PACKAGE).rglob("*.py"))}
    imported = {name: _imported(root, path) & files.keys() for name, path in files.items()}
    users_of: dict[str, set[str]] = {name: set() for name in files}
    for name, targets in imported.items():
        for target in targets:
            users_of[target].add(name)
    for users in users_of.values():
        for init in [target for target in users if target.endswith("__init__.py")]:
            users |= users_of[init]
    return {name: frozenset(users - {name}) for name, users in users_of.items()}


def _imported(root: Path, path: Path) -> set[str]:
    """Return the files of the package that a module imports."""
    source = root / PACKAGE.partition("/")[0]
    package = path.relative_to(source).parent.parts
    dotted: set[tuple[str, ...]] = set()
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            dotted |= {tuple(alias.name.split(".")) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            parts = (*base, *(node.module.split(".") if node.module else ()))
            dotted |= {parts, *((*parts, alias.name) for alias in node.names)}
    candidates = {source.joinpath(*parts) for parts in dotted}
    return {
        file.relative_to(root).as_posix()
        for candidate in candidates
        for file in (candidate.with_suffix(".py"), candidate / "__init__.py")
    }


def record(tree: Tree, tests: Sequence[str], jobs: int) -> Touch:
    """Run the tests once; those that do not pass can catch nothing and are left out."""
    config, out = tree.folder / "coverage.ini", tree.folder / "tests.jsonl"
    config.write_text(MEASURED)
    arguments = [
        "-p",
        "pytest_cov",
        "-p",
        "xdist",
        f"--cov-config={config}",
        "--cov=mashq",
        "--cov-report=",
        "-o",
        "timeout=600",
        *tests,
    ]
    if jobs > 1:
        arguments += ["-n", str(jobs), "--dist", "worksteal"]
    status = tree.pytest("tools.mutants.recording", {"out": str(out)}, arguments, LONGEST)
    if status not in (0, 1) or not out.is_file():
        raise RuntimeError(f"The tests could not be recorded; pytest exited with {status}:\n{tree.told()}")
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    passed = {row["test"]: row for row in rows if row["passed"]}
    data = CoverageData(str(tree.root / ".coverage"))
    data.read()
    by_file: dict[str, dict[int, frozenset[str]]] = {}
    tests_of: dict[str, frozenset[str]] = {}
    for file in sorted(data.measured_files()):
        if not Path(file).is_relative_to(tree.root):
            print(f"{file} is not in the copy: what it runs there catches no fault.")
            continue
        lines: dict[int, frozenset[str]] = {}
        for line, contexts in data.contexts_by_lineno(file).items():
            for context in contexts:
                if context not in tests_of:
                    tests_of[context] = users(context, passed)
            if tests_here := frozenset[str]().union(*(tests_of[context] for context in contexts)):
                lines[line] = tests_here
        by_file[Path(file).relative_to(tree.root).as_posix()] = lines
    seconds = {name: round(row["seconds"], 3) for name, row in passed.items()}
    return Touch(seconds, by_file, importers(tree.root))


def users(context: str, passed: Mapping[str, Mapping[str, object]]) -> frozenset[str]:
    """Return the tests of a context: one test, or all that use a fixture."""
    if not context.startswith(FIXTURE):
        return frozenset({context} & passed.keys())
    base, _, name = context.removeprefix(FIXTURE).rpartition("::")
    return frozenset(
        test
        for test, row in passed.items()
        if test.startswith(base) and isinstance(used := row["fixtures"], list) and name in used
    )


def recorded(path: Path, source: Path, tests: Sequence[str], jobs: int) -> Touch:
    """Return the record stored in a file, or make one and store it there."""
    if not path.is_file():
        print(
            f"Recording which test runs which line ({' '.join(tests)}); once for these sources and tests …",
            flush=True,
        )
        with tempfile.TemporaryDirectory() as folder:
            _store(path, record(Tree.copied(source, Path(folder)), tests, jobs))
    return _load(path)


def _store(path: Path, touch: Touch) -> None:
    names = list(touch.seconds)
    index_of = {name: index for index, name in enumerate(names)}
    document = {
        "tests": touch.seconds,
        "lines": {
            file: {line: sorted(index_of[test] for test in tests) for line, tests in lines.items()}
            for file, lines in touch.lines.items()
        },
        "importers": {file: sorted(users) for file, users in touch.importers.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(json.dumps(document), "utf-8")
    unfinished.replace(path)


def _load(path: Path) -> Touch:
    document = json.loads(path.read_text("utf-8"))
    names = list(document["tests"])
    lines = {
        file: {int(line): frozenset(names[place] for place in places) for line, places in lines.items()}
        for file, lines in document["lines"].items()
    }
    return Touch(document["tests"], lines, {file: frozenset(users) for file, users in document["importers"].items()})
