"""Every page is for every reader: names, alternatives that state a message, ticks, widths and contrast."""

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser

from mashq.report.html.report import report
from mashq.report.site import write_site
from tests.browser.accessible import barriers
from tests.browser.conftest import Opener
from tests.browser.pages import Scheme, shown
from tests.browser.test_pages import PAGES, settle
from tests.report import runs
from tests.web.client import Dashboard

LOOKS: list[tuple[int, Scheme]] = [(1400, "light"), (390, "dark")]
NAMES = "all => all.map(one => one.getAttribute('aria-label') ?? '')"
SAME: dict[str, Any] = {
    "task": {"limit": 6},
    "players": [{"name": name, "model": "simulated/same", "agent": "plain"} for name in ("one", "two")],
    "models": {"simulated/same": {"simulate": {"h": 1.0, "h_spread": 0.0, "common": True}}},
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A report of a match, of equals, and of one run of every other kind; and a leaderboard."""
    pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")
    folder = tmp_path_factory.mktemp("pages")
    kinds = runs.every_kind(folder / "runs")
    equals = runs.play(SAME, folder / "runs" / "same")
    made = {"match": [kinds.pop("match")], "same": [equals], "several": list(kinds.values())}
    places = {name: folder / f"{name}.html" for name in made}
    for name, paths in made.items():
        places[name].write_text(report(paths).html(), "utf-8")
    write_site(folder / "runs", folder / "site")
    return places | {"site": folder / "site" / "index.html"}


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), LOOKS)
@pytest.mark.parametrize("name", ["match", "same", "several", "site"])
def test_reports_and_leaderboards(
    browser: Browser, pages: dict[str, Path], name: str, width: int, scheme: Scheme
) -> None:
    with shown(browser, pages[name], width=width, scheme=scheme) as (page, wrong):
        assert barriers(page) == [] and wrong == []
        said: list[str] = page.locator("[role=graphics-document]").evaluate_all(NAMES)
        assert len(said) == page.locator("figure.chart").count()
        assert [one for one in said if not re.search(r"[a-z].*\.$", one)] == [], "a sentence, not a kind of chart"
        captions = page.locator("figcaption, caption").evaluate_all(
            "all => all.filter(one => one.getBoundingClientRect().right > innerWidth + 1).map(one => one.textContent)"
        )
        assert captions == [], "captions stay on the page"


@pytest.mark.slow
def test_axes_of_equal_players_have_ticks_that_tell(browser: Browser, pages: dict[str, Path]) -> None:
    with shown(browser, pages["same"]) as (page, _):
        for figure in page.locator("[id*=figure-front-]").all():
            for axis in figure.locator(".role-axis .role-axis-label").all():
                ticks = [text for text in axis.locator("text").all_text_contents() if text]
                assert len(set(ticks)) >= 3 and not any("e" in tick for tick in ticks), ticks


@pytest.mark.slow
def test_the_first_lines_say_what_the_letters_are(browser: Browser, pages: dict[str, Path]) -> None:
    for name, where in (("match", ".words"), ("site", ".lead")):
        with shown(browser, pages[name]) as (page, _):
            said = page.locator(where).inner_text()
            assert all(word in said for word in ("H is factuality", "P is cost", "Q = alpha·H − beta·P"))
    with shown(browser, pages["site"]) as (page, _):
        first = page.locator("#ranks tbody tr").first
        assert all(word in first.inner_text() for word in ("q-agent", "summarise", "scores are drawn", " to "))
        assert (first.locator("a").first.get_attribute("href") or "").endswith(".html"), "its report"


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES)
def test_the_dashboard(view: Dashboard, open_page: Opener, path: str) -> None:
    for width, scheme in LOOKS:
        page = open_page(view.address + path, width=width, scheme=scheme)
        settle(page)
        assert barriers(page) == []


@pytest.mark.slow
def test_the_audit_finds_what_is_wrong(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content(
        "<main><h3>x</h3><img src='data:,'><button></button><input><p style='color:#999'>pale</p><p id=a><p id=a>"
        "<div style='overflow:auto;width:50px'><p style='width:900px'>long</p></div></main>"
    )
    found = barriers(page)
    for rule in ("no language", "no title", "level 3", "no alternative", "no name", "contrast", "twice", "keyboard"):
        assert any(rule in one for one in found), rule
    page.close()
