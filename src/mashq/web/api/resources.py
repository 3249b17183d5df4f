"""The table of resources as the pages get it: nothing that is counted is named in a page."""

from collections.abc import Mapping
from typing import Any

from mashq.protocol.resources import RESOURCES, TABLE, Spend
from mashq.report.text.formatting import is_shown


def table() -> list[dict[str, Any]]:
    """Return every resource: its name, unit and digits, its measures, and whether it is shown even if unspent."""
    return [
        {
            "name": row.name,
            "unit": row.unit,
            "digits": row.digits,
            "measures": list(row.measures),
            "rated": row.rated,
            "always": is_shown(row.name, []),
        }
        for row in TABLE.values()
    ]


def amounts(spend: Mapping[str, Any]) -> dict[str, Any]:
    """Return a stored cost by resource, None where it is unknown, with the number of failed and unknown attempts."""
    cost = Spend.from_json(dict(spend))
    known = {name: cost.amount(name) for name in RESOURCES}
    return {name: amount.total if amount.is_known else None for name, amount in known.items()} | {
        "failed": cost.failed,
        "unknown": cost.unknown,
    }
