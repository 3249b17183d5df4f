"""The release notes of a version: its part of CHANGELOG.md. `python -m tools.notes VERSION`"""

import re
import sys

from tools.environments import ROOT


def notes(changelog: str, version: str) -> str:
    """Return the text under the version's heading; raises LookupError if there is none."""
    match = re.search(rf"^## {re.escape(version)}(?: [^\n]*)?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if match is None or not match[1].strip():
        raise LookupError(f"CHANGELOG.md says nothing about {version}.")
    return match[1].strip() + "\n"


def main() -> None:
    """Print the notes."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        sys.stdout.write(notes((ROOT / "CHANGELOG.md").read_text(), sys.argv[1]))
    except LookupError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
