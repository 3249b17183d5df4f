"""`mashq init`: a configuration to start from."""

from pathlib import Path

import click

TEMPLATES = {"summarise": "starter.yaml", "rag": "starter-rag.yaml"}


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path("mashq.yaml"))
@click.option(
    "--template",
    type=click.Choice(list(TEMPLATES)),
    default="summarise",
    show_default=True,
    help="What is played: summaries of texts, or answers over documents.",
)
def init(path: Path, template: str) -> None:
    """Write a commented configuration to PATH (mashq.yaml by default); an existing file is never replaced.

    \b
    Examples:
      mashq init && mashq plan mashq.yaml
      mashq init --template rag documents.yaml && mashq run documents.yaml
    """
    from importlib.resources import files

    from mashq.errors import ConfigError

    text = files("mashq.cli").joinpath(TEMPLATES[template]).read_text("utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path} is already there: name another file") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): choose another place") from None
    click.echo(f"{path} is written: edit it, then 'mashq plan {path}' and 'mashq run {path}'")
