"""The core tests on every supported Python that is on this machine; those that are not here are named.

python -m tools.pythons [VERSION …]
"""

import sys

from tools.environments import TESTERS, VERSIONS, Unreachable, clean, interpreters, locked


def main() -> None:
    """One clean environment an interpreter, in the locked versions."""
    found = interpreters()
    for version in sys.argv[1:] or VERSIONS:
        if version not in found:
            print(f"Python {version}: not on this machine, not tested")
            continue
        try:
            with clean(found[version]) as environment, locked() as versions:
                environment.install("-c", versions, ".", *TESTERS)
                print(f"Python {version}: {environment.core_tests()}", flush=True)
        except Unreachable as error:
            print(f"Python {version}: skipped, {error}")


if __name__ == "__main__":
    main()
