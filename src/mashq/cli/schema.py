"""`mashq schema`: the fields of the --json documents."""

import json

import click


@click.command()
@click.argument("name", required=False)
def schema(name: str | None) -> None:
    """List the documents that commands print with --json or, with NAME, print the JSON Schema of one.

    Every document says in `kind` which one it is and in `schema` which version of its fields it has. 'mashq rescore'
    prints a list of match documents.

    \b
    Examples:
      mashq schema
      mashq schema match > match.schema.json
    """
    from mashq.report.documents.schema import DOCUMENTS, document_type, schema_of
    from mashq.report.text.tables import listed

    if name is not None:
        click.echo(json.dumps(schema_of(name), indent=2, ensure_ascii=False))
        return
    for kind in DOCUMENTS:
        click.echo(listed(f"{kind:<14}", (document_type(kind).__doc__ or "").splitlines()[0]))
