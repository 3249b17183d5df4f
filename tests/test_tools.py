"""The release tools: the lock, lowest versions, the bill of materials and release notes."""

import re
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
