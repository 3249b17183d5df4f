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


def verdict(said: str, errors: str) -> tuple[str, int]:
    """What pip-audit told, in words, and what to exit with. What it could not look up counts as not checked."""
    try:
        told = json.loads(said)
    except ValueError:
        why = (errors.strip().splitlines() or ["it said nothing"])[-1]
        return f"NOT CHECKED: pip-audit could not be run or got no answer from its advisory service ({why}).", 0
    packages = told["dependencies"]
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if len(skipped) == len(packages):
        return "NOT CHECKED: the advisory service knows none of the packages, so it is not a whole one.", 0
    known = findings(told)
    lines = [*known, f"{len(known)} advisories against {len(packages) - len(skipped)} packages"]
    lines += [f"NOT CHECKED: {', '.join(skipped)}"] if skipped else []
    return "\n".join(lines), 1 if known else 0


def main() -> None:
    """Ask, and say what was heard."""
    found = closure(frozenset(sys.argv[1:]))
    lines = [f"{name}=={package.version}" for name, (package, _) in sorted(found.items())]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requirements.txt"
        path.write_text("\n".join(lines) + "\n")
        command = [sys.executable, *COMMAND, "--format", "json", "-r", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    words, code = verdict(done.stdout, done.stderr)
    print(words)
    sys.exit(code)


if __name__ == "__main__":
    main()
