"""`mashq view`: the dashboard."""

from pathlib import Path

import click

from mashq.errors import ConfigError


@click.command()
@click.argument("directory", type=click.Path(path_type=Path), default=Path("runs"))
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; others need a token.")
@click.option("--port", type=click.IntRange(0, 65535), help="Which port; the first free one from 8450 by default.")
@click.option("--open", "opened", is_flag=True, help="Open it in your browser.")
def view(directory: Path, host: str, port: int | None, opened: bool) -> None:
    """Look at the runs in DIRECTORY (or at one run): live, replayed, item by item, compared.

    A page on this machine only, which reads and changes nothing. Stop it with Ctrl-C.

    \b
    Examples:
      mashq view
      mashq view runs/first --port 9000
    """
    try:
        from mashq.web.server import serve
    except ImportError as error:
        name = error.name or "starlette"
        raise ConfigError(
            f"The dashboard needs the extra: pip install 'mashq[web]' ({name} is not installed)."
        ) from error

    def ready(address: str) -> None:
        click.echo(f"mashq view: {address}  (stop with Ctrl-C)")
        if opened:
            click.launch(address)

    serve(directory, host, port, ready)
