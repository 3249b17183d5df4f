"""Texts of the code as Markdown."""


def code(text: str) -> str:
    """A text in code type."""
    return f"`{text}`" if text else ""


def cell(text: str) -> str:
    """A text that may stand in a table: one line, and no bar of its own."""
    return " ".join(text.split()).replace("|", "\\|")
