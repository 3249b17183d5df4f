"""What pages need beside mashq itself."""

from importlib.util import find_spec

from mashq.errors import ConfigError


def needed() -> None:
    """Say in one sentence what to install where the extra is missing."""
    for name in ("jinja2", "vl_convert"):
        if find_spec(name) is None:
            raise ConfigError(f"Reports need the extra: pip install 'mashq[charts]' ({name} is not installed).")
