"""Check a release: build sdist and wheel, check their contents, install the wheel and play a match.

The wheel has every tracked file of the package and nothing else; the wheel built from the sdist is the same, byte
for byte; and in a clean environment with no extras the command starts and a simulated match runs to its score.
"""

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tools.environments import LOCK, ROOT, Environment

DIST = ROOT / "dist"
RELEASE = ROOT / ".venv" / "release"  # the wheel and its dependencies; `make sbom` and `make audit` read it
INSTALLED = RELEASE / "installed.txt"  # its dependencies, as requirements
PACKAGE = "src/mashq/"
MATCH = """\
players:
  - {name: A, model: simulated/a}
  - {name: B, model: simulated/b}
task: {limit: 4}
"""


def tracked() -> set[str]:
    """Return the files of the project that git tracks."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return {name for name in listed.splitlines() if (ROOT / name).is_file()}


def build(kind: str, source: Path, out: Path) -> Path:
    """Build an sdist or a wheel of a tree, with the installed (and locked) build backend."""
    command = [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", str(out), str(source)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"The {kind} could not be built:\n{result.stdout}{result.stderr}")
    (artifact,) = out.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return artifact


def same(label: str, actual: set[str], expected: set[str]) -> None:
    """Exit the program unless two sets of files are equal."""
    problems = [f"{name} is missing" for name in expected - actual] + [
        f"{name} does not belong" for name in actual - expected
    ]
    if problems:
        sys.exit(f"{label}: {'; '.join(sorted(problems))}")


def check_wheel(wheel: Path, files: set[str]) -> None:
    """Check that the wheel has all of the package (code, data, prompts, pages, fitted trees) and nothing else."""
    members = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    same(wheel.name, members, {name.removeprefix("src/") for name in files if name.startswith(PACKAGE)})


def check_sdist(sdist: Path, files: set[str]) -> None:
    """Check that the sdist has every tracked file, except those only for the repository."""
    with tarfile.open(sdist) as archive:
        members = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    same(sdist.name, members - {"PKG-INFO"}, {name for name in files if not name.startswith(".ci/")})


def check_rebuilt(wheel: Path, sdist: Path) -> None:
    """Check that the sdist builds the same wheel."""
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(sdist) as archive:
            archive.extractall(name, filter="data")
        (tree,) = Path(name).iterdir()
        rebuilt = build("wheel", tree, Path(name) / "out")
        first, second = (hashlib.sha256(path.read_bytes()).hexdigest() for path in (wheel, rebuilt))
    if first != second:
        sys.exit(f"The wheel made from {sdist.name} is another one than {wheel.name}.")
    print(f"{wheel.name}: sha256 {first}, the same from the tree and from the sdist")


def play(environment: Environment, folder: Path) -> None:
    """Run the commands that a new user tries first."""
    (folder / "match.yaml").write_text(MATCH)
    for command in ("--help", "--version", "doctor", "detectors", "paper"):
        environment.run("mashq", command, cwd=folder)
    environment.run("mashq", "init", "mine.yaml", cwd=folder)
    document = json.loads(environment.run("mashq", "run", "match.yaml", "--out", "run", "--json", cwd=folder))
    for command in ("show", "score", "verify"):
        environment.run("mashq", command, "run", cwd=folder)
    print(f"A clean environment: {environment.run('mashq', '--version').strip()}, {document['winner']} won a match")


def main() -> None:
    """Build, check, install and play."""
    DIST.mkdir(exist_ok=True)
    for old in (*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")):
        old.unlink()
    sdist, wheel, files = build("sdist", ROOT, DIST), build("wheel", ROOT, DIST), tracked()
    check_sdist(sdist, files)
    check_wheel(wheel, files)
    check_rebuilt(wheel, sdist)
    print(f"{len(files)} tracked files, {sum(name.startswith(PACKAGE) for name in files)} of them in the wheel")
    environment = Environment(RELEASE)
    environment.install("--constraint", LOCK, wheel)
    INSTALLED.write_text("\n".join(line for line in environment.installed() if "==" in line) + "\n")
    with tempfile.TemporaryDirectory() as name:
        play(environment, Path(name))


if __name__ == "__main__":
    main()
