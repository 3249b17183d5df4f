"""Is what pyproject.toml calls enough enough? The core tests with every dependency at its lowest stated version."""

import re
import sys

from tools.environments import LOCK, TESTERS, Unreachable, clean, pins, project


def lowest(requirements: list[str]) -> list[str]:
    """`name>=version` as `name==version`; every dependency must state a lower bound, and nothing else."""
    found: list[str] = []
    for requirement in requirements:
        stated = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
        if stated is None:
            sys.exit(f"{requirement}: state the lowest version that works, as in name>=1.2")
        found.append(f"{stated[1]}=={stated[2]}")
    return found


def main() -> None:
    """Install them on this interpreter, which should be the oldest supported, and test."""
    at_least = lowest(project()["dependencies"])
    try:
        with clean() as environment:
            testers = [pin for pin in pins(LOCK.read_text()) if pin.split("==")[0] in TESTERS]
            environment.install(*at_least, *testers)
            environment.install("--no-deps", ".")
            environment.run("python", "-m", "pip", "check")
            print(f"{', '.join(at_least)}: {environment.core_tests()}")
    except Unreachable as error:
        print(f"Skipped: {error}.")


if __name__ == "__main__":
    main()
