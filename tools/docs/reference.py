"""Reference pages made from the code: the commands, the documents with their schemas, and the Python API."""

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import click

from mashq import extensions
from mashq.cli import cli
from mashq.report.documents.schema import DOCUMENTS, schema_of
from tools.docs import settings
from tools.docs.markdown import cell, code

PROTOCOL = re.compile(r"`(mashq\.[\w.]+)\.(\w+)`")


def pages() -> dict[str, str]:
    """Every generated file by its path under docs/."""
    made = {
        "reference/commands.md": commands(),
        "reference/settings.md": settings.page(),
        "reference/documents.md": documents(),
        "reference/python.md": python(),
    }
    for kind in DOCUMENTS:
        made[f"reference/schemas/{kind}.json"] = json.dumps(schema_of(kind), indent=2, ensure_ascii=False) + "\n"
    return made


# The commands.


def commands() -> str:
    """Every command with its help, its arguments and its options."""
    lines = [
        "# Commands",
        "",
        "Generated from the commands themselves; `mashq COMMAND --help` prints the same. Exit codes: 0 done, 1 a "
        "condition of `--fail-if` was true, or a check failed; 2 bad input, and one sentence says what to fix; 3 "
        "stopped, and can be resumed.",
    ]
    context = click.Context(cli, info_name="mashq")
    for name, command in cli.commands.items():
        lines += _command(command, click.Context(command, context, info_name=name), 2)
    return "\n".join(lines) + "\n"


def _command(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    yield from ("", f"{'#' * level} {context.command_path}", "")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from ("```text", usage, "```", "")
    yield from _help(command.help or "")
    rows = [row for one in command.get_params(context) if (row := _option(one, context))]
    if rows:
        yield from ("", "| option | default | |", "|---|---|---|", *rows)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _command(inner, click.Context(inner, context, info_name=name), level + 1)


def _help(text: str) -> Iterator[str]:
    """A command's help: paragraphs as they are, and what it keeps line by line as code."""
    for block in inspect.cleandoc(text).split("\n\n"):
        if block.startswith("\b"):
            title, _, rest = block.removeprefix("\b\n").partition("\n")
            alone = title.endswith(":")
            kept = inspect.cleandoc("\n" + rest) if alone else block.removeprefix("\b\n")
            yield from ([title, ""] if alone else [])
            yield from ("```text", kept, "```", "")
        else:
            yield from (" ".join(block.split()), "")


def _option(one: click.Parameter, context: click.Context) -> str | None:
    if not isinstance(one, click.Option) or one.hidden or "--help" in one.opts:
        return None
    value = "" if one.is_flag else f" {one.make_metavar(context)}"
    names = ", ".join(code(name + value) for name in (*one.opts, *one.secondary_opts))
    default: Any = one.to_info_dict()["default"]
    told = "**required**" if one.required else code(str(default)) if default not in (None, False, (), []) else ""
    return f"| {cell(names)} | {told if 'UNSET' not in told.upper() else ''} | {cell(one.help or '')} |"


# The documents.


def documents() -> str:
    """Every document that `--json` prints, field by field."""
    lines = [
        "# Documents",
        "",
        "What `--json` prints, by its `kind`. Each has a JSON Schema, which `mashq schema NAME` prints too; the "
        "fields below are generated from it. `null` is unknown, never 0.",
    ]
    for kind in DOCUMENTS:
        made = schema_of(kind)
        lines += ["", f"## {kind}", "", made.get("description", ""), "", f"[JSON Schema](schemas/{kind}.json)", ""]
        lines += _fields(made)
        for name, part in made["$defs"].items():
            if part.get("properties"):
                lines += ["", f"### {kind}: {name}", "", part.get("description", ""), "", *_fields(part)]
    return "\n".join(lines) + "\n"


def _fields(part: dict[str, Any]) -> Iterator[str]:
    yield from ("| field | type | |", "|---|---|---|")
    for name, own in part["properties"].items():
        some = "" if name in part.get("required", ()) else " (not always there)"
        yield f"| {code(name)} | {cell(_kind(own))} | {cell(own.get('description', ''))}{some} |"


def _kind(own: dict[str, Any]) -> str:
    if "anyOf" in own:
        return " or ".join(dict.fromkeys(_kind(one) for one in own["anyOf"]))
    if "$ref" in own:
        return own["$ref"].rpartition("/")[2]
    if "const" in own or "enum" in own:
        return ", ".join(code(json.dumps(value)) for value in own.get("enum", [own.get("const")]))
    if own.get("type") == "array":
        inner: dict[str, Any] = own.get("items") or {}
        return f"list of {_kind(inner)}" if inner else "list"
    if own.get("type") == "object" and isinstance(more := own.get("additionalProperties"), dict):
        return f"mapping to {_kind(more)}"  # pyright: ignore[reportUnknownArgumentType]
    return str(own.get("type", "anything"))


# The Python API.


def python() -> str:
    """What the package offers: its public names, and the Protocols of its extension points."""
    package: Any = import_module("mashq")
    lines = ["# Python", "", "Generated from the package.", "", "```python", *_example(package), "```"]
    names = [name for name in package.__all__ if not name.startswith("_")]
    lines += ["", "## Functions and results"]
    lines += _described((name, getattr(package, name)) for name in names if not _is_error(getattr(package, name)))
    lines += ["", "## Errors"]
    lines += _described((name, getattr(package, name)) for name in names if _is_error(getattr(package, name)))
    lines += ["", "## Extension points", "", "[Extending](../extending.md) has an example of each."]
    found = PROTOCOL.findall(extensions.__doc__ or "")
    lines += _described((name, getattr(import_module(module), name)) for module, name in found)
    return "\n".join(lines) + "\n"


def _example(package: Any) -> list[str]:
    """The code in the package's own docstring."""
    kept = [line for line in (inspect.getdoc(package) or "").splitlines() if line.startswith("    ")]
    return inspect.cleandoc("\n" + "\n".join(kept)).splitlines()


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _described(named: Iterable[tuple[str, Any]]) -> Iterator[str]:
    for name, value in named:
        yield from ("", f"### {name}", "")
        if callable(value) and not _is_error(value) and not getattr(value, "_is_protocol", False):
            yield from ("```python", f"{name}{_signature(value)}", "```", "")
        yield inspect.getdoc(value) or ""
        if isinstance(value, type) and not _is_error(value):
            yield from _members(value)


def _signature(value: Any) -> str:
    text = str(inspect.signature(value)).replace("'", "")
    return re.sub(r"\b(?:\w+\.)+(?=[A-Z])", "", text)


def _members(owner: type[Any]) -> Iterator[str]:
    """The fields, properties and methods of a class."""
    rows: list[str] = []
    if is_dataclass(owner):
        rows += [
            f"| {code(one.name)} | {cell(code(str(one.type)))} | |" for one in fields(owner) if one.name[0] != "_"
        ]
    for name, member in inspect.getmembers(owner):
        if name.startswith("_") or name in {row.split("`")[1] for row in rows}:
            continue
        if not (isinstance(member, property) or inspect.isfunction(member) or inspect.ismethod(member)):
            continue
        shown = "" if isinstance(member, property) else _signature(member)
        said = (inspect.getdoc(member) or "").split("\n\n")[0]
        rows.append(f"| {code(name)} | {cell(code(shown))} | {cell(said)} |")
    if rows:
        yield from ("", "| member | | |", "|---|---|---|", *rows)
