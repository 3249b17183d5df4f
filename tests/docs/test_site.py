"""The site: every key of a configuration is explained, and it builds without a warning and without a network."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import mashq
from mashq.cli import cli
from mashq.report.documents.schema import DOCUMENTS
from tools.docs.reference import pages
from tools.docs.settings import settings, unexplained

ROOT = Path(__file__).parent.parent.parent


def test_every_key_of_a_configuration_is_explained() -> None:
    assert unexplained() == [], "tools/docs/settings.toml has a line for each key, and no other"
    page = pages()["reference/settings.md"]
    assert all(f"| `{one.path}` |" in page for one in settings())


def test_every_command_option_document_and_public_name_has_its_place() -> None:
    made = pages()
    for name, command in cli.commands.items():
        assert f"## mashq {name}\n" in made["reference/commands.md"]
        for one in command.params:
            if one.param_type_name == "option":
                assert f"`{one.opts[-1]}" in made["reference/commands.md"]
    for kind in DOCUMENTS:
        assert f"## {kind}\n" in made["reference/documents.md"] and f"reference/schemas/{kind}.json" in made
    public = [name for name in mashq.__all__ if not name.startswith("_")]
    assert [name for name in public if f"### {name}\n" not in made["reference/python.md"]] == []


@pytest.fixture(scope="module")
def site() -> Path:
    """The built site."""
    if find_spec("mkdocs") is None or find_spec("material") is None:
        pytest.skip("the extra 'docs' is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "tools.docs"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "build" / "site"


@pytest.mark.slow
def test_it_builds_strictly_and_loads_nothing_from_elsewhere(site: Path) -> None:
    found = sorted(site.rglob("*.html"))
    assert len(found) > 30
    loads = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=[\"']?(https?:)?//", re.IGNORECASE)
    assert [path.name for path in found if loads.search(path.read_text("utf-8"))] == []
    assert "https:" not in (site / "assets" / "site.css").read_text()


@pytest.mark.slow
def test_it_is_searched_from_a_disk(site: Path, browser: Any) -> None:
    with shown(browser, site / "index.html", ready=False) as (page, wrong):
        page.locator("input.md-search__input").fill("vision")
        page.locator(".md-search-result__link").first.wait_for()
        assert "protocol" in " ".join(
            page.locator(".md-search-result__link").evaluate_all("all => all.map(one => one.href)")
        )
        assert wrong == []
