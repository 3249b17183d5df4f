"""The published schemas: what commands print follows them, what they do not print is refused."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import jsonschema
import pytest
from click.testing import CliRunner

from mashq.cli import cli
from mashq.protocol import resources
from mashq.report.documents import base
from mashq.report.documents.schema import DOCUMENTS, schema_of
from tests.report import runs

EXPECTED = Path(__file__).parent.parent / "pinned" / "expected"
CHECKED = {kind: jsonschema.Draft202012Validator(schema_of(kind)) for kind in DOCUMENTS}


def expanded(value: Any) -> Any:
    """A stored value with its tables as rows again."""
    if isinstance(value, list):
        return [expanded(inner) for inner in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    pairs = cast(dict[str, Any], value)
    if list(pairs) == ["columns", "rows"]:
        return [dict(zip(pairs["columns"], map(expanded, row), strict=True)) for row in pairs["rows"]]
    return {key: expanded(inner) for key, inner in pairs.items()}


def pinned() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every document that the pinned commands print."""
    for path in sorted(EXPECTED.rglob("*.json")):
        for name, stored in json.loads(path.read_text("utf-8")).items():
            if name.startswith("mashq ") and "--json" in name.split() and "→" not in name:
                value: Any = expanded(stored)
                several = cast(list[dict[str, Any]], value if isinstance(value, list) else [value])
                yield from ((name, document) for document in several)


def wrong(document: dict[str, Any]) -> list[str]:
    """What a schema has against a document."""
    found = CHECKED[document["kind"]].iter_errors(document)  # pyright: ignore[reportUnknownMemberType]
    return [f"{error.json_path}: {error.message[:200]}" for error in found]


@pytest.mark.skipif(not EXPECTED.is_dir(), reason="there are no pinned outputs here")
def test_every_pinned_document_follows_its_schema() -> None:
    seen: set[str] = set()
    for name, document in pinned():
        assert document["schema"] == base.SCHEMA, name
        assert not wrong(document), f"{name}: {wrong(document)[:3]}"
        seen.add(document["kind"])
    assert seen == set(DOCUMENTS)


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What `mashq show --json` prints of a run of each kind, and `mashq score --json` of a match."""
    made = runs.every_kind(tmp_path_factory.mktemp("kinds"))
    lines = [["show", str(path)] for path in made.values()] + [["score", str(made["match"]), "--resamples", "100"]]
    lines += [["verify", str(made["match"])], ["compare", str(made["match"]), str(made["trials"])], ["paper"]]
    found = [json.loads(CliRunner().invoke(cli, [*line, "--json"]).output) for line in lines]
    return {document["kind"]: document for document in found}


def test_what_is_printed_follows_its_schema(documents: dict[str, dict[str, Any]]) -> None:
    assert len(documents) == 10
    for kind, document in documents.items():
        assert not wrong(document), f"{kind}: {wrong(document)[:3]}"


def test_an_unknown_or_a_missing_field_is_refused(documents: dict[str, dict[str, Any]]) -> None:
    for kind, document in documents.items():
        assert any("more" in line for line in wrong(document | {"more": 1})), kind
        some = list(document)[2]
        assert any(some in line for line in wrong({key: document[key] for key in document if key != some})), kind
    match = documents["match"]
    match["players"][0]["extra"] = 1
    assert any("extra" in line for line in wrong(match))


def test_every_resource_is_in_the_schemas_that_hold_costs() -> None:
    for kind, part in (("match", "MatchPlayer"), ("score", "ScoredPlayer"), ("tournament", "RatedPlayer")):
        properties = schema_of(kind)["$defs"][part]["properties"]
        assert set(resources.RESOURCES) <= set(properties), kind


def test_schema_lists_the_documents_and_prints_one() -> None:
    listed = CliRunner().invoke(cli, ["schema"])
    assert [line.split()[0] for line in listed.output.splitlines()] == list(DOCUMENTS)
    printed = CliRunner().invoke(cli, ["schema", "match"])
    assert json.loads(printed.output) == schema_of("match")
    assert "it is one of match, trials" in str(CliRunner().invoke(cli, ["schema", "mtach"]).exception)
