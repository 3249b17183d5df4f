"""`mashq init`: a configuration to start from."""

from pathlib import Path

import click


@click.command()
@click.argument("path", type=click.Path(path_type=Path), default=Path("mashq.yaml"))
def init(path: Path) -> None:
    """Write a commented configuration to PATH (mashq.yaml by default); an existing file is never replaced.

    \b
    Example:
      mashq init && mashq plan mashq.yaml
    """
    from importlib.resources import files

    from mashq.errors import ConfigError

    text = files("mashq.cli").joinpath("starter.yaml").read_text("utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise ConfigError(f"{path} is already there: name another file") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be written ({error.strerror}): choose another place") from None
    click.echo(f"{path} is written: edit it, then 'mashq plan {path}' and 'mashq run {path}'")
