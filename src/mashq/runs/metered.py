"""The ledger of a gateway: a run directory without a match."""

from pathlib import Path
from typing import Any

from mashq.runs.manifest import GATEWAY, read_manifest
from mashq.runs.reading import check_record, read_metered, read_refusals


def is_metered(out: Path) -> bool:
    """Whether a run is the ledger of a gateway, not a match."""
    return read_manifest(out).get("kind") == GATEWAY


def document(out: Path) -> dict[str, Any]:
    """What was spent through a gateway, as `--json` prints it; an unknown is None."""
    manifest = read_manifest(out)
    check_record(out)
    return {
        "run": str(out),
        "kind": GATEWAY,
        "finished": manifest["ended"] is not None,
        "simulated": manifest["simulated"],
        "spent": read_metered(out),
        "refused": read_refusals(out),
    }
