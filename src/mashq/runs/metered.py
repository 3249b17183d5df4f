"""The ledger of a gateway: a run directory without a match."""

from pathlib import Path

from mashq.runs.manifest import GATEWAY, read_manifest


def is_metered(out: Path) -> bool:
    """Whether a run is the ledger of a gateway rather than a match."""
    return read_manifest(out).get("kind") == GATEWAY
