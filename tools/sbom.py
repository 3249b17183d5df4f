"""The bill of materials of a release: CycloneDX 1.6 for what `make package` built and installed.

cyclonedx-py reads names, versions, licences and who needs whom from the environment. It cannot know which files they
came from: pip tells, with their hashes, and each must be in the lock.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packaging.utils import canonicalize_name

from tools.environments import LOCK, ROOT, project, run
from tools.package import DIST, INSTALLED, RELEASE


def described() -> dict[str, Any]:
    """What cyclonedx-py says of the environment."""
    command = ("environment", "--pyproject", "pyproject.toml", "--spec-version", "1.6", "--output-reproducible")
    return json.loads(run(Path(sys.executable).with_name("cyclonedx-py"), *command, RELEASE))


def reported() -> dict[str, str]:
    """The hash of the file that pip would install here, for each package."""
    command = ("install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps", "--report", "-", "-r", INSTALLED)
    told = json.loads(run(sys.executable, "-m", "pip", *command))
    return {
        canonicalize_name(one["metadata"]["name"]): one["download_info"]["archive_info"]["hashes"]["sha256"]
        for one in told["install"]
    }


def with_hashes(bill: dict[str, Any], wheel: str, files: dict[str, str], lock: str) -> dict[str, Any]:
    """The bill with the hash of the wheel and of each file it needs; ends the program where the lock has another."""
    for part in bill["components"]:
        found = files[canonicalize_name(part["name"])]
        if f"sha256:{found}" not in lock:
            sys.exit(f"{part['name']} {part['version']}: its file is not one of those that are locked.")
        part["hashes"] = [{"alg": "SHA-256", "content": found}]
    subject = bill["metadata"]["component"]
    subject["purl"] = f"pkg:pypi/{subject['name']}@{subject['version']}"
    subject["hashes"] = [{"alg": "SHA-256", "content": wheel}]
    return bill


def main() -> None:
    """Write it beside the wheel."""
    (wheel,) = DIST.glob("*.whl")
    own = hashlib.sha256(wheel.read_bytes()).hexdigest()
    bill = with_hashes(described(), own, reported(), LOCK.read_text())
    text = json.dumps(bill, indent=2, ensure_ascii=False) + "\n"
    if wrong := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"The bill is not CycloneDX 1.6: {wrong}")
    table = project()
    out = DIST / f"{table['name']}-{table['version']}.cdx.json"
    out.write_text(text)
    print(f"{out.relative_to(ROOT)}: {table['name']} {table['version']} and {len(bill['components'])} packages")


if __name__ == "__main__":
    main()
