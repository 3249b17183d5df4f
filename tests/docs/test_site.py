"""The reference of the site: every key, command, option, document and public name has its place in it."""

import mashq
from mashq.cli import cli
from mashq.report.documents.schema import DOCUMENTS
from tools.docs.reference import pages
from tools.docs.settings import settings, unexplained


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


def test_the_page_of_python_has_functions_first_and_names_types() -> None:
    page = pages()["reference/python.md"]
    assert (
        page.index("### play\n") < page.index("### score\n") < page.index("## Results") < page.index("### MatchRun\n")
    )
    assert "<class" not in page and "~" not in page
    assert "| `clear` | `bool` |" in page and "| `condition` | `str` |" in page
