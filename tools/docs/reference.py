"""Reference pages generated from the code: the commands, the documents with their schemas, and the Python API."""

import inspect
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, cast

import click

from mashq import extensions
from mashq.cli import cli
from mashq.report.documents.schema import DOCUMENTS, schema_of
from tools.docs import settings
from tools.docs.markdown import cell, code

PROTOCOL = re.compile(r"`(mashq\.[\w.]+)\.(\w+)`")


def pages() -> dict[str, str]:
    """Return every generated file by its path under docs/."""
    generated = {
        "reference/commands.md": commands(),
        "reference/settings.md": settings.page(),
        "reference/documents.md": documents(),
        "reference/python.md": python(),
    }
    for kind in DOCUMENTS:
        generated[f"reference/schemas/{kind}.json"] = json.dumps(schema_of(kind), indent=2, ensure_ascii=False) + "\n"
    return generated


# The commands.


def commands() -> str:
    """Return the page of every command with its help, arguments and options."""
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
    rows = [row for parameter in command.get_params(context) if (row := _option(parameter, context))]
    if rows:
        yield from ("", "| option | default | |", "|---|---|---|", *rows)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _command(inner, click.Context(inner, context, info_name=name), level + 1)


def _help(text: str) -> Iterator[str]:
    """Yield a command's help: paragraphs as text, and blocks with fixed line breaks as code."""
    for block in inspect.cleandoc(text).split("\n\n"):
        if block.startswith("\b"):
            title, _, body = block.removeprefix("\b\n").partition("\n")
            has_title = title.endswith(":")
            code_block = inspect.cleandoc("\n" + body) if has_title else block.removeprefix("\b\n")
            yield from ([title, ""] if has_title else [])
            yield from ("```text", code_block, "```", "")
        else:
            yield from (" ".join(block.split()), "")


def _option(parameter: click.Parameter, context: click.Context) -> str | None:
    if not isinstance(parameter, click.Option) or parameter.hidden or "--help" in parameter.opts:
        return None
    value = "" if parameter.is_flag else f" {parameter.make_metavar(context)}"
    names = ", ".join(code(name + value) for name in (*parameter.opts, *parameter.secondary_opts))
    default: Any = parameter.to_info_dict()["default"]
    shown = (
        "**required**" if parameter.required else code(str(default)) if default not in (None, False, (), []) else ""
    )
    return f"| {cell(names)} | {shown if 'UNSET' not in shown.upper() else ''} | {cell(parameter.help or '')} |"


# The documents.


def documents() -> str:
    """Return the page of every document that `--json` prints, field by field."""
    lines = [
        "# Documents",
        "",
        "What `--json` prints, by its `kind`. Each has a JSON Schema, which `mashq schema NAME` prints too; the "
        "fields below are generated from it. `null` is unknown, never 0.",
    ]
    for kind in DOCUMENTS:
        schema = schema_of(kind)
        lines += ["", f"## {kind}", "", schema.get("description", ""), "", f"[JSON Schema](schemas/{kind}.json)", ""]
        lines += _fields(schema)
        for name, part in schema["$defs"].items():
            if part.get("properties"):
                lines += ["", f"### {kind}: {name}", "", part.get("description", ""), "", *_fields(part)]
    return "\n".join(lines) + "\n"


def _fields(part: dict[str, Any]) -> Iterator[str]:
    yield from ("| field | type | |", "|---|---|---|")
    for name, field in part["properties"].items():
        suffix = "" if name in part.get("required", ()) else " (not always there)"
        yield f"| {code(name)} | {cell(_type(field))} | {cell(field.get('description', ''))}{suffix} |"


def _type(schema: dict[str, Any]) -> str:
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_type(choice) for choice in schema["anyOf"]))
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    if "const" in schema or "enum" in schema:
        return ", ".join(code(json.dumps(value)) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        inner: dict[str, Any] = schema.get("items") or {}
        return f"list of {_type(inner)}" if inner else "list"
    if schema.get("type") == "object" and isinstance(values := schema.get("additionalProperties"), dict):
        return f"mapping to {_type(values)}"  # pyright: ignore[reportUnknownArgumentType]
    return str(schema.get("type", "anything"))


# The Python API.


def python() -> str:
    """Return the page of the package's public names and the Protocols of its extension points."""
    package: Any = import_module("mashq")
    lines = ["# Python", "", "Generated from the package.", "", "```python", *_example(package), "```"]
    members = [(name, getattr(package, name)) for name in package.__all__ if not name.startswith("_")]
    lines += ["", "## Functions"]
    lines += _descriptions(member for member in members if not isinstance(member[1], type))
    lines += ["", "## Results"]
    lines += _descriptions(member for member in members if isinstance(member[1], type) and not _is_error(member[1]))
    lines += ["", "## Errors"]
    lines += _descriptions(member for member in members if _is_error(member[1]))
    lines += ["", "## Extension points", "", "[Extending](../extending.md) has an example of each."]
    protocols = PROTOCOL.findall(extensions.__doc__ or "")
    lines += _descriptions((name, getattr(import_module(module), name)) for module, name in protocols)
    return "\n".join(lines) + "\n"


def _example(package: Any) -> list[str]:
    """Return the code in the package's own docstring."""
    lines = [line for line in (inspect.getdoc(package) or "").splitlines() if line.startswith("    ")]
    return inspect.cleandoc("\n" + "\n".join(lines)).splitlines()


def _is_error(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _descriptions(members: Iterable[tuple[str, Any]]) -> Iterator[str]:
    for name, value in members:
        yield from ("", f"### {name}", "")
        if callable(value) and not _is_error(value) and not getattr(value, "_is_protocol", False):
            yield from ("```python", f"{name}{_signature(value)}", "```", "")
        yield inspect.getdoc(value) or ""
        if isinstance(value, type) and not _is_error(value):
            yield from _members(value)


def _signature(value: Any) -> str:
    return _plain(str(inspect.signature(value)))


def _type_name(annotation: Any) -> str:
    return _plain(annotation if isinstance(annotation, str) else inspect.formatannotation(annotation))


def _plain(text: str) -> str:
    """Return a type or a signature without quotes, modules and marks of type variables."""
    return re.sub(r"\b(?:\w+\.)+(?=[A-Z])|~(?=\w)", "", text.replace("'", ""))


def _members(owner: type[Any]) -> Iterator[str]:
    """Yield a table of the fields, properties and methods of a class."""
    rows: list[str] = []
    if is_dataclass(owner):
        rows += [
            f"| {code(field.name)} | {cell(code(_type_name(field.type)))} | |"
            for field in fields(owner)
            if field.name[0] != "_"
        ]
    for name, member in inspect.getmembers(owner):
        if name.startswith("_") or name in {row.split("`")[1] for row in rows}:
            continue
        if not (isinstance(member, property) or inspect.isfunction(member) or inspect.ismethod(member)):
            continue
        if isinstance(member, property):
            signature = _type_name(inspect.signature(cast(Any, member.fget)).return_annotation)
        else:
            signature = _signature(member)
        summary = (inspect.getdoc(member) or "").split("\n\n")[0]
        rows.append(f"| {code(name)} | {cell(code(signature))} | {cell(summary)} |")
    if rows:
        yield from ("", "| member | | |", "|---|---|---|", *rows)
