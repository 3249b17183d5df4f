"""Loads YAML text into a validated configuration, with overrides by dotted path."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from mashq import bounds
from mashq.bounds import TooMuch
from mashq.config.errors import sentence
from mashq.config.schema import STORED, Config
from mashq.errors import ConfigError


def load(path: Path, overrides: Sequence[str] = ()) -> Config:
    """Read a configuration file and apply `key=value` overrides."""
    try:
        text = bounds.read_text(path, bounds.CONFIG)
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist: 'mashq init' writes one to start from") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read ({error}): it must be UTF-8 text that you may read") from None
    return parse(text, str(path), overrides)


def parse(text: str, source: str, overrides: Sequence[str] = ()) -> Config:
    """Parse a configuration from YAML text; `source` names it in error messages."""
    document = _yaml(text, source)
    if not isinstance(document, dict):
        raise ConfigError(f"{source} holds no configuration: it must be a mapping with 'players'")
    try:
        plain = cast(dict[str, Any], _plain(cast(object, document)))
    except (TypeError, ValueError, TooMuch) as error:
        raise ConfigError(
            f"{source} holds something no setting can be ({error}): use plain keys and values"
        ) from None
    for override in overrides:
        _override(plain, override)
    return check(plain, source)


def check(document: Mapping[str, Any], source: str = "the configuration", *, stored: bool = False) -> Config:
    """Validate plain data and return the configuration; one that a run has `stored` may hold secrets."""
    for text in _texts(document):
        if "\0" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
            raise ConfigError(f"{source}: {text[:80]!r} holds a character that no file can hold: leave it out")
    try:
        return Config.model_validate(document, context=STORED if stored else None)
    except ValidationError as error:
        raise ConfigError(f"{source}: {sentence(error, document)}") from None


def changed(config: Config, settings: Iterable[tuple[str, Any]], option: str = "--over") -> Config:
    """A copy of the configuration with some settings changed, named as in `--set`; errors name the `option`."""
    document = config.model_dump(mode="json")
    for path, value in settings:
        _set_at(document, path, value, f"{option} {path}={value}")
    return check(document, option)


def values_of(option: str) -> tuple[str, list[Any]]:
    """Split `rules.T=0.8,0.9` into the setting's name and its values, each parsed as YAML."""
    path, equals, text = option.partition("=")
    values = _yaml(f"[{text}]", f"--over {path}") if equals and path else None
    if not isinstance(values, list) or not values:
        raise ConfigError(f"--over {option!r}: write it as key=value,value, for example rules.T=0.8,0.9")
    try:
        return path, cast(list[Any], _plain(cast(object, values)))
    except (TypeError, ValueError, TooMuch) as error:
        raise ConfigError(f"--over {path} holds something no setting can be ({error}): use plain values") from None


def together_of(option: str) -> tuple[str, list[Any]]:
    """Split `players.0.model,players.1.model=a,b/c,d` into the names, joined by commas, and the values of each
    combination.

    Combinations are separated by slashes; if a value contains a slash, they are written as lists: `=[a,b],[c,d]`.
    """
    names, equals, text = option.partition("=")
    count = len(names.split(","))
    written = text if text.lstrip().startswith("[") else ",".join(f"[{part}]" for part in text.split("/"))
    _, combinations = values_of(f"{names}={written}") if equals and count > 1 and text else ("", [])
    if not combinations or not all(
        isinstance(values, list) and len(cast(list[Any], values)) == count for values in combinations
    ):
        raise ConfigError(
            f"--with {option!r}: write it as key,key=value,value/value,value, for example "
            "players.0.model,players.1.model=a,a/b,b, or as lists where a value holds a slash: =[x/a,x/a],[x/b,x/b]"
        )
    return names, combinations


def _plain(document: object) -> object:
    """Convert to plain JSON data. Aliases get expanded, so the expanded size is checked first."""
    bounds.measure(document, "it")
    return json.loads(json.dumps(document, default=str))


def _texts(document: object) -> Iterator[str]:
    """Yield every string in plain data, keys included."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, Mapping):
        for key, value in cast(Mapping[object, object], document).items():
            yield from _texts(key)
            yield from _texts(value)
    elif isinstance(document, list | tuple):
        for value in cast(Sequence[object], document):
            yield from _texts(value)


def _yaml(text: str, source: str) -> object:
    from ruamel.yaml import YAML  # not needed to read a run
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        if "<<" in text:
            _check_merges(YAML(typ="safe", pure=True).compose(text), source)  # pyright: ignore[reportUnknownMemberType]
        return YAML(typ="safe", pure=True).load(text)  # pyright: ignore[reportUnknownMemberType]
    except MarkedYAMLError as error:
        marked: Any = error
        mark = marked.problem_mark or marked.context_mark
        where = "" if mark is None else f" line {mark.line + 1}"
        problem = " ".join(str(marked.problem).split())
        if "'\\t'" in problem:
            raise ConfigError(f"{source}{where} begins with a tab, which YAML does not allow: use spaces") from None
        raise ConfigError(f"{source}{where}: {problem}") from None
    except RecursionError:
        raise ConfigError(
            f"{source} is nested too deeply: {bounds.DEPTH} levels are enough for any setting"
        ) from None
    except (YAMLError, ValueError) as error:
        raise ConfigError(f"{source} is not YAML: {' '.join(str(error).split())[:200]}") from None


def _check_merges(root: Any, source: str) -> None:
    """Check the expanded size of merged mappings (<<) before loading, because loading expands them."""
    sizes: dict[int, int] = {}
    pending: list[tuple[Any, bool]] = [(root, False)]
    while pending:
        node, visited = pending.pop()
        children = _children(node)
        if visited:
            sizes[id(node)] = 1 + sum(sizes.get(id(child), bounds.CONFIG_VALUES) for child in children)
        elif id(node) not in sizes:
            pending.append((node, True))
            pending += ((child, False) for child in children)
            sizes[id(node)] = bounds.CONFIG_VALUES  # until it is known: a node that contains itself is infinite
    if sizes[id(root)] > bounds.CONFIG_VALUES:
        raise ConfigError(
            f"{source} merges mappings (<<) to more than {bounds.CONFIG_VALUES:,} values: write them out"
        )


def _children(node: Any) -> list[Any]:
    """The child nodes of a YAML node."""
    value: Any = getattr(node, "value", None)
    if not isinstance(value, list):
        return []
    entries = cast(list[Any], value)
    return [child for entry in entries for child in (cast(Any, entry) if isinstance(entry, tuple) else (entry,))]


def _override(document: dict[str, Any], override: str) -> None:
    """Apply `a.b.c=value`: the value is parsed as YAML, list indices are numbers, a model name with dots is matched
    whole."""
    path, equals, value = override.partition("=")
    if not equals or not path:
        raise ConfigError(f"--set {override!r}: write it as key=value, for example rules.T=0.9")
    try:
        _set_at(document, path, _plain(_yaml(value, f"--set {path}")), f"--set {override}")
    except (TypeError, ValueError, TooMuch) as error:
        raise ConfigError(f"--set {path} holds something no setting can be ({error}): use plain values") from None


def _set_at(document: dict[str, Any], path: str, value: object, option: str) -> None:
    """Set the value at a dotted path."""
    node: Any = document
    remaining = path
    while True:
        key, remaining = _next_key(node, remaining)
        if isinstance(node, list):
            entries = cast(list[Any], node)
            if not key.isdigit() or int(key) >= len(entries):
                raise ConfigError(f"{option!r}: {key!r} must be a place from 0 to {len(entries) - 1}")
            if not remaining:
                entries[int(key)] = value
                return
            node = entries[int(key)]
        elif isinstance(node, dict):
            mapping = cast(dict[str, Any], node)
            if not remaining:
                mapping[key] = value
                return
            node = mapping.setdefault(key, {})
        else:
            raise ConfigError(f"{option!r}: {path.removesuffix('.' + remaining)!r} is not a mapping or a list")


def _next_key(node: object, path: str) -> tuple[str, str]:
    """Split the first key off a dotted path, preferring the longest existing key."""
    if isinstance(node, dict):
        for known in sorted(cast(dict[str, Any], node), key=len, reverse=True):
            if path == known or path.startswith(known + "."):
                return known, path[len(known) + 1 :]
    key, _, remaining = path.partition(".")
    return key, remaining
