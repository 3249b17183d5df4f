"""Is what would be released whole? Builds sdist and wheel, checks what is in them, installs the wheel and plays.

The wheel holds every tracked file of the package and nothing else; the wheel made from the sdist is the same, byte
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
RELEASE = ROOT / ".venv" / "release"  # the wheel and what it needs; `make sbom` and `make audit` look at it
INSTALLED = RELEASE / "installed.txt"  # what it needs, as requirements
PACKAGE = "src/mashq/"
MATCH = """\
players:
  - {name: A, model: simulated/a}
  - {name: B, model: simulated/b}
task: {limit: 4}
"""


def tracked() -> set[str]:
    """The files of the project, as git knows them."""
    listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    return {name for name in listed.splitlines() if (ROOT / name).is_file()}


def build(kind: str, source: Path, out: Path) -> Path:
    """An sdist or a wheel of a tree, by the build backend that is installed (and locked) here."""
    command = [sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", str(out), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"The {kind} could not be built:\n{done.stdout}{done.stderr}")
    (found,) = out.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return found


def same(what: str, held: set[str], expected: set[str]) -> None:
    """End the program unless two lists of files are one."""
    wrong = [f"{name} is missing" for name in expected - held] + [
        f"{name} does not belong" for name in held - expected
    ]
    if wrong:
        sys.exit(f"{what}: {'; '.join(sorted(wrong))}")


def check_wheel(wheel: Path, files: set[str]) -> None:
    """Code, data, prompts, pages, fitted trees: all of the package, none of the rest."""
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    same(wheel.name, held, {name.removeprefix("src/") for name in files if name.startswith(PACKAGE)})


def check_sdist(sdist: Path, files: set[str]) -> None:
    """Everything that is tracked, but for what serves the repository alone."""
    with tarfile.open(sdist) as archive:
        held = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    same(sdist.name, held - {"PKG-INFO"}, {name for name in files if not name.startswith(".ci/")})


def check_rebuilt(wheel: Path, sdist: Path) -> None:
    """The sdist makes the same wheel."""
    with tempfile.TemporaryDirectory() as name:
        with tarfile.open(sdist) as archive:
            archive.extractall(name, filter="data")
        (tree,) = Path(name).iterdir()
        again = build("wheel", tree, Path(name) / "out")
        first, second = (hashlib.sha256(path.read_bytes()).hexdigest() for path in (wheel, again))
    if first != second:
        sys.exit(f"The wheel made from {sdist.name} is another one than {wheel.name}.")
    print(f"{wheel.name}: sha256 {first}, the same from the tree and from the sdist")


def play(environment: Environment, folder: Path) -> None:
    """The command as a user first meets it."""
    (folder / "match.yaml").write_text(MATCH)
    for command in ("--help", "--version", "doctor", "detectors", "paper"):
        environment.run("mashq", command, cwd=folder)
    environment.run("mashq", "init", "mine.yaml", cwd=folder)
    told = json.loads(environment.run("mashq", "run", "match.yaml", "--out", "run", "--json", cwd=folder))
    for command in ("show", "score", "verify"):
        environment.run("mashq", command, "run", cwd=folder)
    print(f"A clean environment: {environment.run('mashq', '--version').strip()}, {told['winner']} won a match")


def main() -> None:
    """Build, look inside, install, play."""
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
