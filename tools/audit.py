"""Are advisories known against what the package brings? pip-audit over the versions that are installed here.

    python -m tools.audit [EXTRA …]

Exits with 1 for findings. Where the advisory service does not answer nothing is known, which is said, with 0.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tools.sbom import closure

COMMAND = ("-m", "uv", "tool", "run", "pip-audit", "--no-deps", "--disable-pip", "--progress-spinner", "off")


def findings(told: dict[str, Any]) -> list[str]:
    """A line an advisory."""
    return [
        f"{package['name']} {package['version']}: {known['id']}, fixed in {', '.join(known['fix_versions'])}"
        for package in told["dependencies"]
        for known in package.get("vulns", ())
    ]


def main() -> None:
    """Ask, and say what was heard."""
    found = closure(frozenset(sys.argv[1:]))
    lines = [f"{name}=={package.version}" for name, (package, _) in sorted(found.items())]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.txt"
        path.write_text("\n".join(lines) + "\n")
        command = [sys.executable, *COMMAND, "--format", "json", "-r", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        told = json.loads(done.stdout)
    except ValueError:
        why = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        print(f"NOT CHECKED: pip-audit could not be run or got no answer from its advisory service ({why}).")
        return
    skipped = [package["name"] for package in told["dependencies"] if "skip_reason" in package]
    known = findings(told)
    print("\n".join([*known, f"{len(known)} advisories against {len(lines) - len(skipped)} packages"]))
    if skipped:
        print(f"Nothing is known about {', '.join(skipped)}.")
    sys.exit(1 if known else 0)


if __name__ == "__main__":
    main()
