"""Spans against OpenTelemetry's own protobufs."""

import base64
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import mashq as package
from mashq.errors import ConfigError, StoreError
from mashq.export import otel
from mashq.testing import FakeProvider
from tests.arena.helpers import http_config, rows, write_items
from tests.export.runs import command, played

trace_pb2 = pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
json_format = pytest.importorskip("google.protobuf.json_format")


def spans(text: str) -> list[Any]:
    """The spans as OpenTelemetry reads them. OTLP writes ids in hexadecimal where protobuf's JSON has base64."""
    found: list[Any] = []
    for line in text.splitlines():
        document = json.loads(line, object_hook=_ids)
        data = json_format.ParseDict(document, trace_pb2.TracesData())
        found += [span for one in data.resource_spans for scope in one.scope_spans for span in scope.spans]
    return found


def _ids(document: dict[str, Any]) -> dict[str, Any]:
    for key in ("traceId", "spanId", "parentSpanId"):
        if key in document:
            document[key] = base64.b64encode(bytes.fromhex(document[key])).decode()
    return document


def said(span: Any) -> dict[str, Any]:
    """A span's attributes as plain values."""
    return {one.key: _plain(one.value) for one in span.attributes}


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_plain(one) for one in value.array_value.values]
    if kind == "kvlist_value":
        return {one.key: _plain(one.value) for one in value.kvlist_value.values}
    return getattr(value, kind)


def test_a_trace_for_each_match_and_a_span_for_each_attempt(tmp_path: Path) -> None:
    run = played(tmp_path / "run", trials=2)
    text = command("export", run, "--format", "otel")
    assert command("export", run, "--format", "otel") == text, "ids are the same every time"
    found = spans(text)
    by_id = {span.span_id: span for span in found}
    assert len(by_id) == len(found) and all(len(s.span_id) == 8 and len(s.trace_id) == 16 for s in found)
    roots = [span for span in found if not span.parent_span_id]
    assert len(roots) == 2 == len({span.trace_id for span in found})
    kinds: dict[str, list[Any]] = {}
    for span in found:
        kinds.setdefault(said(span)["gen_ai.operation.name"], []).append(span)
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if span.parent_span_id:
            parent = by_id[span.parent_span_id]
            assert parent.trace_id == span.trace_id
            assert parent.start_time_unix_nano <= span.start_time_unix_nano
            assert span.end_time_unix_nano <= parent.end_time_unix_nano
    ((count, tokens),) = rows(run, "SELECT count(*), sum(tokens_in) FROM attempts")
    assert len(kinds["chat"]) == count
    assert sum(said(span).get("gen_ai.usage.input_tokens", 0) for span in kinds["chat"]) == tokens
    assert all(by_id[span.parent_span_id] in kinds["invoke_agent"] for span in kinds["chat"])
    assert all(by_id[span.parent_span_id] in roots for span in kinds["invoke_agent"])
    scored = [event for span in kinds["invoke_agent"] for event in span.events]
    ((judged,),) = rows(run, "SELECT count(*) FROM events WHERE json_extract(move, '$.h') IS NOT NULL")
    assert len(scored) == judged
    assert all(0 <= said(event)["gen_ai.evaluation.score.value"] <= 1 for event in scored)
    assert "simulated answer" not in text


def test_failures_and_contents(tmp_path: Path) -> None:
    with FakeProvider(faults={"script": ["ok", "drop_body", "ok", "503"]}) as provider:
        package.play(http_config(provider.base_url, write_items(tmp_path / "i.jsonl", 2)), tmp_path / "run")
    quiet, told = (command("export", tmp_path / "run", "--format", "otel", *more) for more in ([], ["--content"]))
    assert "Marrow Bay" not in quiet
    chats = [span for span in spans(told) if said(span)["gen_ai.operation.name"] == "chat"]
    errors = {said(span)["error.type"]: span for span in chats if span.status.code}
    assert "503" in errors and len(errors) == 2, errors
    assert all(span.status.code == 2 and span.status.message for span in errors.values())
    lost = next(span for kind, span in errors.items() if kind != "503")
    assert "gen_ai.usage.input_tokens" not in said(lost), "unknown is left out, not 0"
    good = said(next(span for span in chats if not span.status.code))
    assert (good["gen_ai.provider.name"], good["gen_ai.request.model"]) == ("my", "alpha")
    assert good["gen_ai.input.messages"][-1]["role"] == "user"
    assert good["gen_ai.output.messages"][0]["parts"][0]["type"] == "text"
    assert any("Marrow Bay" in part["content"] for one in good["gen_ai.input.messages"] for part in one["parts"])


def test_an_attempt_that_was_never_closed_is_unresolved(tmp_path: Path) -> None:
    run = played(tmp_path / "run")
    with closing(sqlite3.connect(run / "run.db", isolation_level=None)) as connection:
        connection.execute(
            "UPDATE attempts SET closed=NULL, outcome=NULL, tokens_in=NULL, tokens_out=NULL WHERE id=3"
        )
    found = next(
        span for span in spans(command("export", run, "--format", "otel")) if said(span).get("mashq.attempt") == 3
    )
    assert said(found)["error.type"] == "unresolved" and found.status.code == 2
    assert found.start_time_unix_nano == found.end_time_unix_nano


def test_the_ledger_of_a_gateway_has_attempts_and_spans_but_no_results(tmp_path: Path) -> None:
    run = played(tmp_path / "run")
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | {"kind": "gateway", "player": "A"}))
    with closing(sqlite3.connect(run / "run.db")) as connection, connection:
        connection.execute("DELETE FROM matches")
        connection.execute("DELETE FROM events")
    found = spans(command("export", run, "--format", "otel"))
    ((count,),) = rows(run, "SELECT count(*) FROM attempts")
    assert sum(said(span)["gen_ai.operation.name"] == "chat" for span in found) == count
    assert len(command("export", run, "--format", "jsonl", "--what", "attempts").splitlines()) == count
    with pytest.raises(StoreError, match="ledger of a gateway"):
        command("export", run, "--format", "csv")
    with pytest.raises(ConfigError, match="no matches to choose from"):
        command("export", run, "--format", "otel", "--match", "0")


@pytest.mark.parametrize(
    ("model", "named"),
    [
        ("gemini/gemini-2.5-flash", ("gcp.gemini", "gemini-2.5-flash")),
        ("xai/grok-4", ("x_ai", "grok-4")),
        ("mistral/mistral-small", ("mistral_ai", "mistral-small")),
        ("local/smollm2-135m", ("llama.cpp", "smollm2-135m")),
        ("openai/org/model", ("openai", "org/model")),
        ("alone", ("unknown", "alone")),
    ],
)
def test_providers_have_the_names_of_the_conventions(model: str, named: tuple[str, str]) -> None:
    assert otel.provider_and_model(model) == named


def test_texts_are_exported_only_when_they_are_asked_for(tmp_path: Path) -> None:
    run, file = played(tmp_path / "run"), io.StringIO()
    otel.write(run, file)
    assert "gen_ai.input.messages" not in file.getvalue() and "gen_ai.output.messages" not in file.getvalue()
