"""The leaderboard in a browser: it sorts, finds and ranks anew, exactly as the command would."""

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytest.importorskip("vl_convert", reason="the extra 'charts' is not installed")

from playwright.sync_api import Browser

from mashq.analysis.score_report import Options, judge
from mashq.protocol.results import from_matches
from mashq.report.documents.base import dumped
from mashq.report.html import page as reports
from mashq.report.site import write_site
from mashq.runs.open import load_season
from mashq.runs.setup import score_rules_of
from tests.browser.pages import shown
from tests.report import runs


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A folder of runs and its site; its reports have their own tests and need no charts here."""
    folder = tmp_path_factory.mktemp("site")
    runs.play(runs.config(3), folder / "runs" / "alpha")
    runs.play(runs.config(2), folder / "runs" / "beta")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reports, "libraries", lambda: "")
        patch.setattr(reports, "picture", lambda _spec: "data:image/svg+xml;base64,")  # pyright: ignore
        write_site(folder / "runs", folder / "site")
    return folder / "runs", folder / "site" / "index.html"


def test_the_slider_ranks_as_the_command_does(browser: Browser, made: tuple[Path, Path]) -> None:
    folder, index = made
    season = load_season(folder / "alpha")
    results = from_matches(played.results for played in season.fixtures_played())
    with shown(browser, index) as (page, wrong):
        for beta in (0.0, 0.0371, 0.2):
            page.locator("#beta").evaluate(
                "(input, beta) => { input.value = beta; input.dispatchEvent(new Event('input')); }", beta
            )
            at: float = page.locator("#beta").evaluate("input => input.valueAsNumber")
            said = dumped(judge(results, Options(replace(score_rules_of(season.config), beta=at), 100)))
            by = {player["name"]: player["q"] for player in said["players"]}
            rows = page.locator('#ranks tbody tr[data-board="0"]')
            names = rows.locator(".player").all_inner_texts()
            exact: list[float] = rows.locator(".q").evaluate_all(
                "cells => cells.map(cell => Number(cell.dataset.exact))"
            )
            assert dict(zip(names, exact, strict=True)) == by
            assert names == sorted(by, key=lambda name: -by[name])
        assert wrong == []


def test_a_resource_can_be_left_out(browser: Browser, made: tuple[Path, Path]) -> None:
    with shown(browser, made[1]) as (page, wrong):
        before = page.locator("#ranks .p").all_inner_texts()
        page.locator(".tick input").first.uncheck()
        assert page.locator("#ranks .p").all_inner_texts() != before
        assert set(page.locator("#ranks .span").all_inner_texts()) == {"–"}
        assert wrong == []


def test_the_table_sorts_and_finds(browser: Browser, made: tuple[Path, Path]) -> None:
    with shown(browser, made[1], width=390) as (page, wrong):
        page.locator('#ranks th[data-key="h"] button').click()
        h = [float(text) for text in page.locator("#ranks tbody td:nth-child(3)").all_inner_texts()]
        assert h == sorted(h, reverse=True)
        assert page.locator('#ranks th[data-key="h"]').get_attribute("aria-sort") == "descending"
        page.locator('#ranks th[data-key="h"] button').click()
        assert page.locator("#ranks tbody td:nth-child(3)").first.inner_text() == f"{min(h):.4f}"
        page.locator("#find").fill("alpha")
        assert page.locator("#ranks tbody tr:visible").count() == 3
        assert wrong == []


def test_a_link_opens_the_report(browser: Browser, made: tuple[Path, Path]) -> None:
    with shown(browser, made[1]) as (page, _):
        page.locator("#ranks a").first.click()
        page.wait_for_url("**/reports/alpha.html")
        assert page.locator("h1").inner_text() == "No clear winner: p2 leads"
