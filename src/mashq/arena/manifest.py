"""What a run's manifest says: all that is needed to cite it, to go on with it and to repeat it."""

import hashlib
import json
import platform
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

from mashq.arena.endpoints import Endpoints
from mashq.arena.setting import BUILTIN, prompts_of
from mashq.config import Config
from mashq.gateway.types import Clock
from mashq.protocol.items import Item
from mashq.tasks import load as tasks

PACKAGES = ("mashq", "aiohttp", "genai-prices", "numpy", "pydantic", "xllamacpp")


def manifest(
    config: Config,
    season: dict[str, Any],
    configs: Iterable[Config],
    items: tuple[Item, ...],
    endpoints: Endpoints,
    detector: dict[str, str],
    guide: str,
    clock: Clock,
) -> dict[str, Any]:
    """The manifest of a run that begins. `configs` are those of all its matches."""
    said = config.model_dump(mode="json")
    texts = {player.prompts or BUILTIN: prompts_of(one, player) for one in configs for player in one.players}
    return {
        "format": 1,
        "started": stamp(clock),
        "ended": None,
        "simulated": endpoints.simulated,
        "seed": config.seed,
        "items": len(items),
        "season": season,
        "detector": detector,
        "guide": guide,
        "models": endpoints.described(),
        "digests": {
            "config": hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest(),
            "items": tasks.digest(items),
            "prompts": {player.name: texts[player.prompts or BUILTIN].digest for player in config.players},
            "package": package_digest(),
        },
        "versions": {"python": sys.version.split()[0], "platform": platform.platform(), **_versions()},
        "config": said,
        "prompts": {name: dict(text.texts) for name, text in texts.items()},
    }


def _versions() -> dict[str, str]:
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def package_digest() -> str:
    """A fingerprint of the code that plays: every module of this package."""
    whole = hashlib.sha256()
    root = Path(str(files("mashq")))
    for path in sorted(root.rglob("*.py")):
        whole.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def stamp(clock: Clock) -> str:
    """The time, as a manifest writes it."""
    return datetime.fromtimestamp(clock.now(), UTC).isoformat(timespec="seconds")


def default_out(clock: Clock, root: Path | None = None) -> Path:
    """A fresh directory name under runs/: the time, and a number when that is taken."""
    root = root or Path("runs")
    at = datetime.fromtimestamp(clock.now()).strftime("%Y%m%d-%H%M%S")
    path, number = root / at, 1
    while path.exists():
        number += 1
        path = root / f"{at}-{number}"
    return path
