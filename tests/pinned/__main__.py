"""`python -m tests.pinned --update [SUBSTRING]`: write the expected files anew, and say which cells have changed."""

import sys
import time

from tests.pinned.cases import CASES, Found
from tests.pinned.compared import differences, write
from tests.pinned.stage import HERE, stage

EXPECTED = HERE / "expected"


def main(arguments: list[str]) -> int:
    """Check the cases whose names hold the substring or, with --update, write them."""
    update = "--update" in arguments
    wanted = [one for one in arguments if not one.startswith("--")]
    changed = 0
    with stage():
        for case in CASES:
            if wanted and not any(part in case.name for part in wanted):
                continue
            found, start = Found(), time.monotonic()
            case.play(found)
            told = differences(EXPECTED, case.name, found.texts, found.data)
            changed += bool(told)
            for line in told if "--all" in arguments else told[:40]:
                sys.stdout.write(f"{line}\n")
            if len(told) > 40 and "--all" not in arguments:
                sys.stdout.write(f"{case.name}: and {len(told) - 40} more (--all shows them)\n")
            if "--times" in arguments:
                sys.stdout.write(f"{time.monotonic() - start:6.2f} s  {case.name}\n")
            if update:
                write(EXPECTED, case.name, found.texts, found.data)
    sys.stdout.write(f"{changed} case(s) {'written anew' if update else 'differ'}.\n")
    return 0 if update or not changed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
