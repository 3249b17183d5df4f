"""Every page as a person uses it, in a real browser."""

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import mashq
from bench.big_run import write
from mashq.report.text import formatting
from mashq.testing import FakeProvider
from tests.arena.test_resources import config as resources_config
from tests.browser.conftest import Opener, overflow
from tests.pinned.stage import copied
from tests.web.client import Dashboard, dashboard
from tests.web.test_live import begin

if TYPE_CHECKING:
    from playwright.sync_api import Page

PAGES = (
    "",
    "match?run=real",
    "match?run=simulated&at=7",
    "match?run=trials&match=1",
    "match?run=nasty",
    "item?run=real&match=0&item=2",
    "item?run=nasty&match=0&item=0",
    "compare?a=real&b=deeper/no-reviews",
)


def text(page: "Page", selector: str) -> str:
    return page.locator(selector).inner_text()


def moves(page: "Page") -> tuple[int, int]:
    """At which move the page is, of how many."""
    found = re.match(r"move ([\d,]+) of ([\d,]+)", text(page, "#where"))
    assert found is not None
    return int(found[1].replace(",", "")), int(found[2].replace(",", ""))


def until(page: "Page", condition: str, seconds: float = 60) -> None:
    """Wait for a condition; the pages' policy forbids the browser's own way of doing it, which needs eval."""
    end = time.monotonic() + seconds
    while not page.evaluate(condition):
        assert time.monotonic() < end, condition
        page.wait_for_timeout(20)


def settle(page: "Page") -> None:
    page.wait_for_load_state("networkidle")


def test_the_list_is_filtered_and_leads_on(view: Dashboard, open_page: Opener) -> None:
    page = open_page(view.address)
    until(page, "document.querySelectorAll('#rows tr').length === 5")
    settle(page)
    page.keyboard.press("/")
    page.keyboard.type("simulated/c")
    until(page, "document.querySelectorAll('#rows tr').length === 1")
    assert page.locator("#rows .simulated").inner_text() == "SIMULATED"
    page.fill("#text", "")
    page.select_option("#simulated", "no")
    until(page, "document.querySelectorAll('#rows tr').length === 3")
    page.get_by_label("Compare real").press("Space")
    page.get_by_label("Compare deeper/no-reviews").press("Space")
    page.locator("#compare").press("Enter")
    page.wait_for_selector("#players table")
    assert "a=real" in page.url and "b=deeper" in page.url


def test_a_match_is_watched_from_start_to_end(tmp_path: Path, open_page: Opener, runs: Path) -> None:
    import shutil

    shutil.copytree(runs / "simulated", tmp_path / "runs" / "other")
    with (
        FakeProvider(seed=3, latency=0.05) as provider,
        dashboard(tmp_path / "runs") as found,
        begin(tmp_path, provider.base_url, 30, tmp_path / "runs" / "live") as match,
    ):
        page = open_page(found.address + "match?run=live")
        page.wait_for_selector("#state.playing")
        first = moves(page)[1]
        until(page, f"document.querySelectorAll('#log tr').length > {first}")
        assert page.locator("#follow").get_attribute("aria-pressed") == "true"
        assert moves(page)[0] == moves(page)[1] > first
        page.keyboard.press("ArrowLeft")
        until(page, "document.getElementById('follow').getAttribute('aria-pressed') === 'false'")
        page.keyboard.press("l")
        page.wait_for_selector("#state.finished", timeout=60_000)
        assert match.wait(30) == 0
        headline = mashq.show(tmp_path / "runs" / "live")["headline"]
        page.locator("#headline").filter(has_text=headline[:40]).wait_for()
        settle(page)
        told = found.api("frame", run="live", match="0")
        assert moves(page) == (told["total"], told["total"])
        lanes = page.locator(".lane")
        assert lanes.count() == 2 and page.locator(".cell.ok").count() == 60
        for seat, player in enumerate(told["final"]["players"]):
            shown = lanes.nth(seat).inner_text()
            assert f"{player['q']:.4f}".replace("-", "−") in shown and f"{player['tokens']:,}" in shown
        assert page.locator("#story li").count() > 3 and page.locator("#chart path").count() == 2
        numbers = [int(n.replace(",", "")) for n in page.locator("#log tr td:first-child").all_inner_texts()]
        assert numbers == list(range(numbers[0], told["total"] + 1)), "no move is left out"


def test_a_match_is_replayed_with_keys_and_slider(view: Dashboard, open_page: Opener, runs: Path) -> None:
    page = open_page(view.address + "match?run=real")
    page.wait_for_selector("#state.finished")
    settle(page)
    total = moves(page)[1]
    page.keyboard.press("Home")
    until(page, "document.getElementById('where').textContent.startsWith('move 0 of')")
    assert page.locator(".cell.pending").count() == 12 and page.locator("#log tr").count() == 0
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    until(page, "document.getElementById('where').textContent.startsWith('move 3 of')")
    assert page.locator("#log tr").count() == 3
    page.keyboard.press("Shift+ArrowRight")
    until(page, "document.getElementById('where').textContent.endsWith('round 2')")
    page.keyboard.press("Shift+ArrowLeft")
    until(page, "!document.getElementById('where').textContent.endsWith('round 2')")
    page.select_option("#speed", "100")
    page.locator("h1").click()
    page.keyboard.press("Space")
    until(page, f"document.getElementById('where').textContent.startsWith('move {total} of')")
    until(page, "document.getElementById('play').getAttribute('aria-label') === 'Play'")
    shown = mashq.show(runs / "real")
    page.locator("#headline").wait_for()
    assert text(page, "#headline") == shown["headline"]
    assert ("★ winner" in text(page, "#lanes")) == shown["clear"] != ("leads" in text(page, "#lanes"))
    page.locator("#slider").fill("5")
    until(page, "document.getElementById('where').textContent.startsWith('move 5 of')")
    page.select_option("#metric", "tokens")
    page.wait_for_selector("#chart svg[aria-label^='tokens']")
    page.locator("#story button").last.click()
    until(page, "!document.getElementById('where').textContent.startsWith('move 5 of')")
    page.locator(".cell").first.press("Enter")
    page.wait_for_selector("#answers .version")


def test_one_of_many_matches_is_chosen(view: Dashboard, open_page: Opener) -> None:
    page = open_page(view.address + "match?run=trials&match=1")
    until(page, "document.querySelectorAll('#matches option').length === 3")
    assert page.locator("#matches").input_value() == "1"
    page.keyboard.press("]")
    page.wait_for_url("**match=2**")
    until(page, "document.querySelectorAll('#matches option').length === 3")
    page.select_option("#matches", "0")
    page.wait_for_url("**match=0**")


def test_an_item_shows_what_was_made_of_it(view: Dashboard, open_page: Opener) -> None:
    told = [view.api("item", run="real", match="0", item=at) for at in range(6)]
    low = min(told, key=lambda one: min(v["h"] or 1 for p in one["players"] for v in p["versions"]))
    page = open_page(view.address + f"item?run=real&match=0&item={low['item']['position']}")
    page.wait_for_selector("mark")
    assert "without support in the source" in text(page, "#answers")
    assert low["item"]["text"] == text(page, "#source .text")
    versions = sum(len(player["versions"]) for player in low["players"])
    assert page.locator(".version").count() == versions
    page.locator("#answers details").first.evaluate("one => { one.open = true }")
    inner = page.locator(".attempts details").first
    inner.locator("summary").press("Enter")
    page.wait_for_selector(".attempts .message")
    assert low["item"]["text"][:60] in inner.inner_text()
    later = low["item"]["position"] < 5
    page.keyboard.press("]" if later else "[")
    page.wait_for_url(f"**item={low['item']['position'] + (1 if later else -1)}")


def test_hostile_texts_are_only_text(view: Dashboard, open_page: Opener) -> None:
    for at in range(3):
        page = open_page(view.address + f"item?run=nasty&match=0&item={at}")
        page.wait_for_selector("#answers .version")
        settle(page)
        assert page.evaluate("window.broken") is None
        assert page.locator("#source img, #source b, #source script").count() == 0
        if at == 0:
            assert "<script>window.broken = 1</script>" in text(page, "#source")
        if at == 1:
            assert {"U+202E", "U+0000", "U+001B", "U+200B"} <= set(page.locator("#source .ctl").all_inner_texts())
        if at == 2:
            assert len(text(page, "#source .text")) < 5000
            page.get_by_role("button", name=re.compile("Show all 1,000,")).first.click()
            until(page, "document.querySelector('#source .text').textContent.length > 1000000")
        assert overflow(page) == 0
    page = open_page(view.address + "match?run=nasty")
    page.wait_for_selector(".lane")
    assert "<i>A</i>⟨U+202E⟩abc" in text(page, "#lanes")
    assert page.evaluate("window.broken") is None


def test_inline_code_could_not_run_anyway(view: Dashboard, open_page: Opener) -> None:
    page = open_page(view.address, quiet=True)
    settle(page)
    tried: Any = page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return 'html'; } catch (error) { return error.name; } }"
    )
    assert tried == "TypeError"


def test_two_runs_are_compared(view: Dashboard, open_page: Opener) -> None:
    page = open_page(view.address + "compare")
    until(page, "document.querySelectorAll('#a option').length > 2")
    page.select_option("#a", "real")
    page.select_option("#b", "deeper/no-reviews")
    page.wait_for_selector("#items table")
    assert "rules.R" in text(page, "#settings") and "B − A" in text(page, "#players")
    page.select_option("#player", "B")
    page.select_option("#b", "simulated")
    page.wait_for_selector("#simulated:not([hidden])")
    assert page.locator("#items-part").is_hidden(), "other items cannot be compared"


@pytest.mark.parametrize(
    "path", ["", "match?run=simulated", "item?run=simulated&match=0&item=1", "compare?a=simulated&b=real"]
)
def test_what_was_simulated_says_so(view: Dashboard, open_page: Opener, path: str) -> None:
    page = open_page(view.address + path)
    page.locator(".simulated:visible").first.wait_for()
    assert page.locator(".simulated:visible").first.inner_text() == "SIMULATED"


def test_reviews_that_are_off_are_called_off(open_page: Opener, tmp_path: Path) -> None:
    players = [
        {"name": "off", "model": "simulated/a", "policy": "rule", "R": 0},
        {"name": "on", "model": "simulated/b", "policy": "rule"},
        {"name": "plain", "model": "simulated/a", "agent": "plain"},
    ]
    mashq.play({"task": {"limit": 3}, "players": players}, tmp_path / "run")
    with dashboard(tmp_path) as found:
        page = open_page(found.address + "match?run=run")
        page.wait_for_selector("#state.finished")
        settle(page)
        lanes = page.locator(".lane .model").all_inner_texts()
        decided = [row for row in found.api("frame", run="run", match="0")["log"] if row["kind"] == "decision"]
        offs = page.locator("#log tr").filter(has_text="reviews are off for this player")
        assert offs.count() == len([row for row in decided if row["player"] == "off"]) > 0
    assert [text.rpartition(" · ")[2] for text in lanes] == ["reviews off", "R 3", "never reviews"]


def test_the_chart_has_a_title_and_enough_ticks(view: Dashboard, open_page: Opener) -> None:
    page = open_page(view.address + "match?run=real")
    page.wait_for_selector("#chart svg")
    for metric, title in (("q", "Q so far"), ("tokens", "tokens"), ("seconds", "seconds (s)")):
        page.select_option("#metric", metric)
        page.wait_for_selector(f"#chart svg[aria-label^='{title.partition(' (')[0]}']")
        assert page.locator("#chart .axis").text_content() == title
        ticks = [
            float(text.replace("−", "-").replace(",", ""))
            for text in page.locator("#chart text[text-anchor=end]").all_text_contents()
            if not text.startswith("move")
        ]
        values = [value for row in view.api("chart", run="real", match="0", metric=metric)["values"] for value in row]
        known = [value for value in values if value is not None]
        assert len(ticks) >= 4 and len(set(ticks)) == len(ticks)
        assert min(ticks) <= min(known) and max(known) <= max(ticks)


def test_trials_are_linked_from_their_mean(view: Dashboard, open_page: Opener, runs: Path, tmp_path: Path) -> None:
    for seed in (1, 2):
        players = [{"name": name, "model": f"simulated/{name}"} for name in "AB"]
        mashq.play({"task": {"limit": 4}, "players": players, "seed": seed}, tmp_path / f"seed-{seed}", trials=2)
    with dashboard(tmp_path) as found:
        page = open_page(found.address + "compare?a=seed-1&b=seed-2")
        page.wait_for_selector("#items table")
        changed = found.api("differences", a="seed-1", b="seed-2", player="A")["items"]
        place, _, before, _ = changed[0]
        cell = page.locator("#items tbody tr").first.locator("td").nth(1)
        assert cell.inner_text().startswith(f"{before['h']:.4f}, the mean of")
        assert cell.locator("a").count() == before["of"] == 2
        cell.locator("a").nth(1).click()
        page.wait_for_url(f"**match=1**item={place}")
        page.wait_for_selector("#answers .version")
        assert "trial 2" in text(page, "#facts")


def test_every_resource_of_the_table_is_on_the_pages(open_page: Opener, tmp_path: Path) -> None:
    mashq.play(resources_config(score={"resources": ["joules"]}), tmp_path / "run")
    mashq.play(resources_config(seed=4), tmp_path / "other")
    players = mashq.show(tmp_path / "run")["players"]
    with dashboard(tmp_path) as found:
        page = open_page(found.address + "match?run=run")
        page.wait_for_selector("#state.finished")
        settle(page)
        for seat, player in enumerate(players):
            lane = page.locator(".lane").nth(seat)
            assert f"{player['joules']:,.1f} J" in lane.inner_text()
            assert lane.locator("dt:not(.uncounted)").filter(has_text="joules").count() == 1
        page.select_option("#metric", "joules")
        page.wait_for_selector("#chart svg[aria-label^='joules']")
        assert "joules (J)" in (page.locator("#chart svg").text_content() or "")
        page = open_page(found.address + "compare?a=run&b=other")
        page.wait_for_selector("#players table")
        assert f"{players[0]['joules']:,.1f} J" in text(page, "#players")
        page = open_page(found.address + "item?run=run&match=0&item=0")
        page.wait_for_selector("#answers .version")
        spent = found.api("item", run="run", match="0", item=0)["players"][1]["versions"][0]["spend"]
        assert f"{spent['joules']:,.1f} J" in text(page, "#answers")
        assert "joules" in page.locator(".attempts thead").first.inner_text()


def test_small_sums_and_estimates_are_written_as_in_the_tables(open_page: Opener, tmp_path: Path) -> None:
    copied("unresolved", tmp_path / "unresolved")
    cheap = {"input": 0.0001, "output": 0.0002}
    models = {f"simulated/{name}": {"price": cheap} for name in ("one", "two")}
    mashq.play(resources_config(models=models), tmp_path / "cheap")
    with dashboard(tmp_path) as found:
        page = open_page(found.address + "match?run=cheap")
        page.wait_for_selector("#state.finished")
        for seat, player in enumerate(mashq.show(tmp_path / "cheap")["players"]):
            assert 0 < player["dollars"] < 0.00005
            page.locator(".lane").nth(seat).filter(has_text=f"$ {formatting.dollars(player['dollars'])}").wait_for()
        page = open_page(found.address + "match?run=unresolved")
        settle(page)
        charged = [
            player for player in mashq.show(tmp_path / "unresolved")["players"] if "tokens" in player["charged"]
        ]
        assert charged
        for player in charged:
            lane = page.get_by_role("article", name=player["name"], exact=True)
            lane.filter(has_text=f"~{player['tokens']:,.0f}").wait_for()


@pytest.mark.parametrize("kind", ["tournament", "game", "vision", "sweep"])
def test_a_season_fits_a_narrow_screen_and_names_its_matches(open_page: Opener, tmp_path: Path, kind: str) -> None:
    copied(kind, tmp_path / kind)
    with dashboard(tmp_path) as found:
        page = open_page(found.address + f"match?run={kind}", width=360)
        until(page, "document.querySelectorAll('#matches option').length > 1")
        settle(page)
        assert overflow(page) == 0
        first = found.api("matches", run=kind)["matches"][0]
        assert first["label"] and first["label"] in page.locator("#matches option").first.inner_text()
        assert "seats" not in first["label"] and first["id"] not in page.locator("#matches").inner_text()


@pytest.mark.parametrize("path", PAGES)
def test_every_page_fits_a_narrow_screen_and_the_dark(view: Dashboard, open_page: Opener, path: str) -> None:
    for scheme in ("light", "dark"):
        page = open_page(view.address + path, width=360, scheme=scheme)
        settle(page)
        assert overflow(page) == 0
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        light = sum(map(int, re.findall(r"\d+", back)[:3])) > 380
        assert light == (scheme == "light")
    unnamed: Any = page.evaluate(
        "[...document.querySelectorAll('button, a, select, input')].filter(one => one.offsetParent"
        " && !(one.getAttribute('aria-label') || one.labels?.length || one.textContent.trim())).length"
    )
    assert unnamed == 0, "everything that can be used has a name"


def test_a_long_match_opens_with_little(tmp_path: Path, open_page: Opener) -> None:
    total = write(tmp_path / "runs" / "big", 30_000)
    with dashboard(tmp_path / "runs") as found:
        first = found.get("/api/frame?run=big&match=0")[1]
        assert len(first) < 40_000, "a page of data, not the match"
        page = open_page(found.address + "match?run=big")
        page.wait_for_selector(".lane")
        until(page, f"document.getElementById('where').textContent.startsWith('move {total:,} of {total:,}')")
        settle(page)
        assert page.locator(".cell").count() == 120 and page.locator("#log tr").count() <= 400
        page.get_by_label("Earlier items").first.click()
        until(page, "document.querySelector('.cell').title.includes('item-') === true")
        page.locator("#earlier").click()
        until(page, "document.querySelectorAll('#log tr').length > 100")
