"""A page from the disk in a browser without a network, and what goes wrong in it."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

from playwright.sync_api import Browser, Dialog, Page

Scheme = Literal["light", "dark"]


@contextmanager
def shown(
    browser: Browser, path: Path, *, width: int = 1280, scheme: Scheme = "light", ready: str = "html[data-ready]"
) -> Generator[tuple[Page, list[str]]]:
    """A file in a window without a network, and what goes wrong in it: errors, warnings, requests, dialogs."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True)
    context.set_default_timeout(120_000)
    page = context.new_page()
    wrong: list[str] = []

    def asked(dialog: Dialog) -> None:
        wrong.append(dialog.message)
        dialog.dismiss()

    page.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", asked)
    page.on("request", lambda made: None if made.url.startswith(("file:", "data:")) else wrong.append(made.url))
    page.goto(path.resolve().as_uri())
    page.wait_for_selector(ready, state="attached")
    try:
        yield page, wrong
    finally:
        context.close()
