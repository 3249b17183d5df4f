"""The bill of materials of the package: CycloneDX 1.6 as JSON, from the metadata of what is installed here.

    python -m tools.sbom [EXTRA …] [-o FILE]

Lists what `pip install mashq[EXTRA,…]` brings in this environment: names, versions, licences, who needs whom. The
same environment gives the same file: there is no time in it, and its serial number is made from what it says.
"""

import argparse
import hashlib
import json
import re
import sys
import uuid
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from tools.environments import ROOT, normal, project

SPEC = "1.6"
Closure = dict[str, tuple[Distribution, list[str]]]


def asked(extras: frozenset[str]) -> list[Requirement]:
    """What pyproject.toml asks for, with these extras."""
    table = project()
    found = [Requirement(line) for line in table["dependencies"]]
    for extra in extras:
        for requirement in map(Requirement, table["optional-dependencies"][extra]):
            own = requirement.name == table["name"]
            found += asked(frozenset(requirement.extras)) if own else [requirement]
    return found


def closure(extras: frozenset[str]) -> Closure:
    """All that the package needs here: normal name -> its metadata, the normal names of what it needs in turn."""
    found: Closure = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    left = _wanted(asked(extras), frozenset())
    while left:
        name, chosen = left.pop()
        if (name, chosen) in seen:
            continue
        seen.add((name, chosen))
        package = distribution(name)
        needs = found.setdefault(normal(name), (package, []))[1]
        more = _wanted(map(Requirement, package.requires or ()), chosen)
        needs += {normal(other) for other, _ in more} - {normal(name), *needs}
        left += more
    return found


def _wanted(requirements: Iterable[Requirement], extras: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
    def applies(requirement: Requirement) -> bool:
        marker = requirement.marker
        return marker is None or any(marker.evaluate({"extra": extra}) for extra in extras or {""})

    return [(one.name, frozenset(one.extras)) for one in requirements if applies(one)]


def purl(package: Distribution) -> str:
    """The address of a package in the form that tools agree on."""
    return f"pkg:pypi/{normal(package.name)}@{package.version}"


def component(package: Distribution) -> dict[str, Any]:
    """One entry: what it is called, which version, under which licence."""
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package.name,
        "version": package.version,
    }
    if summary := _said(package, "Summary"):
        found["description"] = summary[0]
    classified = [line for line in _said(package, "Classifier") if line.startswith("License ::")]
    if expression := _said(package, "License-Expression"):
        found["licenses"] = [{"expression": expression[0]}]
    elif classified:
        found["licenses"] = [{"license": {"name": line.rpartition(" :: ")[2]}} for line in classified]
    elif (licence := _said(package, "License")) and "\n" not in licence[0].strip():
        found["licenses"] = [{"license": {"name": licence[0].strip()}}]
    return found | {"purl": purl(package)}


def _said(package: Distribution, field: str) -> list[str]:
    return [line for line in package.metadata.get_all(field) or [] if line.strip()]


def bill(extras: frozenset[str], wheel: Path | None) -> dict[str, Any]:
    """The whole document; with the hash of the wheel where there is one."""
    table, found = project(), closure(extras)
    own = f"pkg:pypi/{normal(table['name'])}@{table['version']}"
    subject: dict[str, Any] = {"type": "application", "bom-ref": own, "name": table["name"]}
    subject |= {"version": table["version"], "description": table["description"]}
    subject |= {"licenses": [{"expression": table["license"]}], "purl": own}
    if wheel is not None:
        subject["hashes"] = [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}]
    direct = {normal(name) for name, _ in _wanted(asked(extras), frozenset())}
    needs = [{"ref": own, "dependsOn": sorted(purl(found[at][0]) for at in direct)}]
    needs += [
        {"ref": purl(package), "dependsOn": sorted(purl(found[other][0]) for other in others)}
        for _, (package, others) in sorted(found.items())
    ]
    parts = [component(package) for _, (package, _) in sorted(found.items())]
    body = {"metadata": {"component": subject}, "components": parts, "dependencies": needs}
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(body, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": SPEC, "serialNumber": f"urn:uuid:{serial}", "version": 1}
    return head | body


def main() -> None:
    """Write it beside the wheel, or where it is asked for."""
    table = project()
    stem = f"{table['name']}-{table['version']}"
    parser = argparse.ArgumentParser()
    parser.add_argument("extras", nargs="*")
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "dist" / f"{stem}.cdx.json")
    options = parser.parse_args()
    wheel = ROOT / "dist" / f"{re.sub(r'[-.]+', '_', table['name'])}-{table['version']}-py3-none-any.whl"
    try:
        found = bill(frozenset(options.extras), wheel if wheel.is_file() else None)
    except PackageNotFoundError as error:
        sys.exit(f"{error.name} is not installed here, so the list would not be whole.")
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    print(f"{options.out}: {table['name']} {table['version']} and {len(found['components'])} packages it needs")


if __name__ == "__main__":
    main()
