"""What an accessibility audit would call serious, found in a page as the browser has it."""

from pathlib import Path

from playwright.sync_api import Page

AUDIT = Path(__file__).with_name("accessible.js").read_text("utf-8").split("\n", 1)[1]


def barriers(page: Page) -> list[str]:
    """Names, alternatives, headings, labels, tables, keyboard, widths and contrast: what is wrong with each."""
    return page.evaluate(AUDIT)
