"""What does a factual answer cost? The reference implementation of the MAS-HQ protocol.

    import mashq

    match = mashq.play({"players": [{"name": "A", "model": "simulated/default"}, …]}, out="runs/first")
    match["winner"], match["players"]

`play` takes what a configuration file holds and returns what `mashq run --json` prints; `resume` and `show` do the
same for a run directory.
"""

from mashq.api import play, resume, show
from mashq.errors import ConfigError, DataError, DetectorError, MashqError, Stopped, StoreError
from mashq.version import __version__

__all__ = [
    "ConfigError",
    "DataError",
    "DetectorError",
    "MashqError",
    "Stopped",
    "StoreError",
    "__version__",
    "play",
    "resume",
    "show",
]
