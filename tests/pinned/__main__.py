"""`python -m tests.pinned --update [SUBSTRING]`: rewrite the expected files, and print which cells have changed."""

import sys
import time

from tests.pinned.cases import CASES, Output
from tests.pinned.compared import differences, write
from tests.pinned.stage import HERE, stage

EXPECTED = HERE / "expected"


def main(arguments: list[str]) -> int:
    """Check the cases whose names contain the substring or, with --update, write them."""
    update = "--update" in arguments
    patterns = [argument for argument in arguments if not argument.startswith("--")]
    changed = 0
    with stage():
        for case in CASES:
            if patterns and not any(part in case.name for part in patterns):
                continue
            output, start = Output(), time.monotonic()
            case.play(output)
            changes = differences(EXPECTED, case.name, output.texts, output.data)
            changed += bool(changes)
            for line in changes if "--all" in arguments else changes[:40]:
                sys.stdout.write(f"{line}\n")
            if len(changes) > 40 and "--all" not in arguments:
                sys.stdout.write(f"{case.name}: and {len(changes) - 40} more (--all shows them)\n")
            if "--times" in arguments:
                sys.stdout.write(f"{time.monotonic() - start:6.2f} s  {case.name}\n")
            if update:
                write(EXPECTED, case.name, output.texts, output.data)
    sys.stdout.write(f"{changed} case(s) {'written anew' if update else 'differ'}.\n")
    return 0 if update or not changed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
