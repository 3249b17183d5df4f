"""`mashq doctor`: what is here and what would run."""

import click


@click.command()
def doctor() -> None:
    """Say what is installed, which keys and weights are there, and what would run. Shows no key.

    \b
    Example:
      mashq doctor
    """
    import os
    import platform
    from importlib.metadata import entry_points
    from importlib.util import find_spec

    import mashq
    from mashq.arena.agents import GROUP, OURS
    from mashq.gateway import weights
    from mashq.gateway.providers import PROVIDERS

    engine, model = find_spec("xllamacpp") is not None, weights.find()
    _line(True, f"mashq {mashq.__version__} on Python {platform.python_version()}, {platform.system()}")
    _line(engine, "local engine (xllamacpp)", "pip install 'mashq[local]'")
    _line(model is not None, f"embedded model SmolLM2-135M{'' if model is None else f': {model}'}", "mashq weights")
    _line(engine and model is not None, "mashq demo would run", "see the two lines above")
    for name, provider in PROVIDERS.items():
        if provider.key_env is None:
            _line(None, f"{name}/… would be asked at {provider.base_url}, no key needed")
        else:
            there = bool(os.environ.get(provider.key_env, "").strip())
            _line(there, f"{name}/… with a key in {provider.key_env}", f"set {provider.key_env}")
    own = [entry.name for entry in entry_points(group="mashq.detectors")]
    _line(True, f"detectors: {', '.join(['grounding', 'exact-match', 'simpleqa', 'llm-judge:MODEL', *own])}")
    neural = find_spec("torch") is not None
    _line(neural, "neural detectors: hhem, minicheck (weights from the hub or a folder)", "pip install 'mashq[hhem]'")
    agents = [entry.name for entry in entry_points(group=GROUP)]
    _line(True, f"agents: {', '.join([*OURS, 'external', *agents])}")


def _line(there: bool | None, what: str, fix: str = "") -> None:
    mark = {True: "yes", False: " no", None: "  -"}[there]
    click.echo(f"{mark}  {what}" + (f"  ({fix})" if there is False and fix else ""))
