"""Build the site: docs/ and the pages generated from the code are collected in build/docs and become build/site.

python -m tools.docs            build; fails on any warning
python -m tools.docs --stage    only collect the pages
"""

import shutil
import subprocess
import sys
from pathlib import Path

from tools.docs.reference import pages

ROOT = Path(__file__).parent.parent.parent
STAGE = ROOT / "build" / "docs"


def stage(folder: Path) -> None:
    """Collect all pages of the site in one folder: written, generated, and from the project's root."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "docs", folder)
    generated = pages() | {
        name.lower(): (ROOT / name).read_text("utf-8").replace("](docs/", "](")
        for name in ("CONTRIBUTING.md", "CHANGELOG.md")
    }
    for name, text in generated.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def main(arguments: list[str]) -> int:
    """Collect the pages and build the site."""
    stage(STAGE)
    if "--stage" in arguments:
        return 0
    result = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", str(ROOT / "mkdocs.yml")],
        check=False,
    )
    if result.returncode == 0:
        print("The site is in build/site: open build/site/index.html.")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
