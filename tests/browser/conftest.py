"""A headless Chromium; the tests are skipped where there is none."""

import shutil
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.web.conftest import runs, view

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser", "open_page", "runs", "view"]

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
Opener = Callable[..., "Page"]


@pytest.fixture(scope="module")
def browser() -> Generator["Browser"]:
    """The browser, started once a module: while it is there, its event loop runs, and no test beside may need one."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if not CHROMIUM:
        pytest.skip("no Chromium on this machine: install chromium to run the browser tests")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def open_page(browser: "Browser") -> Generator[Opener]:
    """Opens pages, and fails at the end if any of them had an error in its console."""
    errors: list[str] = []
    contexts: list[Any] = []

    def heard(said: Any) -> None:
        if said.type in ("error", "warning"):
            errors.append(said.text)

    def failed(error: Any) -> None:
        errors.append(str(error))

    def opened(
        address: str, *, width: int = 1280, scheme: Literal["light", "dark"] = "light", quiet: bool = False
    ) -> "Page":
        context: Any = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page: Any = context.new_page()
        page.set_default_timeout(30_000)
        if not quiet:
            page.on("console", heard)
            page.on("pageerror", failed)
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []


def overflow(page: "Page") -> int:
    """By how many pixels a page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
