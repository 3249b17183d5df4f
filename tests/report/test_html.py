"""Reports: what they say, that nothing in them is anything but text, and that they need nothing but themselves."""

import json
import re
import sqlite3
import struct
import sys
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from mashq.analysis.paired import Difference
from mashq.cli import cli
from mashq.errors import ConfigError
from mashq.protocol.results import from_matches
from mashq.report.documents.base import DetectorVersion, dumped
from mashq.report.documents.game import Disclosure, Game
from mashq.report.documents.vision import Vision, VisionPlayer
from mashq.report.html import bundle, page, sections_games
from mashq.report.html.facts import Facts, facts
from mashq.report.html.figures import write_figures, write_tables
from mashq.report.html.labels import labels
from mashq.report.html.methods import citation, without_folders
from mashq.report.html.parts import Figure
from mashq.report.html.report import report
from mashq.report.html.style import on_screen
from mashq.runs.open import load_season
from tests.report import runs

STUB = "window.mashqEmbed = undefined;"


@pytest.fixture(autouse=True)
def _no_bundling(monkeypatch: pytest.MonkeyPatch) -> None:
    """The charts' libraries take seconds to bundle, and the browser tests have them."""
    monkeypatch.setattr(page, "libraries", lambda: STUB)


@pytest.fixture
def _no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of words: a chart is drawn in a tenth of a second, and a report has fifteen."""
    monkeypatch.setattr(page, "picture", lambda _spec: "data:image/svg+xml;base64,")  # pyright: ignore


@pytest.fixture(scope="module")
def match_html(kinds: dict[str, Path]) -> str:
    """The report of a match, charts and all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "libraries", lambda: STUB)
        return report([kinds["match"]]).html()


@pytest.fixture(scope="module")
def match_facts(kinds: dict[str, Path]) -> Facts:
    return facts(load_season(kinds["match"]))


@pytest.fixture(scope="module")
def hostile_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return runs.hostile(tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def hostile_html(hostile_run: Path) -> str:
    """The report of a match whose every text is hostile, charts and all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "libraries", lambda: STUB)
        return report([hostile_run]).html()


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return runs.every_kind(tmp_path_factory.mktemp("kinds"))


class Seen(HTMLParser):
    """The text that a reader sees, and what the page would load or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


def test_a_match_answers_who_wins_and_how_sure_before_anything_else(match_html: str, match_facts: Facts) -> None:
    found = match_facts
    assert found.judged is not None
    seen = Seen(match_html)
    top = seen.words[: seen.words.index("The result")]
    first = found.judged.differences[0]
    assert found.judged.winner == first.a == "p2"
    assert ("p2 wins" in top) == found.judged.clear != ("No clear winner: p2 leads" in top)
    assert found.judged.headline in top and f"{first.all_low:.4f} to {first.all_high:.4f}".replace("-", "−") in top
    assert "SIMULATED: no real model answered" in top
    assert "beta" in top


def test_a_match_shows_all_that_a_score_must_not_hide(match_html: str) -> None:
    html = match_html
    names = {match[1] for match in re.finditer(r'id="run1-figure-([a-z-]+)"', html)}
    assert names >= {
        *("q-intervals", "q-over-beta", "lead-over-beta", "chance-over-beta", "before-after", "q-reviews", "course"),
        *("spread", "deciding", "front-p", "front-tokens", "front-calls", "front-reviews", "front-seconds"),
    }
    words = Seen(html).words
    for said in (
        *("Which items decide", "Refusals and failures", "What depends on a choice", "Case study"),
        *("Answer length and coverage", "Cost of a faithful answer", "the median player", "penalised"),
        *("digest of the items", "@misc{mashq-", "Not known for every player, so not drawn: dollars"),
    ):
        assert said in words


@pytest.mark.usefixtures("_no_pictures")
@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (
            "trials",
            [
                "averaged over its trials, ± the standard deviation over trials",
                "of 2 trials",
                "Up to 2 trials of an item",
            ],
        ),
        ("sweep", ["Q under every setting", "rules.T", "ΔQ ± 95%"]),
        ("tournament", ["is rated first", "Who beat whom", "Q (ref.)"]),
        ("game", ["The game with vision: never", "Equilibrium", "The price of disclosure"]),
        ("vision", ["effect of", "ΔH", "company"]),
    ],
)
def test_every_kind_of_run_has_its_report(kinds: dict[str, Path], kind: str, words: list[str]) -> None:
    found = report([kinds[kind]])
    seen = Seen(found.html()).words
    for said in words:
        assert said in seen
    drawn = any(isinstance(block, Figure) for block in found.chapters[0].blocks())
    assert drawn == (kind != "vision"), "nobody who is simulated reacts to company: there is nothing to draw"


def test_what_company_vision_and_disclosure_change_is_drawn() -> None:
    change, small = Difference(-0.2, -0.3, -0.1), Difference(0.1)
    changes = {"company": {"h": change}, "vision": {"h": small, "q": change}}
    player = VisionPlayer(name=runs.SCRIPT, means={}, changes=changes)
    about: dict[str, Any] = {
        "run": "r",
        "finished": True,
        "simulated": False,
        "drawn": False,
        "trials": 1,
        "items": 9,
    }
    about["detector"] = DetectorVersion("grounding", "3")
    said, (section,) = sections_games.vision(Vision(**about, when="review", players=[player]))
    assert said.headline == "Company or vision changes how some play"
    assert [block.name for block in section.blocks if isinstance(block, Figure)] == ["vision-h", "vision-q"]
    row = Disclosure(vision="review", policy="a", against="b", seat=0, changes={"q": change, "h": small})
    found = Game(**about, alpha=1, beta=0.1, policies=["a", "b"], games={}, disclosure=[row])
    _, (price,) = sections_games.game(found)
    for block in (*section.blocks, *price.blocks):
        if isinstance(block, Figure):
            assert "svg" in bundle.picture(on_screen(block.spec))


@pytest.mark.slow
def test_every_chart_is_vega_lite(kinds: dict[str, Path]) -> None:
    import altair

    blocks = [block for path in kinds.values() for chapter in report([path]).chapters for block in chapter.blocks()]
    specs = [block.spec for block in blocks if isinstance(block, Figure)]
    assert len(specs) > 20
    for spec in specs:
        altair.Chart.from_dict(dict(spec))


@pytest.mark.usefixtures("_no_pictures")
def test_several_runs_stand_side_by_side(kinds: dict[str, Path]) -> None:
    seen = Seen(report([kinds["match"], kinds["trials"], kinds["tournament"]]).html()).words
    for said in (
        "3 runs",
        "The runs side by side",
        "players that the runs have in common",
        "What the runs differ in",
    ):
        assert said in seen
    assert seen.count("Methods and manifest") == 2 * 3  # in the contents and as a heading


def test_the_figures_are_those_of_the_score(kinds: dict[str, Path], match_facts: Facts) -> None:
    found = match_facts
    printed = CliRunner().invoke(cli, ["score", str(kinds["match"]), "--json"])
    said = json.loads(printed.output)
    assert found.judged is not None
    assert [p.q for p in found.judged.players] == [p["q"] for p in said["players"]]
    assert [p.q_low for p in found.judged.players] == [p["q_low"] for p in said["players"]]


def test_without_its_reviews_a_player_keeps_its_first_answers_and_pays_for_no_review(
    kinds: dict[str, Path], match_facts: Facts
) -> None:
    found = match_facts
    played = next(load_season(kinds["match"]).fixtures_played())
    h, penalty = found.without_reviews
    assert found.judged is not None
    for seat, player in enumerate(played.results):
        firsts = [row.h_first for row in player.items if row.h_first is not None]
        assert h[seat] == pytest.approx(sum(firsts) / len(player.items))
        now = found.judged.players[seat]
        if now.costs["reviews"]:
            assert penalty[seat] < (now.penalty or 0.0) - 0.01
        else:
            assert penalty[seat] == pytest.approx(now.penalty)
    answers = [
        sum(row.spend.calls for row in p.items) - sum(row.spend.reviews for row in p.items) for p in played.results
    ]
    assert found.before.costs["calls"].value.sum(axis=1).tolist() == pytest.approx(answers)


def test_an_items_part_in_the_lead_is_what_the_lead_loses_without_it(
    kinds: dict[str, Path], match_facts: Facts
) -> None:
    found = match_facts
    assert found.top is not None and found.judged is not None
    lead = found.judged.differences[0].dq
    count = len(found.seen.items)
    for one in found.decisive[:5]:
        assert lead - one.without == pytest.approx(one.part * count / (count - 1), abs=0.02)
        assert (lead - one.without) * one.part > 0


def test_the_course_ends_at_the_totals(kinds: dict[str, Path], match_facts: Facts) -> None:
    found = match_facts
    spent = from_matches([next(load_season(kinds["match"]).fixtures_played()).results]).costs["tokens"]
    last = {point.player: point.tokens for point in found.course.points if point.round == found.course.rounds}
    assert [last[name] for name in found.names] == pytest.approx(spent.value.sum(axis=1).tolist())
    assert sum(p.reviews for p in found.course.points) == sum(p["reviews"] for p in dumped(found.document)["players"])


def test_hostile_texts_are_shown_as_text(hostile_html: str) -> None:
    html = hostile_html
    seen = Seen(html)
    tags = [tag for tag, _ in seen.tags]
    assert tags.count("script") == 2 + html.count('<script type="application/json"')
    assert not any(name.startswith("on") for _, attributes in seen.tags for name in attributes)
    assert all(
        (found.get("src") or "").startswith("data:image/svg+xml;base64,") for tag, found in seen.tags if tag == "img"
    )
    assert "window.pwned = 1" in seen.words, "it is there to be read"
    assert "{{ 7*7 }}" in seen.words
    assert not set("\u202e\u2066\x1b\x00\u2028") & set(html)
    assert len(html) < 2_500_000, "a line of a megabyte is cut"


def test_a_line_of_a_megabyte_is_cut() -> None:
    made = page.environment().from_string("{% for line in text | lines %}<p>{{ line }}</p>{% endfor %}{{ text }}")
    html = made.render(text="<b>" + runs.LONG + "\nnext")
    assert html.startswith("<p>&lt;b&gt;word") and len(html) < 50_000


def test_hostile_names_cannot_break_out_of_the_data(hostile_html: str) -> None:
    html = hostile_html
    blocks = re.findall(r'<script type="application/json" class="(?:spec|settings)">(.*?)</script>', html, re.DOTALL)
    assert len(blocks) > 10
    for block in blocks:
        assert "<" not in block
        json.loads(block)


def test_a_page_loads_nothing_and_its_policy_forbids_it(match_html: str) -> None:
    html = match_html
    for tag, attributes in Seen(html).tags:
        for name in ("src", "href", "data", "action", "srcset", "poster"):
            value = attributes.get(name) or ""
            assert value.startswith(("#", "data:image/svg+xml")) or not value, f"<{tag} {name}={value[:60]}>"
    assert "url(" not in page.asset("report.css") and "@import" not in page.asset("report.css")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    said = policy[1].replace("&#39;", "'")
    assert said.startswith("default-src 'none'") and "unsafe" not in said and "http" not in said
    assert said.count("sha256-") == 3


def test_the_same_run_gives_the_same_bytes_and_no_path(
    kinds: dict[str, Path], match_html: str, hostile_run: Path, hostile_html: str
) -> None:
    assert report([kinds["match"]]).html() == match_html
    assert str(kinds["match"].parent) not in match_html
    assert str(hostile_run.parent) not in hostile_html


def test_folders_of_the_machine_are_left_out() -> None:
    said = {"data": "/home/ann/items.jsonl", "models": ["recorded//home/ann/a.jsonl", "openai/gpt-4o"], "n": 3}
    assert without_folders(said) == {
        "data": "…/items.jsonl",
        "models": ["recorded/…/a.jsonl", "openai/gpt-4o"],
        "n": 3,
    }


@pytest.mark.usefixtures("_no_pictures")
def test_an_unfinished_match_has_no_winner(tmp_path: Path) -> None:
    out = runs.play(runs.config(), tmp_path / "run")
    manifest: dict[str, Any] = json.loads((out / "manifest.json").read_text())
    (out / "manifest.json").write_text(json.dumps(manifest | {"ended": None}))
    with closing(sqlite3.connect(out / "run.db")) as connection, connection:
        connection.execute("UPDATE matches SET ended = NULL")
        connection.execute("DELETE FROM seats")
        connection.execute("DELETE FROM events WHERE round > 5")
    connection.close()
    seen = Seen(report([out]).html()).words
    assert (
        "NOT FINISHED" in seen and "nobody has won yet" in seen and " wins " not in seen[: seen.index("The result")]
    )


@pytest.mark.usefixtures("_no_pictures")
@pytest.mark.parametrize(("players", "items"), [(1, 6), (2, 2), (12, 8)])
def test_any_number_of_players_and_items(tmp_path: Path, players: int, items: int) -> None:
    seen = Seen(report([runs.play(runs.config(players, items), tmp_path / "run")]).html()).words
    assert {1: "played alone", 2: "too few", 12: "8 of 12 players"}[players] in seen


@pytest.mark.usefixtures("_no_pictures")
def test_a_match_that_nothing_can_be_said_of(tmp_path: Path) -> None:
    refusing = {"simulated/default": {"simulate": {"refusal_rate": 1.0}}}
    seen = Seen(report([runs.play(runs.config(models=refusing), tmp_path / "run")]).html()).words
    assert "nothing can be scored" in seen and "Refusals and failures" in seen


@pytest.mark.usefixtures("_no_pictures")
def test_another_detector_is_set_beside(hostile_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASHQ_CACHE", str(tmp_path / "cache"))
    seen = Seen(report([hostile_run], ["grounding"]).html()).words
    assert "The same answers scored by other detectors" in seen and "grounding" in seen
    with pytest.raises(ConfigError, match="no text to score"):
        report([runs.play(runs.config(), tmp_path / "drawn")], ["grounding"])


def test_figures_fit_a_column_and_tables_are_latex(kinds: dict[str, Path], tmp_path: Path) -> None:
    found = report([kinds["sweep"], kinds["tournament"]])
    made = write_figures(tmp_path / "figures", found.chapters, found.comparison)
    names = {path.name for path in made}
    assert {"run1-sweep-1.svg", "run1-sweep-1.png", "run1-sweep-1.pdf", "run2-ratings.pdf"} <= names
    svg = (tmp_path / "figures" / "run2-ratings.svg").read_text()
    width = re.search(r' width="([\d.]+)mm"', svg)
    assert width is not None and float(width[1]) == pytest.approx(85, abs=0.5)
    png = (tmp_path / "figures" / "run2-ratings.png").read_bytes()
    assert struct.unpack(">I", png[16:20])[0] == pytest.approx(85 / 25.4 * 600, rel=0.01)
    box = re.search(rb"MediaBox ?\[0 0 ([\d.]+)", (tmp_path / "figures" / "run2-ratings.pdf").read_bytes())
    assert box is not None and float(box[1]) == pytest.approx(85 / 25.4 * 72, abs=1)
    for path in write_tables(tmp_path / "tables", found.chapters, found.comparison):
        text = path.read_text()
        assert text.startswith("\\begin{table}") and "\\toprule" in text and text.endswith("\\end{table}\n")


@pytest.mark.usefixtures("_no_pictures")
def test_the_command_writes_the_page_and_says_where(kinds: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    done = CliRunner().invoke(cli, ["report", str(kinds["vision"]), "-o", str(out), "--tables", str(tmp_path / "t")])
    assert done.exit_code == 0 and str(out) in done.output
    assert out.read_text("utf-8").startswith("<!doctype html>")
    assert list((tmp_path / "t").glob("*.tex"))


def test_a_missing_extra_is_one_sentence_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    done = CliRunner().invoke(cli, ["report", "nowhere"])
    assert isinstance(done.exception, ConfigError)
    assert "pip install 'mashq[charts]'" in str(done.exception)


def test_names_that_look_alike_are_told_apart() -> None:
    found = labels(["a" * 40, "a" * 41, "b\u202e", "b\u202d"])
    assert len(set(found.values())) == 4
    assert not any("\u202e" in shown for shown in found.values())


def test_a_citation_is_one_entry_whatever_the_names(hostile_run: Path) -> None:
    text = citation(load_season(hostile_run))
    assert text.startswith("@misc{mashq-") and text.endswith("\n}")
    assert text.count("{") == text.count("}") and text.count("@") == 1


def test_the_libraries_are_bundled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASHQ_CACHE", str(tmp_path))
    calls: list[str] = []

    def bundled(snippet: str) -> str:
        calls.append(snippet)
        return "let charts;"

    monkeypatch.setattr(bundle.vl_convert, "javascript_bundle", bundled)
    assert bundle.libraries() == bundle.libraries() == "let charts;"
    assert len(calls) == 1
    kept = next(tmp_path.glob("charts-*.js"))
    kept.write_text("damaged")
    assert bundle.libraries() == "let charts;" and len(calls) == 2
