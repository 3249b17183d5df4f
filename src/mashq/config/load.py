"""YAML text to a checked configuration, with overrides by dotted path."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from mashq import bounds
from mashq.bounds import TooMuch
from mashq.config.errors import sentence
from mashq.config.schema import Config
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
    """A configuration from YAML text; `source` names it in errors."""
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


def check(document: Mapping[str, Any], source: str = "the configuration") -> Config:
    """Validate plain data."""
    for text in _texts(document):
        if "\0" in text or (not text.isascii() and any("\ud800" <= letter <= "\udfff" for letter in text)):
            raise ConfigError(f"{source}: {text[:80]!r} holds a character that no file can hold: leave it out")
    try:
        return Config.model_validate(document)
    except ValidationError as error:
        raise ConfigError(f"{source}: {sentence(error)}") from None


def changed(config: Config, settings: Iterable[tuple[str, Any]], option: str = "--over") -> Config:
    """The configuration with some settings changed, each named as `--set` names it; errors name the `option`."""
    document = config.model_dump(mode="json")
    for path, value in settings:
        _place(document, path, value, f"{option} {path}={value}")
    return check(document, option)


def values_of(option: str) -> tuple[str, list[Any]]:
    """`rules.T=0.8,0.9` as the setting's name and its values, each read as YAML."""
    path, equals, text = option.partition("=")
    found = _yaml(f"[{text}]", f"--over {path}") if equals and path else None
    if not isinstance(found, list) or not found:
        raise ConfigError(f"--over {option!r}: write it as key=value,value, for example rules.T=0.8,0.9")
    try:
        return path, cast(list[Any], _plain(cast(object, found)))
    except (TypeError, ValueError, TooMuch) as error:
        raise ConfigError(f"--over {path} holds something no setting can be ({error}): use plain values") from None


def together_of(option: str) -> tuple[str, list[Any]]:
    """`players.0.model,players.1.model=a,b/c,d` as the names, joined by commas, and the values of each combination.

    Combinations are separated by slashes; where a value holds one itself, they are written as lists: `=[a,b],[c,d]`.
    """
    names, equals, text = option.partition("=")
    count = len(names.split(","))
    written = text if text.lstrip().startswith("[") else ",".join(f"[{part}]" for part in text.split("/"))
    _, found = values_of(f"{names}={written}") if equals and count > 1 and text else ("", [])
    if not found or not all(isinstance(values, list) and len(cast(list[Any], values)) == count for values in found):
        raise ConfigError(
            f"--with {option!r}: write it as key,key=value,value/value,value, for example "
            "players.0.model,players.1.model=a,a/b,b, or as lists where a value holds a slash: =[x/a,x/a],[x/b,x/b]"
        )
    return names, found


def _plain(document: object) -> object:
    """The same as JSON would have it. Aliases are written out, so what they come to is counted before."""
    bounds.measure(document, "it")
    return json.loads(json.dumps(document, default=str))


def _texts(document: object) -> Iterator[str]:
    """Every text in plain data, keys included."""
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
    from ruamel.yaml import YAML  # a run is read without it
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        if "<<" in text:
            _check_merges(YAML(typ="safe", pure=True).compose(text), source)  # pyright: ignore[reportUnknownMemberType]
        return YAML(typ="safe", pure=True).load(text)  # pyright: ignore[reportUnknownMemberType]
    except MarkedYAMLError as error:
        marked: Any = error
        mark = marked.problem_mark or marked.context_mark
        where = "" if mark is None else f" line {mark.line + 1}"
        raise ConfigError(f"{source}{where}: {' '.join(str(marked.problem).split())}") from None
    except RecursionError:
        raise ConfigError(
            f"{source} is nested too deeply: {bounds.DEPTH} levels are enough for any setting"
        ) from None
    except (YAMLError, ValueError) as error:
        raise ConfigError(f"{source} is not YAML: {' '.join(str(error).split())[:200]}") from None


def _check_merges(root: Any, source: str) -> None:
    """Mappings that merge others are written out while they are read: see before what they come to."""
    sizes: dict[int, int] = {}
    left: list[tuple[Any, bool]] = [(root, False)]
    while left:
        node, seen = left.pop()
        inner = _inside(node)
        if seen:
            sizes[id(node)] = 1 + sum(sizes.get(id(part), bounds.CONFIG_VALUES) for part in inner)
        elif id(node) not in sizes:
            left.append((node, True))
            left += ((part, False) for part in inner)
            sizes[id(node)] = bounds.CONFIG_VALUES  # until it is known: one that holds itself has no end
    if sizes[id(root)] > bounds.CONFIG_VALUES:
        raise ConfigError(
            f"{source} merges mappings (<<) to more than {bounds.CONFIG_VALUES:,} values: write them out"
        )


def _inside(node: Any) -> list[Any]:
    """The nodes within a node of YAML."""
    value: Any = getattr(node, "value", None)
    if not isinstance(value, list):
        return []
    entries = cast(list[Any], value)
    return [part for entry in entries for part in (cast(Any, entry) if isinstance(entry, tuple) else (entry,))]


def _override(document: dict[str, Any], override: str) -> None:
    """Apply `a.b.c=value`; the value is read as YAML, list places are numbers, a dotted model name is found whole."""
    path, equals, value = override.partition("=")
    if not equals or not path:
        raise ConfigError(f"--set {override!r}: write it as key=value, for example rules.T=0.9")
    try:
        _place(document, path, _plain(_yaml(value, f"--set {path}")), f"--set {override}")
    except (TypeError, ValueError, TooMuch) as error:
        raise ConfigError(f"--set {path} holds something no setting can be ({error}): use plain values") from None


def _place(document: dict[str, Any], path: str, parsed: object, option: str) -> None:
    """Put a value where a dotted path says."""
    here: Any = document
    left = path
    while True:
        key, left = _next_key(here, left)
        if isinstance(here, list):
            places = cast(list[Any], here)
            if not key.isdigit() or int(key) >= len(places):
                raise ConfigError(f"{option!r}: {key!r} must be a place from 0 to {len(places) - 1}")
            if not left:
                places[int(key)] = parsed
                return
            here = places[int(key)]
        elif isinstance(here, dict):
            mapping = cast(dict[str, Any], here)
            if not left:
                mapping[key] = parsed
                return
            here = mapping.setdefault(key, {})
        else:
            raise ConfigError(f"{option!r}: {path.removesuffix('.' + left)!r} is not a mapping or a list")


def _next_key(here: object, path: str) -> tuple[str, str]:
    """Split the first key off a dotted path, the longest key already there first."""
    if isinstance(here, dict):
        for known in sorted(cast(dict[str, Any], here), key=len, reverse=True):
            if path == known or path.startswith(known + "."):
                return known, path[len(known) + 1 :]
    key, _, left = path.partition(".")
    return key, left
