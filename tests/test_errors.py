"""docs/errors.md lists every sentence a user can be refused with: the same as the code has, no more and no fewer.

The sentences are read from the source: what ConfigError, DataError, DetectorError, ProviderError, StoreError and
Stopped are made with, and the ValueErrors of the settings, which become ConfigErrors. A value in a sentence is `…`.
`python -m tests.test_errors` prints the rows that are missing, ready to be pasted, and those that no code makes any
more.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCE, DOC = ROOT / "src" / "mashq", ROOT / "docs" / "errors.md"
ERRORS = {
    "ConfigError",
    "DataError",
    "DetectorError",
    "GivenUp",
    "MashqError",
    "ProviderError",
    "StoreError",
    "Stopped",
    "TooMuch",
}
SETTINGS = {"config/load.py", "config/schema.py", "protocol/rules.py"}  # where a ValueError is a wrong setting
# A sentence that is only a variable, and the function of the same file that makes it.
MADE_BY = {("gateway/preflight.py", "problem"): "_reach", ("gateway/model.py", "why"): "hopeless"}
# Functions that make a part of a sentence that is worth its own entry.
PARTS = {("config/errors.py", "_described")}
ROW = re.compile(r"^\| `(.+?)` \| (.+?) \|$", re.MULTILINE)
Functions = dict[str, list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]]


def skeleton(node: ast.expr) -> str:
    """A sentence with its values as `…`."""
    return re.sub("…+", "…", " ".join(_parts(node).split()))


def _parts(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_parts, node.values))
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _parts(node.left) + _parts(node.right)
    return "…"


@cache
def sentences() -> dict[str, str]:
    """Every sentence of the source, and where it is made."""
    trees = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
    functions: Functions = {}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                functions.setdefault(node.name, []).append((name, node))
    found: dict[str, str] = {}
    for name, tree in sorted(trees.items()):
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and _is_error(node.func, name):
                for text in _texts(node.args[0], name, functions):
                    found.setdefault(text, f"{name}:{node.lineno}")
    for file, function in PARTS:
        for text in _returned(function, file, functions):
            if text.strip("… "):
                found.setdefault(text, f"{file}, {function}")
    return found


def _is_error(called: ast.expr, file: str) -> bool:
    name = called.id if isinstance(called, ast.Name) else called.attr if isinstance(called, ast.Attribute) else ""
    return name in ERRORS or (name == "ValueError" and file in SETTINGS)


def _texts(node: ast.expr, file: str, functions: Functions) -> Iterator[str]:
    """The sentences an argument can be: of both branches, and of the function that makes it."""
    if isinstance(node, ast.IfExp):
        yield from _texts(node.body, file, functions)
        yield from _texts(node.orelse, file, functions)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
        yield from _returned(node.func.id, file, functions)
    elif isinstance(node, ast.Name) and (file, node.id) in MADE_BY:
        yield from _returned(MADE_BY[file, node.id], file, functions)
    elif isinstance(node, ast.Name):
        yield from {skeleton(value) for value in _assigned(node.id, file)} or {"…"}
    else:
        yield skeleton(node)


def _assigned(name: str, file: str) -> Iterator[ast.expr]:
    """The texts a variable of this name is given in a file."""
    for node in ast.walk(ast.parse((SOURCE / file).read_text("utf-8"))):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Constant | ast.JoinedStr):
            continue
        if [ast.unparse(target) for target in node.targets] == [name]:
            yield node.value


def _returned(function: str, file: str, functions: Functions) -> Iterator[str]:
    """What a function returns, the one of this file when several have its name."""
    known = functions[function]
    for place, node in [one for one in known if one[0] == file] or known:
        for inner in ast.walk(node):
            if isinstance(inner, ast.Return) and inner.value is not None and ast.unparse(inner.value) != "None":
                yield from _texts(inner.value, place, functions)


def documented() -> dict[str, str]:
    """Every sentence of the document, and its fix."""
    return {sentence.replace("\\|", "|"): fix for sentence, fix in ROW.findall(DOC.read_text("utf-8"))}


def missing() -> list[str]:
    """The rows the document lacks."""
    known = documented()
    return [f"| `{text}` | … |  <- {where}" for text, where in sentences().items() if text not in known]


def stale() -> list[str]:
    """The sentences the document has and the code has not."""
    there = sentences()
    return [text for text in documented() if text not in there]


def test_every_error_has_an_entry() -> None:
    assert not missing(), "docs/errors.md lacks (say how each is fixed):\n" + "\n".join(missing())


def test_every_entry_has_an_error() -> None:
    assert not stale(), "docs/errors.md has what no code says any more:\n" + "\n".join(stale())


def test_every_sentence_is_found_in_the_source() -> None:
    """One that is only a variable is read where it is made: say where in MADE_BY."""
    bare = {text: where for text, where in sentences().items() if not re.search(r"\w", text)}
    assert set(bare) <= {"…: …"}, bare  # a file, and what the settings or YAML say of it: each has its own entry


def test_every_entry_says_how_to_fix_it() -> None:
    assert not [text for text, fix in documented().items() if len(fix) < 10]


def test_an_entry_stands_once() -> None:
    texts = [sentence for sentence, _ in ROW.findall(DOC.read_text("utf-8"))]
    assert len(texts) == len(set(texts)), {text for text in texts if texts.count(text) > 1}


if __name__ == "__main__":
    sys.stdout.write("\n".join([*missing(), *(f"no longer made: {text}" for text in stale())]) + "\n")
