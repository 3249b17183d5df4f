"""The software bill of materials of a release: CycloneDX 1.6 for what `make package` built and installed.

cyclonedx-py reads names, versions, licences and dependencies from the environment. It cannot know which files they
came from: pip reports these with their hashes, and each must be in the lock.
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
    """Return cyclonedx-py's description of the environment."""
    command = ("environment", "--pyproject", "pyproject.toml", "--spec-version", "1.6", "--output-reproducible")
    return json.loads(run(Path(sys.executable).with_name("cyclonedx-py"), *command, RELEASE))


def reported() -> dict[str, str]:
    """Return the hash of the file that pip would install here, for each package."""
    command = ("install", "--quiet", "--dry-run", "--ignore-installed", "--no-deps", "--report", "-", "-r", INSTALLED)
    report = json.loads(run(sys.executable, "-m", "pip", *command))
    return {
        canonicalize_name(package["metadata"]["name"]): package["download_info"]["archive_info"]["hashes"]["sha256"]
        for package in report["install"]
    }


def with_hashes(bill: dict[str, Any], wheel: str, files: dict[str, str], lock: str) -> dict[str, Any]:
    """Add the hash of the wheel and of each file it needs; exits the program if one is not in the lock."""
    for component in bill["components"]:
        digest = files[canonicalize_name(component["name"])]
        if f"sha256:{digest}" not in lock:
            sys.exit(f"{component['name']} {component['version']}: its file is not one of those that are locked.")
        component["hashes"] = [{"alg": "SHA-256", "content": digest}]
    subject = bill["metadata"]["component"]
    subject["purl"] = f"pkg:pypi/{subject['name']}@{subject['version']}"
    subject["hashes"] = [{"alg": "SHA-256", "content": wheel}]
    return bill


def main() -> None:
    """Write the bill next to the wheel."""
    (wheel,) = DIST.glob("*.whl")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    bill = with_hashes(described(), digest, reported(), LOCK.read_text())
    text = json.dumps(bill, indent=2, ensure_ascii=False) + "\n"
    if errors := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"The bill is not CycloneDX 1.6: {errors}")
    table = project()
    out = DIST / f"{table['name']}-{table['version']}.cdx.json"
    out.write_text(text)
    print(f"{out.relative_to(ROOT)}: {table['name']} {table['version']} and {len(bill['components'])} packages")


if __name__ == "__main__":
    main()
