"""Build the site: docs/ and the pages made from the code, put together in build/docs, become build/site.

python -m tools.docs            build; fails on any warning
python -m tools.docs --stage    only put the pages together
"""

import shutil
import subprocess
import sys
from pathlib import Path

from tools.docs.reference import pages

ROOT = Path(__file__).parent.parent.parent
STAGE = ROOT / "build" / "docs"


def stage(folder: Path) -> None:
    """All pages of the site in one folder: what is written, what is generated, and what stands in the root."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    made = pages() | {
        name.lower(): (ROOT / name).read_text("utf-8").replace("](docs/", "](")
        for name in ("CONTRIBUTING.md", "CHANGELOG.md")
    }
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def main(arguments: list[str]) -> int:
    """Put the pages together and build them."""
    stage(STAGE)
    if "--stage" in arguments:
        return 0
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(ROOT / "mkdocs.yml")],
        check=False,
    )
    if done.returncode == 0:
        print("The site is in build/site: open build/site/index.html.")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
