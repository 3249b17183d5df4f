"""The release tools: the lock, lowest versions, the bill of materials and release notes."""

import ast
import importlib
import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest

from tools.environments import LOCK, ROOT, project
from tools.notes import notes
from tools.sbom import with_hashes

CHANGELOG = "# Changelog\n\n## 0.2.0 (unreleased)\n\n- Second.\n\n## 0.1.0\n\n- First.\n- More.\n\n## 0.0.9\n"


def test_the_lock_holds_versions_and_hashes_and_no_addresses() -> None:
    text = LOCK.read_text()
    pinned = re.findall(
        r"^([\w.-]+)==\S+ (?:; .* )?\\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", text, re.MULTILINE
    )
    assert len(pinned) == sum(not line.startswith((" ", "#")) for line in text.splitlines()) > 100
    assert not re.search(r"://|file:|--(index|extra-index|find-links)", text)
    assert "torch" not in pinned


def test_every_dependency_states_its_lowest_version_and_nothing_else() -> None:
    table = project()
    stated = [*table["dependencies"], *(line for extra in table["optional-dependencies"].values() for line in extra)]
    others = [line for line in stated if not line.startswith("mashq[")]
    assert [line for line in others if not re.fullmatch(r"[\w.-]+(\[[\w,]+\])?>=[\d.]+", line)] == []


def bill() -> dict[str, Any]:
    """What cyclonedx-py says of one package that needs one other."""
    return {
        "metadata": {"component": {"name": "mashq", "version": "0.1.0"}},
        "components": [{"name": "ruamel.yaml", "version": "0.19"}],
    }


def test_the_bill_holds_the_hash_of_the_wheel_and_of_what_it_needs() -> None:
    found = with_hashes(bill(), "ab", {"ruamel-yaml": "cd"}, "--hash=sha256:cd")
    subject = found["metadata"]["component"]
    assert subject["purl"] == "pkg:pypi/mashq@0.1.0"
    assert subject["hashes"] == [{"alg": "SHA-256", "content": "ab"}]
    assert [part["hashes"] for part in found["components"]] == [[{"alg": "SHA-256", "content": "cd"}]]


def test_a_file_that_is_not_locked_gets_no_bill() -> None:
    with pytest.raises(SystemExit, match=r"ruamel\.yaml 0\.19"):
        with_hashes(bill(), "ab", {"ruamel-yaml": "cd"}, "--hash=sha256:ef")


def test_notes_are_the_part_of_a_version() -> None:
    assert notes(CHANGELOG, "0.1.0") == "- First.\n- More.\n"
    assert notes(CHANGELOG, "0.2.0") == "- Second.\n"
    for version in ("0.0.9", "0.1", "1.0"):
        with pytest.raises(LookupError, match=re.escape(version)):
            notes(CHANGELOG, version)
    release = project()["version"].partition(".dev")[0]  # what is being worked on stands under the version to be
    assert notes((ROOT / "CHANGELOG.md").read_text(), release)


BENCHMARKS = sorted(path for path in (ROOT / "bench").rglob("*.py"))


def defined_in(path: Path) -> set[str]:
    """Every name that a script assigns or defines."""
    nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
    functions = {
        node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    return functions | {node.id for node in nodes if isinstance(node, ast.Name)}


def lacks(module: str, name: str, script: Path) -> bool:
    """Whether a script imports a name that its module, of the package or beside the script, does not have."""
    beside = script.with_name(f"{module}.py")
    if beside.is_file():
        return name not in defined_in(beside)
    if module.partition(".")[0] not in ("mashq", "tests"):
        return False
    return not hasattr(importlib.import_module(module), name) and not importlib.util.find_spec(f"{module}.{name}")


@pytest.mark.parametrize("script", BENCHMARKS, ids=lambda path: path.stem)
def test_every_benchmark_fits_the_package(script: Path) -> None:
    """What it imports is there, so that it can be started; running it to its end is not the work of a test."""
    if script.parent.name == "reader":
        pytest.importorskip("torch")
    nodes = [node for node in ast.walk(ast.parse(script.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)]
    names = [(node.module or "", alias.name) for node in nodes for alias in node.names]
    assert [f"{module}.{name}" for module, name in names if lacks(module, name, script)] == []
