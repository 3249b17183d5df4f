"""Text from the code as Markdown."""


def code(text: str) -> str:
    """Format a text as inline code."""
    return f"`{text}`" if text else ""


def cell(text: str) -> str:
    """Format a text for a table cell: one line, with bars escaped."""
    return " ".join(text.split()).replace("|", "\\|")
