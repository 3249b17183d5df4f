"""The manifest of a run: everything needed to cite it, to resume it and to repeat it."""

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from mashq.bounds import TooMuch, read_json
from mashq.config import Config, check
from mashq.errors import StoreError
from mashq.gateway.types import Clock
from mashq.protocol.items import Item
from mashq.protocol.rules import RULES_OF_PLAY
from mashq.runs.schema import check_manifest
from mashq.runs.setup import BUILTIN, prompts_of
from mashq.tasks import load as tasks
from mashq.version import __version__

MANIFEST = "manifest.json"
FORMAT, GATEWAY, DIGEST, ACCEPTED = 1, "gateway", "digest", "accepted"
PACKAGES = ("aiohttp", "genai-prices", "numpy", "pydantic", "xllamacpp")


def manifest(
    config: Config,
    season: dict[str, Any],
    configs: Iterable[Config],
    items: tuple[Item, ...],
    models: Mapping[str, Any],
    simulated: bool,
    detector: dict[str, str],
    guide: str,
    clock: Clock,
) -> dict[str, Any]:
    """The manifest of a new run. `configs` are the configurations of all its matches."""
    settings = config.model_dump(mode="json")
    texts = {
        player.prompts or BUILTIN: prompts_of(match_config, player)
        for match_config in configs
        for player in match_config.players
    }
    return {
        "format": 1,
        "rules_of_play": RULES_OF_PLAY,
        "started": stamp(clock),
        "ended": None,
        "simulated": simulated,
        "seed": config.seed,
        "items": len(items),
        "season": season,
        "detector": detector,
        "guide": guide,
        "models": models,
        "digests": {
            "config": hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest(),
            "items": tasks.digest(items),
            "prompts": {player.name: texts[player.prompts or BUILTIN].digest for player in config.players},
            "package": package_digest(),
        },
        "versions": _versions(),
        "config": settings,
        "prompts": {name: dict(text.texts) for name, text in texts.items()},
    }


def _versions() -> dict[str, str]:
    import platform  # imported here, because reading a run needs neither
    from importlib.metadata import PackageNotFoundError, version

    versions = {"python": sys.version.split()[0], "platform": platform.platform(), "mashq": __version__}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def package_digest() -> str:
    """A digest of the code that plays: every module of this package."""
    hasher = hashlib.sha256()
    root = Path(str(files("mashq")))
    for path in sorted(root.rglob("*.py")):
        hasher.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return hasher.hexdigest()


def stamp(clock: Clock) -> str:
    """The current time in the format of a manifest."""
    return datetime.fromtimestamp(clock.now(), UTC).isoformat(timespec="seconds")


def default_out(clock: Clock, root: Path | None = None) -> Path:
    """An unused directory name under runs/: the time, and a number if that is taken."""
    root = root or Path("runs")
    timestamp = datetime.fromtimestamp(clock.now()).strftime("%Y%m%d-%H%M%S")
    path, number = root / timestamp, 1
    while path.exists():
        number += 1
        path = root / f"{timestamp}-{number}"
    return path


def read_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest of a run; raises StoreError if `path` is not a run, or not one that this version can read."""
    try:
        document: Any = read_json(path / MANIFEST)
        json.dumps(document, ensure_ascii=False).encode()  # a lone surrogate could not be written again
    except (FileNotFoundError, NotADirectoryError):
        if not os.path.exists(path):
            raise StoreError(f"{path} does not exist: give the directory of a run") from None
        raise StoreError(f"{path} is not a run of mashq: it has no {MANIFEST}") from None
    except (OSError, ValueError, TooMuch) as error:
        raise StoreError(f"{path / MANIFEST} cannot be read ({error}): restore it from a copy") from None
    if not isinstance(document, dict) or "ended" not in document:
        raise StoreError(f"{path / MANIFEST} is not the manifest of a run: restore it from a copy")
    manifest = cast(dict[str, Any], document)
    if manifest.get("format", FORMAT) != FORMAT:
        raise StoreError(f"{path} has the format {manifest['format']}, this version reads {FORMAT}: update mashq")
    check_manifest(manifest, path / MANIFEST)
    if rules_of_play(manifest) > RULES_OF_PLAY:
        raise StoreError(
            f"{path} is played by the rules of play {manifest['rules_of_play']}, this version has {RULES_OF_PLAY}: "
            "update mashq"
        )
    return manifest


def read_match(path: Path) -> dict[str, Any]:
    """Read the manifest of a run of matches; raises StoreError if it is the ledger of a gateway."""
    manifest = read_manifest(path)
    if manifest.get("kind") == GATEWAY:
        raise StoreError(f"{path} is the ledger of a gateway, not a match: 'mashq show {path}' says what was spent")
    return manifest


def is_chained(manifest: Mapping[str, Any]) -> bool:
    """Whether a run with this manifest had a hash chain from its start: those of 0.1 had none."""
    return "rules_of_play" in manifest or "chain" in manifest


def rules_of_play(manifest: Mapping[str, Any]) -> int:
    """The version of the rules of play that a run began with; 1 if the manifest does not say."""
    return manifest.get("rules_of_play", 1)


def config_of(manifest: Mapping[str, Any], run: str) -> Config:
    """The configuration of a run; under version 1 of the rules of play, players are not told the score."""
    settings: dict[str, Any] = manifest["config"]
    rules: object = settings.get("rules", {})
    if rules_of_play(manifest) == 1 and isinstance(rules, dict):
        settings = settings | {"rules": {**rules, "tell": []}}
    return check(settings, f"{run}/{MANIFEST}", stored=True)


def manifest_digest(manifest: Mapping[str, Any]) -> str:
    """The digest of a manifest, computed without the digest that it contains."""
    return hashlib.sha256(json.dumps(without_digest(manifest), sort_keys=True).encode()).hexdigest()


def without_digest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest without its own digest."""
    return {name: value for name, value in manifest.items() if name != DIGEST}
