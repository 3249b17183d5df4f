"""The documentation's site in a browser: built strictly, opened from a disk, searched, and nothing from elsewhere."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser

from tests.browser.conftest import overflow
from tests.browser.pages import Scheme, shown

ROOT = Path(__file__).parent.parent.parent
PAGES = ("index.html", "tutorial.html", "howto/data.html", "reference/commands.html", "reference/settings.html")
LOOKS: list[tuple[int, Scheme]] = [(1400, "light"), (390, "dark")]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def site() -> Path:
    """The built site; a warning fails the build."""
    if find_spec("mkdocs") is None or find_spec("material") is None:
        pytest.skip("the extra 'docs' is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "tools.docs"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build" / "site"


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_and_asks_nobody(browser: Browser, site: Path, name: str) -> None:
    for width, scheme in LOOKS:
        with shown(browser, site / name, width=width, scheme=scheme, ready="main") as (page, wrong):
            page.wait_for_load_state("networkidle")
            assert wrong == [] and overflow(page) <= 0


def test_it_is_searched_from_a_disk(browser: Browser, site: Path) -> None:
    with shown(browser, site / "index.html", ready="main") as (page, wrong):
        page.locator("input.md-search__input").click()
        page.keyboard.type("vision", delay=20)
        page.locator(".md-search-result__link").first.wait_for(timeout=60_000)
        found: list[str] = page.locator(".md-search-result__link").evaluate_all("all => all.map(one => one.href)")
        assert any("protocol" in link for link in found) and wrong == []
