"""The sampler of planted faults: what it plants, whom it asks, how it judges."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tools.environments import ROOT
from tools.mutants import trial as trials
from tools.mutants.__main__ import LIST, main, shares, table
from tools.mutants.faults import Fault, differs, faults
from tools.mutants.recording import FIXTURE
from tools.mutants.sample import Equivalent, equivalents, sample, samples, unknown
from tools.mutants.touch import Touch, importers, users
from tools.mutants.tree import Tree
from tools.mutants.trial import Trial, Verdict

FILE = "src/mashq/protocol/a.py"


def changes(text: str) -> set[str]:
    """What is planted in a text, as `original -> mutated`."""
    found = faults(FILE, text.encode())
    assert all(differs(text.encode(), fault.planted(text.encode())) for fault in found)
    return {f"{fault.original} -> {fault.mutated}" for fault in found}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a < b", {"x = a <= b", "x = a >= b"}),
        ("x = a is not b", {"x = a is b"}),
        ("x = a not in b", {"x = a in b"}),
        ("x = a in ('one', 'two words')", {"x = a not in ('one', 'two words')", "x = a in ('oneX', 'two words')"}),
        ("x = 3", {"x = 4", "x = 2"}),
        ("x = 0", {"x = 1"}),
        ("x = 0.25", {"x = 0.5"}),
        ("x = True", {"x = False"}),
        ("x = a // b", {"x = a / b"}),
        ("x = a + (b * c)", {"x = a - (b * c)", "x = a + (b / c)"}),
        ("x = a + 'text'", set[str]()),
        ("x = a and b or c", {"x = a or b or c", "x = a and b and c"}),
        ("x = not a", {"x = a"}),
        ("x = -a", {"x = a"}),
        ("x += a", {"x -= a", "pass"}),
        ("x.y = a", {"pass"}),
        ("f(a, b)", {"pass", "f(b, a)"}),
        ("x = f(a, *b)", set[str]()),
        ("x = min(a, b)", {"x = max(a, b)"}),
        ("x = sorted(a, key=k)", {"x = list(a)"}),
        ("x = sorted(a, reverse=True)", {"x = list(a)", "x = sorted(a, reverse=False)"}),
        ("x = np.argmin(a)", {"x = np.argmax(a)"}),
        ("x = a['key']", {"x = a['keyX']"}),
        ("x = a.get('key')", {"x = a.get('keyX')"}),
        ("x = {'key': a, 'a sentence': b}", {"x = {'keyX': a, 'a sentence': b}"}),
        ("x = f'**{a}**' if best else a", {"x = f'**{a}**' if not (best) else a"}),
        ("x = f'{a:.2f}'", {"x = f'{a:.3f}'"}),
        ("x = [a for a in b if a.c]", {"x = [a for a in b if not (a.c)]"}),
        ("raise ValueError(f'{a + 1}')", {"pass"}),
    ],
)
def test_what_is_planted(text: str, expected: set[str]) -> None:
    assert changes(text) == {f"{text} -> {mutated}" for mutated in expected}


def test_what_is_planted_in_a_function() -> None:
    text = "def f(a: int = 1) -> bool:\n    for b in a:\n        if b:\n            break\n    return b\n"
    assert changes(text) == {
        "def f(a: int = 1) -> bool: -> def f(a: int = 2) -> bool:",
        "def f(a: int = 1) -> bool: -> def f(a: int = 0) -> bool:",
        "if b: -> if not (b):",
        "break -> continue",
        "return b -> return None",
    }


def test_what_is_left_alone() -> None:
    text = '''\
"""Text with 1."""
from typing import TYPE_CHECKING, Literal
__all__ = ["a"]
Kind = Literal["a", "b"]
if TYPE_CHECKING:
    x = 1
@dataclass(frozen=True)
class A:
    """Text."""
    field: Annotated[int, Ge(0)]
    model_config = ConfigDict(frozen=True, strict=True)
@overload
def f(a: Literal[1]) -> Literal[True]: ...
def g(a: Literal[1]) -> "Literal[2]":
    assert a == 1
    logger.info("a", 1 + 1)
    warnings.warn("b", stacklevel=2)
if __name__ == "__main__":
    g(1)
'''
    assert changes(text) == set()


def test_what_is_not_the_log_is_not_left_alone() -> None:
    assert changes("warnings.append(a)") == {"warnings.append(a) -> pass"}
    assert changes("x = log(a, b)") == {"x = log(a, b) -> x = log(b, a)"}


def test_a_key_names_texts_and_no_line() -> None:
    before = faults(FILE, b"def f():\n    x = a < b\n    y = a < c\n    x = a < b\n")
    after = faults(FILE, b"import os\n\n\ndef f():\n    y = a > c\n    x = a < b\n\n    x = a < b\n")
    kept = [fault.key for fault in before if "x =" in fault.original]
    assert kept == [
        (FILE, "f", "x = a < b", "x = a <= b", 1),
        (FILE, "f", "x = a < b", "x = a >= b", 1),
        (FILE, "f", "x = a < b", "x = a <= b", 2),
        (FILE, "f", "x = a < b", "x = a >= b", 2),
    ]
    assert [fault.key for fault in after if "x =" in fault.original] == kept


def test_the_lines_of_a_fault_are_those_of_its_statement() -> None:
    text = b"A = 1\n@cache\ndef f(a=2):\n    return [\n        3,\n    ]\ndef g():\n    if a == 4:\n        b()\n"
    found = {fault.original: (fault.touched, fault.at_import) for fault in faults(FILE, text)}
    assert found == {
        "A = 1": ((1, 1), True),
        "def f(a=2):": ((3, 3), True),
        "return [ 3, ]": ((4, 6), True),
        "3,": ((4, 6), True),
        "if a == 4:": ((8, 8), False),
        "b()": ((9, 9), False),
    }


def project(root: Path, lines: int = 40) -> Path:
    """Sources with many lines in two folders."""
    for folder in ("protocol", "runs"):
        (root / "src/mashq" / folder).mkdir(parents=True)
        text = "".join(f"a{n} = {n}\n" for n in range(lines))
        (root / "src/mashq" / folder / "a.py").write_text(text)
    return root


def test_a_sample_is_shared_out_over_the_folders_and_the_lines(tmp_path: Path) -> None:
    drawn = samples(project(tmp_path), ["protocol", "runs"], 11, seed=1)
    places = [(fault.file.split("/")[2], fault.line) for fault in drawn]
    assert [name for name, _ in places] == ["protocol"] * 6 + ["runs"] * 5
    assert len(set(places)) == 11
    assert samples(tmp_path, ["protocol", "runs"], 11, seed=1) == drawn
    assert samples(tmp_path, ["protocol", "runs"], 11, seed=2) != drawn


def test_a_change_elsewhere_leaves_a_sample_as_it_is(tmp_path: Path) -> None:
    drawn = sample(project(tmp_path), "runs", 10, seed=1)
    path = tmp_path / "src/mashq/runs/a.py"
    taken = {fault.line for fault in drawn}
    other = next(line for line in range(1, 41) if line not in taken)
    lines = path.read_text().splitlines()
    lines[other - 1] = "# gone\n"
    path.write_text("\n\n" + "\n".join(lines))
    assert [fault.key for fault in sample(tmp_path, "runs", 10, seed=1)] == [fault.key for fault in drawn]


def test_the_reviewed_list_names_faults_that_are_there() -> None:
    listed = equivalents(ROOT / LIST)
    assert [(one.file, one.function, one.mutated) for one in unknown(listed, ROOT)] == []


def test_the_reviewed_list_gives_reasons_once(tmp_path: Path) -> None:
    path = tmp_path / "list.toml"
    entry = '[[equivalent]]\nfile = "a"\nfunction = "f"\noriginal = "x"\nmutated = "y"\nreason = "{}"\n'
    path.write_text(entry.format("as before"))
    assert equivalents(path) == [Equivalent("a", "f", "x", "y", "as before")]
    assert unknown(equivalents(path), tmp_path) == equivalents(path)
    path.write_text(entry.format(" "))
    with pytest.raises(ValueError, match="why"):
        equivalents(path)
    path.write_text(entry.format("as before") * 2)
    with pytest.raises(ValueError, match="twice"):
        equivalents(path)


def test_a_share_is_of_those_that_could_be_caught(tmp_path: Path) -> None:
    drawn = samples(project(tmp_path), ["protocol", "runs"], 42, seed=1)
    known = {fault.key: Verdict(number not in (0, 1, 21, 22, 23, 24)) for number, fault in enumerate(drawn)}
    rows = shares(drawn, {drawn[0].key, drawn[2].key, drawn[21].key}, known)
    assert [(row.folder, row.planted, row.equivalent, row.caught, row.enough) for row in rows] == [
        ("protocol", 21, 2, 18, False),  # 18 of 19 is less than 95%
        ("runs", 21, 1, 17, True),  # 17 of 20 is 85%
    ]
    assert table(rows).splitlines()[1:] == [
        "protocol         21           2      18    94.7%     95%  too few",
        "runs             21           1      17    85.0%     85%",
    ]


def one_fault(text: bytes, at_import: bool) -> Fault:
    """The first of a text that is, or is not, run when it is imported."""
    return next(fault for fault in faults(FILE, text) if fault.at_import is at_import)


def test_the_tests_that_reach_a_fault_are_asked_the_quickest_first() -> None:
    text = b"A = 1\ndef f():\n    return a\n"
    lines = {
        FILE: {3: frozenset({"slow", "quick"}), 9: frozenset({"own"})},
        "user.py": {1: frozenset({"user", "own"})},
    }
    seconds = {"slow": 9.0, "quick": 0.1, "own": 3.0, "user": 0.2}
    touch = Touch(seconds, lines, {FILE: frozenset({"user.py"})})
    assert touch.tests(one_fault(text, at_import=False)) == ["quick", "slow"]
    assert touch.tests(one_fault(text, at_import=True)) == ["quick", "own", "slow", "user"]


def test_a_shared_fixture_stands_for_all_tests_that_use_it() -> None:
    passed = {
        "tests/web/test_a.py::test_x": {"fixtures": ["runs"]},
        "tests/web/test_b.py::test_y": {"fixtures": ["runs", "view"]},
        "tests/cli/test_c.py::test_z": {"fixtures": ["runs"]},
    }
    assert users(f"{FIXTURE}tests/web::runs", passed) == set(list(passed)[:2])
    assert users("tests/web/test_a.py::test_x", passed) == {"tests/web/test_a.py::test_x"}
    assert users("tests/web/test_a.py::test_failed", passed) == set()


def test_who_imports_a_module_by_way_of_its_package_too(tmp_path: Path) -> None:
    texts = {
        "a/__init__.py": "from mashq.a.one import X\n",
        "a/one.py": "X = 1\n",
        "a/two.py": "from .one import X\n",
        "b.py": "from mashq.a import X\n",
        "c.py": "import mashq.b\n",
    }
    for name, text in texts.items():
        path = tmp_path / "src/mashq" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    found = importers(tmp_path)
    assert found["src/mashq/a/one.py"] == {"src/mashq/a/__init__.py", "src/mashq/a/two.py", "src/mashq/b.py"}
    assert found["src/mashq/b.py"] == {"src/mashq/c.py"}
    assert found["src/mashq/c.py"] == set()


@dataclass(slots=True)
class Scripted(Tree):
    """A tree whose tests do what is written; each run says which tests were asked."""

    script: list[tuple[int | None, str, str]] = field(default_factory=list[tuple[int | None, str, str]])
    asked: list[list[str]] = field(default_factory=list[list[str]])

    def pytest(self, plugin: str, plan: dict[str, Any], arguments: Sequence[str], seconds: float) -> int | None:
        """The next line of the script: status, event, test."""
        self.asked.append([test for test, _ in plan["order"]])
        status, event, test = self.script.pop(0)
        if event:
            Path(plan["events"]).write_text(f'{{"event": "collected"}}\n{{"event": "{event}", "test": "{test}"}}\n')
        (self.folder / "log.txt").write_text("what pytest said")
        return status


def judged(tmp_path: Path, *script: tuple[int | None, str, str], before: str = "") -> tuple[Verdict, list[list[str]]]:
    """The verdict about a fault that tests a to d reach, two of which are asked first."""
    path = tmp_path / "tree" / FILE
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x = a < b")
    tree = Scripted(tmp_path, script=list(script))
    trial = Trial(tree, dict.fromkeys("abcd", 1.0), 60.0)
    try:
        found = trial.verdict(faults(FILE, b"x = a < b")[0], list("abcd"), before)
    finally:
        assert path.read_bytes() == b"x = a < b"
    assert not tree.script
    return found, tree.asked


@pytest.fixture(autouse=True)
def two_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tests are asked first."""
    monkeypatch.setattr(trials, "FIRST", 2)


def test_a_failure_that_comes_again_is_a_catch(tmp_path: Path) -> None:
    found, asked = judged(tmp_path, (0, "", ""), (1, "failed", "d"), (1, "failed", "d"))
    assert found == Verdict(True, "d")
    assert asked == [["a", "b"], ["c", "d"], ["d"]]


def test_a_failure_that_does_not_come_again_is_none(tmp_path: Path) -> None:
    found, asked = judged(tmp_path, (1, "failed", "a"), (0, "", ""), (0, "", ""), (0, "", ""))
    assert found == Verdict(False, note="4 test(s) pass")
    assert asked == [["a", "b"], ["a"], ["b"], ["c", "d"]]


def test_what_caught_it_before_is_asked_first(tmp_path: Path) -> None:
    found, asked = judged(tmp_path, (1, "failed", "c"), (1, "failed", "c"), before="c")
    assert found == Verdict(True, "c")
    assert asked == [["c"], ["c"]]


def test_a_hang_is_a_catch_and_running_out_of_time_is_not(tmp_path: Path) -> None:
    found, _ = judged(tmp_path / "1", (1, "hung", "a"), (1, "hung", "a"))
    assert found == Verdict(True, "a", "hung")
    found, _ = judged(tmp_path / "2", (0, "out of time", "a"))
    assert found == Verdict(False, note="stopped after 60 s, before all tests had run")


def test_tests_that_cannot_be_collected_are_a_catch_if_they_can_be_without_the_fault(tmp_path: Path) -> None:
    found, asked = judged(tmp_path / "1", (2, "", ""), (0, "out of time", "a"))
    assert found == Verdict(True, "import")
    assert asked == [["a", "b"], ["a", "b"]]
    found, _ = judged(tmp_path / "2", (None, "", ""), (0, "", ""))
    assert found == Verdict(True, "import")
    with pytest.raises(RuntimeError, match="what pytest said"):
        judged(tmp_path / "3", (4, "", ""), (4, "", ""))


def test_a_fault_that_no_test_reaches_survives(tmp_path: Path) -> None:
    fault = faults(FILE, b"x = a < b")[0]
    assert Trial(Tree(tmp_path), {}, 60.0).verdict(fault, []) == Verdict(False, note="no test reaches it")


SOURCE = """\
def larger(a: int, b: int) -> int:
    return max(a, b)


def unseen() -> int:
    return 7


def wait(done: bool) -> None:
    while not done:
        pass
"""
TESTS = """\
import os, subprocess, sys
import pytest
from mashq.protocol.a import larger

@pytest.fixture(scope="module")
def found():
    return larger(2, 1)

def test_first(found):
    assert True

def test_second(found):
    assert found == 2

def test_child():
    program = "from mashq.protocol.a import wait; wait(True); print(0)"
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=kept)
    assert told.stdout.split() == ["0"]
"""


@pytest.mark.slow
def test_faults_of_a_small_project(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "LEAST", 3.0)
    root = tmp_path / "project"
    texts = {
        **dict.fromkeys(("src/mashq/__init__.py", "src/mashq/protocol/__init__.py", str(LIST)), ""),
        FILE: SOURCE,
        "tests/test_a.py": TESTS,
        "pyproject.toml": "[tool.pytest.ini_options]\ntimeout = 60\n",
    }
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    asked = ["--folder", "protocol", "--count", "20", "--jobs", "1"]
    assert main(asked, root) == 1
    told = capsys.readouterr().out
    lines = [line.partition("] ")[2] for line in told.splitlines() if line.startswith("[")]
    said = {int(line.split("a.py:")[1].split()[0]): (line.split()[0], line.rpartition("  ")[2]) for line in lines}
    assert said == {
        2: ("caught", "(tests/test_a.py::test_second)"),  # the fixture was made for the first test
        6: ("SURVIVED", "(no test reaches it)"),
        10: ("caught", "(tests/test_a.py::test_child hung)"),  # a child process that knows no PYTHONPATH
    }
    assert told.splitlines()[-1].split() == ["protocol", "3", "0", "2", "66.7%", "95%", "too", "few"]
    assert (root / FILE).read_text() == SOURCE
    assert main([*asked, "--list-survivors"], root) == 0
    assert 'function = "unseen"' in capsys.readouterr().out
    assert main(asked, root) == 1
    again = capsys.readouterr().out
    assert "Recording" not in again and "[1/" not in again
    assert again.splitlines()[-1] == told.splitlines()[-1]
