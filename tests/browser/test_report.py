"""Reports in a browser: charts are drawn, the slider ranks anew, paper has its pictures, and nothing hostile runs."""

from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from playwright.sync_api import Browser, Page

from mashq.report.html.facts import Facts, facts
from mashq.report.html.report import report
from mashq.runs.open import load_season
from tests.browser.pages import Scheme, shown
from tests.report import runs

MAX_BYTES = 2_500_000


@pytest.fixture(scope="module")
def match(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Facts]:
    """A match of three as a report, and what is known of it."""
    folder = tmp_path_factory.mktemp("match")
    out = runs.play(runs.config(3, 20), folder / "run")
    place = folder / "report.html"
    place.write_text(report([out]).html(), "utf-8")
    return place, facts(load_season(out))


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of every other kind, and a hostile one, in one report."""
    folder = tmp_path_factory.mktemp("several")
    kinds = runs.every_kind(folder / "kinds")
    kinds.pop("match")
    place = folder / "report.html"
    place.write_text(report([*kinds.values(), runs.hostile(folder / "hostile")]).html(), "utf-8")
    return place


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_every_chart_is_drawn_and_nothing_goes_wrong(
    browser: Browser, match: tuple[Path, Facts], width: int, scheme: Scheme
) -> None:
    with shown(browser, match[0], width=width, scheme=scheme) as (page, wrong):
        assert wrong == []
        figures = page.locator("figure.chart").count()
        assert figures >= 14
        assert page.locator("figure.drawn .live svg").count() == figures
        assert page.locator("img.still:visible").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width, "the page does not scroll sideways"
    assert match[0].stat().st_size < MAX_BYTES


def test_the_first_screen_answers_the_question(browser: Browser, match: tuple[Path, Facts]) -> None:
    judged = match[1].judged
    assert judged is not None
    with shown(browser, match[0]) as (page, _):
        box = page.locator("h1").bounding_box()
        mark = page.locator(".mark").bounding_box()
        says = f"{judged.winner} wins" if judged.clear else f"No clear winner: {judged.winner} leads"
        assert page.locator("h1").inner_text() == says
        assert box is not None and mark is not None and mark["y"] < 400


def test_the_slider_ranks_anew_and_moves_the_rule(browser: Browser, match: tuple[Path, Facts]) -> None:
    judged = match[1].judged
    assert judged is not None
    with shown(browser, match[0]) as (page, wrong):
        for beta in (0.0, 0.05, 0.19):
            before = _rule(page)
            page.locator(".slider input").evaluate(
                "(input, beta) => { input.value = beta; input.dispatchEvent(new Event('input')); }", beta
            )
            found = {p.name: judged.alpha * (p.h or 0.0) - beta * (p.penalty or 0.0) for p in judged.players}
            ranked = sorted(found, key=lambda name: -found[name])
            told = page.locator(".ranking li").all_inner_texts()
            assert [line.split()[0] for line in told] == ranked
            assert told[0].endswith(f"Q {found[ranked[0]]:.4f}")
            page.wait_for_function(
                "before => document.querySelector('[id$=q-over-beta] svg').innerHTML !== before", arg=before
            )
        page.locator(".slider button").click()
        assert page.locator(".slider output").inner_text() == f"{judged.beta:.3f}"
        assert wrong == []


def _rule(page: Page) -> str:
    return page.locator("[id$=q-over-beta] svg").inner_html()


def test_a_point_tells_its_numbers(browser: Browser, match: tuple[Path, Facts]) -> None:
    with shown(browser, match[0]) as (page, wrong):
        page.locator("[id$=front-tokens] .live svg .mark-symbol path").first.hover(force=True)
        page.wait_for_selector("#vg-tooltip-element.visible")
        assert "H" in page.locator("#vg-tooltip-element").inner_text()
        assert wrong == []


def test_paper_has_pictures_instead(browser: Browser, match: tuple[Path, Facts]) -> None:
    with shown(browser, match[0], scheme="dark") as (page, wrong):
        page.emulate_media(media="print")
        assert page.locator("img.still:visible").count() == page.locator("figure.chart").count()
        assert page.locator(".live:visible, nav:visible, .slider:visible").count() == 0
        assert page.evaluate("[...document.images].every((image) => image.complete && image.naturalWidth > 100)")
        assert page.pdf(prefer_css_page_size=True).startswith(b"%PDF")
        assert wrong == []


def test_without_scripts_the_pictures_are_there(browser: Browser, match: tuple[Path, Facts]) -> None:
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(match[0].as_uri())
    assert page.locator("img.still:visible").count() == page.locator("figure.chart").count()
    assert page.locator(".slider:visible").count() == 0
    context.close()


def test_every_kind_is_drawn_and_nothing_hostile_runs(browser: Browser, several: Path) -> None:
    with shown(browser, several) as (page, wrong):
        assert wrong == []
        assert page.locator("article").count() == 6
        assert page.locator("figure.drawn").count() == page.locator("figure.chart").count()
        assert page.evaluate("window.pwned") is None
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.locator("article").last.get_by_text("window.pwned = 1").first.is_visible()
        assert page.evaluate("window.pwned") is None
