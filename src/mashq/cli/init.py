"""`mashq init`: a configuration to start from."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mashq import outputs

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

MAIN = "mashq.yaml"
# Each template's description and the command that plays it; its files are in the folder of the same name.
TEMPLATES = {
    "match": ("summaries, every setting explained", "run"),
    "qa": ("questions with reference answers", "run"),
    "rag": ("answers over documents", "run"),
    "external": ("a program of your own", "run"),
    "tournament": ("every player against every other", "tournament"),
    "ci": ("a check of pull requests, with a workflow for GitHub", "run"),
}


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path(MAIN))
@click.option(
    "--template",
    type=click.Choice(list(TEMPLATES)),
    default="match",
    show_default=True,
    help="What to start from: " + "; ".join(f"{name}, {what}" for name, (what, _) in TEMPLATES.items()) + ".",
)
def init(path: Path, template: str) -> None:
    """Write a commented configuration to PATH (mashq.yaml by default); an existing file is never replaced.

    Every template runs as it is; what it needs beside the configuration is written into the same folder.

    \b
    Examples:
      mashq init && mashq plan mashq.yaml
      mashq init --template rag documents.yaml && mashq run documents.yaml
      mashq init --template qa
      mashq init --template ci
    """
    from importlib.resources import files

    from mashq.errors import ConfigError

    folder = files("mashq.cli").joinpath("templates", template)
    contents = {path if name == MAIN else path.parent / name: text for name, text in _files(folder)}
    for target in contents:
        if os.path.exists(target):
            raise ConfigError(f"{target} is already there: name another file")
    for target, text in contents.items():
        try:
            outputs.check_folder(path)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("x", encoding="utf-8") as file:
                file.write(text)
        except OSError as error:
            raise ConfigError(f"{target} cannot be written ({error.strerror}): choose another place") from None
    command = TEMPLATES[template][1]
    planned = f"mashq plan {path}" if command == "run" else f"mashq plan {command} {path}"
    others = [str(target) for target in contents if target != path]
    click.echo("\n".join(f"Wrote {name}." for name in (*others, path)))
    click.echo(f"Edit it, then run:\n  {planned}\n  mashq {command} {path}")


def _files(folder: "Traversable", prefix: str = "") -> Iterator[tuple[str, str]]:
    """The files of a template, by their relative names."""
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            if entry.name != "__pycache__":
                yield from _files(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry.read_text("utf-8")
