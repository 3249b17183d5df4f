"""`mashq doctor`: what is installed and what would run."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from mashq.config import Config

OTHERS = 0o077
ENV_FILE, RUNS = ".env", "runs"
Said = tuple[bool | None, str, str]


@click.command()
@click.argument("config", type=click.Path(path_type=Path), required=False)
def doctor(config: Path | None) -> None:
    """Check what is installed, which keys and weights are found, and what would run. Shows no key.

    With CONFIG also whether its key files are there and nobody else can read them.

    \b
    Example:
      mashq doctor
      mashq doctor mashq.yaml
    """
    import os
    import platform
    from importlib.util import find_spec

    import mashq
    from mashq.extensions import DETECTORS
    from mashq.gateway.backends import weights
    from mashq.gateway.providers import PROVIDERS
    from mashq.players import registry as agents

    settings = None
    if config is not None:
        from mashq.arena.endpoints import located
        from mashq.config import load

        settings = located(load(config), config.parent.resolve())
    engine, model = find_spec("xllamacpp") is not None, weights.find()
    _line(True, f"mashq {mashq.__version__} on Python {platform.python_version()}, {platform.system()}")
    _line(engine, "local engine (xllamacpp)", "pip install 'mashq[local]'")
    _line(model is not None, f"embedded model SmolLM2-135M{'' if model is None else f': {model}'}", "mashq weights")
    _line(engine and model is not None, "mashq demo would run", "see the two lines above")
    for name, provider in PROVIDERS.items():
        if provider.key_env is None:
            _line(None, f"{name}/…: requests go to {provider.base_url}, no key needed")
        else:
            present = bool(os.environ.get(provider.key_env, "").strip())
            _line(present, f"{name}/… with a key in {provider.key_env}", f"set {provider.key_env}")
    _line(None, f"detectors: {', '.join([*DETECTORS.names(), 'llm-judge:MODEL'])}; 'mashq detectors' tests each")
    neural = find_spec("torch") is not None
    _line(neural, "PyTorch, for the detectors hhem and minicheck", "pip install 'mashq[hhem]'")
    _line(True, f"agents: {', '.join(agents.names())}")
    key_variables = {provider.key_env for provider in PROVIDERS.values()}
    key_variables |= {model.api_key_env for model in settings.models.values()} if settings is not None else set()
    for present, what, fix in (
        *isolation(settings),
        *key_files(settings),
        *env_file(Path(ENV_FILE), key_variables),
        *runs(Path(RUNS)),
    ):
        _line(present, what, fix)


def isolation(config: "Config | None") -> Iterator[Said]:
    """Whether external agents can be isolated here, and those of a configuration as it requires."""
    import asyncio
    import os

    from mashq.arena.external_agents import check_isolation
    from mashq.errors import ConfigError
    from mashq.players.external.sandbox import INSTALL, Sandbox, bubblewrap

    fix = (
        INSTALL
        if bubblewrap() is None
        else asyncio.run(Sandbox(("true",), {"PATH": os.environ.get("PATH", os.defpath)}).look())
    )
    yield fix is None, "isolation of external agents (bubblewrap on Linux)", fix or ""
    try:
        if config is not None:
            check_isolation(config)
    except ConfigError as error:
        yield False, str(error), ""


def key_files(config: "Config | None") -> Iterator[Said]:
    """Whether each key file of a configuration exists, is not empty, and is readable only by its owner."""
    for name, model in config.models.items() if config is not None else ():
        if model.api_key_file is None:
            continue
        path = Path(model.api_key_file)
        what = f"the key file {path} of {name}"
        try:
            length, mode = path.stat().st_size, path.stat().st_mode
        except OSError as error:
            yield False, what, f"it cannot be read: {error.strerror}"
            continue
        if mode & OTHERS:
            yield False, f"{what} can be read by others", f"chmod 600 {path}"
        else:
            yield length > 0, what, "it is empty: write the key into it"


def env_file(path: Path, named: set[str | None]) -> Iterator[Said]:
    """Whether a local `.env` file holds keys that others can read; reports names only, never values."""
    from mashq.bounds import TEXT, TooMuch, read_bytes

    if not path.is_file() or not path.stat().st_mode & OTHERS:
        return
    try:
        text = read_bytes(path, TEXT).decode("utf-8", "replace")
    except (OSError, TooMuch):  # this user cannot read it, so it exposes no key here; its owner is told
        return
    names: list[str] = re.findall(r"^\s*(?:export\s+)?(\w+)\s*=\s*\S", text, re.MULTILINE)
    exposed = [name for name in dict.fromkeys(names) if name in named]
    if exposed:
        yield False, f"{path} holds {', '.join(exposed)} and can be read by others", f"chmod 600 {path}"


def runs(path: Path) -> Iterator[Said]:
    """Report that run directories hold prompts and answers, if others can read them."""
    if path.is_dir() and path.stat().st_mode & OTHERS & 0o055:
        yield (
            None,
            f"{path}/ holds every prompt and answer, no key; others can read it (chmod 700 {path} hides it)",
            "",
        )


def _line(present: bool | None, what: str, fix: str = "") -> None:
    from mashq.report.text.tables import listed

    mark = {True: "yes", False: " no", None: "  -"}[present]
    click.echo(listed(mark, what + (f"  ({fix})" if present is False and fix else "")))
