"""The door to optional packages.

Contract: `need` imports a module of an extra and hands it over untyped; where it is missing, the error is one
sentence with the command that installs it. Nothing else in the detectors imports torch, tokenizers or the like.
"""

from __future__ import annotations

import importlib
from typing import Any

from mashq.errors import ConfigError

__all__ = ["need"]


def need(module: str, who: str | None = None, extra: str = "hhem") -> Any:
    """The module, or a ConfigError that names the extra."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = error.name or module
        whose = "A neural detector (hhem, minicheck)" if who is None else f"The detector {who!r}"
        raise ConfigError(
            f"{whose} needs the extra: pip install 'mashq[{extra}]' ({missing} is not installed)."
        ) from error
