"""The locked development environment: versions and hashes of everything `mashq[dev]` needs, on every platform.

    python -m tools.lock            write requirements/dev.lock, the newest versions that pyproject.toml permits
    python -m tools.lock --check    does the lock hold all that pyproject.toml asks for? Needs no network
    python -m tools.lock --pins     its versions without the hashes, to be used as constraints

Torch is not in it (nor what else the extra `hhem` brings): which build is right depends on the machine.
"""

import re
import subprocess
import sys
from collections.abc import Iterator

from packaging.requirements import Requirement

from tools.environments import LOCK, ROOT, normal, pins, project

HEADER = """\
# The development environment, locked; `make lock` writes this file. Torch is not in it: see docs/releasing.md.
"""


def wanted() -> Iterator[Requirement]:
    """The requirements of the extra `dev`, its own extras unfolded."""
    table = project()
    left = [*table["dependencies"], *table["optional-dependencies"]["dev"]]
    while left:
        requirement = Requirement(left.pop())
        if requirement.name == table["name"]:
            left += [line for extra in requirement.extras for line in table["optional-dependencies"][extra]]
        else:
            yield requirement


def unmet() -> list[str]:
    """What pyproject.toml asks for and the lock does not hold, or holds in another version."""
    held: dict[str, list[str]] = {}
    for pin in map(Requirement, pins(LOCK.read_text())):
        held.setdefault(normal(pin.name), []).append(next(iter(pin.specifier)).version)
    return [
        str(asked)
        for asked in wanted()
        if not any(asked.specifier.contains(version) for version in held.get(normal(asked.name), []))
    ]


def write() -> None:
    """Resolve anew, for every platform and every Python that is supported."""
    lowest = re.sub(r"[^\d.]", "", project()["requires-python"])
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--python-version", lowest]
    command += ["--generate-hashes", "--upgrade", "--no-header", "--no-annotate", "--no-emit-index-url"]
    command += ["--extra", "dev", "pyproject.toml"]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT).stdout
    if "://" in found:
        sys.exit("The lock would name where packages were found: it must hold versions and hashes alone.")
    LOCK.parent.mkdir(exist_ok=True)
    LOCK.write_text(HEADER + found)
    print(f"{LOCK.relative_to(ROOT)}: {len(pins(found))} packages")


def main() -> None:
    """Write, check or print."""
    match sys.argv[1:]:
        case []:
            write()
        case ["--check"]:
            if missing := unmet():
                sys.exit(f"requirements/dev.lock does not hold {', '.join(missing)}: run make lock.")
        case ["--pins"]:
            print("\n".join(pins(LOCK.read_text())))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
