"""The optional dependencies of HTML pages."""

from importlib.util import find_spec

from mashq.errors import ConfigError


def needed() -> None:
    """Raise ConfigError if the optional dependencies are not installed."""
    for name in ("jinja2", "vl_convert"):
        if find_spec(name) is None:
            raise ConfigError(f"Reports need the extra: pip install 'mashq[charts]' ({name} is not installed).")
