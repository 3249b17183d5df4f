"""Importing optional packages.

Contract: `need` imports a module of an extra and returns it untyped; if it is missing, the error is one
sentence with the command that installs it. Nothing else in the detectors imports torch, tokenizers or the like.
"""

from __future__ import annotations

import importlib
from typing import Any

from mashq.errors import ConfigError

__all__ = ["need"]


def need(module: str, who: str | None = None, extra: str = "hhem") -> Any:
    """Return the module; raises a ConfigError that names the extra if it is missing."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = error.name or module
        whose = "A neural detector (hhem, minicheck)" if who is None else f"The detector {who!r}"
        raise ConfigError(
            f"{whose} needs the extra: pip install 'mashq[{extra}]' ({missing} is not installed)."
        ) from error
