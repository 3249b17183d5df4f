"""A model as the judge: its verdicts, its bill, and what happens when it gives none."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mashq
from mashq.detectors.base import Pair
from mashq.detectors.verdicts import question, verdict
from mashq.testing import FakeProvider
from tests.arena.helpers import rows, story

PLAIN, ASKED = Pair("source", "answer"), Pair("Who?", "Ann", "Ann Lee")


@pytest.mark.parametrize(
    ("pair", "reply", "h"),
    [
        (PLAIN, '{"claims": [{"claim": "a", "supported": true}, {"claim": "b", "supported": false}]}', 0.5),
        (PLAIN, 'Sure: ```json\n{"claims": [{"supported": true}]}\n```', 1.0),
        (PLAIN, '{"claims": []}', None),
        (PLAIN, '{"claims": [{"supported": "yes"}]}', None),
        (PLAIN, '{"claims": ["a"]}', None),
        (PLAIN, '{"claims": 3}', None),
        (PLAIN, "all fine", None),
        (ASKED, '{"grade": "correct"}', 1.0),
        (ASKED, '{"grade": " Incorrect "}', 0.0),
        (ASKED, '{"grade": "not attempted"}', 0.0),
        (ASKED, '{"grade": "A"}', None),
        (ASKED, '{"grade": 1}', None),
    ],
)
def test_a_verdict_is_read_or_it_is_none(pair: Pair, reply: str, h: float | None) -> None:
    assert verdict(pair, reply) == h


@given(st.text(), st.text(), st.one_of(st.none(), st.text()))
def test_whatever_is_judged_stands_in_the_question_as_it_is(source: str, answer: str, reference: str | None) -> None:
    prompt, _ = question(Pair(source + "${answer}", answer, reference))
    assert source + "${answer}" in prompt and answer in prompt


def match(tmp_path: Path, base_url: str, **changes: Any) -> mashq.MatchRun:
    (tmp_path / "items.jsonl").write_text('{"id": "a", "text": "Ann won."}\n{"id": "b", "text": "Bob lost."}\n')
    (tmp_path / "answers.jsonl").write_text('{"item": "a", "text": "Ann won."}\n{"item": "b", "text": "Bob won."}\n')
    recorded = f"recorded/{tmp_path / 'answers.jsonl'}"
    config = {
        "task": {"data": str(tmp_path / "items.jsonl")},
        "players": [{"name": "A", "agent": "plain", "model": recorded}],
        "detector": "llm-judge:my/judge",
        "models": {"my/judge": {"base_url": base_url, "retry": {"attempts": 2, "base": 0.01}}},
        **changes,
    }
    return mashq.play(config, tmp_path / "run")


def test_a_judge_without_a_verdict_fails_the_item_and_is_no_grade(tmp_path: Path) -> None:
    """The loopback provider knows nothing of claims, so none of its replies is a verdict."""
    with FakeProvider(seed=1) as provider:
        result = match(tmp_path, provider.base_url)
        assert len(provider.hits()) == 4, "every verdict was asked for twice"
    answers = [m for m in story(tmp_path / "run")["A"] if m["kind"] == "answer"]
    assert [a["status"] for a in answers] == ["failed", "failed"]
    assert all("no verdict" in a["error"] for a in answers)
    assert result["items"] == 0
    assert result["referee"]["opened"] == 4


class Verdicts(BaseHTTPRequestHandler):
    """A judge that finds what Ann did supported, and nothing else."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        supported = "Ann won." in body["messages"][-1]["content"].split("<text>")[1]
        reply = json.dumps({"claims": [{"claim": "it", "supported": supported}]})
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        data = json.dumps(
            {"choices": [{"message": {"content": reply}, "finish_reason": "stop"}], "usage": usage}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
        """Say nothing."""


@pytest.fixture
def judge() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Verdicts)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_judges_bill_is_the_referees(tmp_path: Path, judge: str) -> None:
    result = match(tmp_path, judge)
    (one,) = result["players"]
    assert (one["h"], one["calls"], one["answer_rate"]) == (0.5, 2, 1.0)
    assert result["referee"] == {
        "opened": 2,
        "failed": 0,
        "unresolved": 0,
        "tokens": 30,
        "seconds": pytest.approx(0.0, abs=5),
    }
    assert result["attempts"]["opened"] == 2, "the referee's calls are nobody's"
    assert rows(tmp_path / "run", "SELECT DISTINCT player FROM attempts ORDER BY player") == [("A",), ("referee",)]
    assert result["detector"] == {"name": "llm-judge:my/judge", "version": "1"}


def test_a_model_may_guide_while_a_detector_judges(tmp_path: Path, judge: str) -> None:
    result = match(tmp_path, judge, detector="grounding", guide="llm-judge:my/judge")
    (one,) = result["players"]
    assert one["h_guide"] == 0.5 and one["h"] != 0.5
