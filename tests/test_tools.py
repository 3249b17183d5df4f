"""What the release tools say: lock, lowest versions, bill of materials, release notes, and what pip-audit told."""

import json
import re
from typing import Any

import pytest
from packaging.requirements import Requirement

from tools.audit import verdict
from tools.environments import LOCK, ROOT, normal, pins, project
from tools.lock import unmet
from tools.minimum import lowest
from tools.notes import notes
from tools.sbom import bill, closure

CHANGELOG = "# Changelog\n\n## 0.2.0 (unreleased)\n\n- Second.\n\n## 0.1.0\n\n- First.\n- More.\n\n## 0.0.9\n"


def test_the_lock_holds_what_the_project_asks_for() -> None:
    assert unmet() == []


def test_the_lock_holds_versions_and_hashes_and_no_addresses() -> None:
    text = LOCK.read_text()
    assert "://" not in text and "index" not in text.replace("importlib", "")
    held = [Requirement(pin) for pin in pins(text)]
    assert all(len(pin.specifier) == 1 and str(pin.specifier).startswith("==") for pin in held)
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}\b", text)) > len(held)
    assert "torch" not in {normal(pin.name) for pin in held}


def test_every_dependency_states_its_lowest_version() -> None:
    stated = project()["dependencies"]
    assert [pin.replace("==", ">=") for pin in lowest(stated)] == stated
    with pytest.raises(SystemExit, match="state the lowest version"):
        lowest(["numpy"])


def test_the_bill_is_what_the_specification_requires() -> None:
    found = bill(frozenset(), None)
    assert (found["bomFormat"], found["specVersion"], found["version"]) == ("CycloneDX", "1.6", 1)
    assert re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", found["serialNumber"])
    listed: list[dict[str, Any]] = [found["metadata"]["component"], *found["components"]]
    assert all({"type", "name", "version", "purl", "bom-ref"} <= part.keys() for part in listed)
    assert all(re.fullmatch(r"pkg:pypi/[a-z0-9-]+@\S+", part["purl"]) for part in listed)
    refs = {part["bom-ref"] for part in listed}
    assert len(refs) == len(listed) == len(found["dependencies"])
    assert {entry["ref"] for entry in found["dependencies"]} == refs
    assert {ref for entry in found["dependencies"] for ref in entry["dependsOn"]} <= refs
    assert found == bill(frozenset(), None)


def test_the_bill_lists_what_the_project_asks_for_and_what_that_needs() -> None:
    held = closure(frozenset())
    assert {normal(Requirement(line).name) for line in project()["dependencies"]} <= held.keys()
    assert "pydantic-core" in held and "pytest" not in held
    assert held.keys() < closure(frozenset({"web"})).keys()


def test_notes_are_the_part_of_a_version() -> None:
    assert notes(CHANGELOG, "0.1.0") == "- First.\n- More.\n"
    assert notes(CHANGELOG, "0.2.0") == "- Second.\n"
    for version in ("0.0.9", "0.1", "1.0"):
        with pytest.raises(LookupError, match=re.escape(version)):
            notes(CHANGELOG, version)
    assert notes((ROOT / "CHANGELOG.md").read_text(), project()["version"])


def test_advisories_are_named_and_what_was_not_looked_up_is_not_called_sound() -> None:
    bad = {"name": "a", "version": "1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.0"]}]}
    good: dict[str, Any] = {"name": "b", "version": "1", "vulns": []}
    lost = {"name": "c", "skip_reason": "not found"}

    def told(*packages: dict[str, Any]) -> tuple[str, int]:
        return verdict(json.dumps({"dependencies": packages}), "")

    assert told(bad, good) == ("a 1: PYSEC-1, fixed in 2.0\n1 advisories against 2 packages", 1)
    assert told(good, lost) == ("0 advisories against 1 packages\nNOT CHECKED: c", 0)
    assert told(lost)[0].startswith("NOT CHECKED") and told(lost)[1] == 0
    assert verdict("", "no route\n") == (
        "NOT CHECKED: pip-audit could not be run or got no answer from its advisory service (no route).",
        0,
    )
