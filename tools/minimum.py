"""Are the lowest versions that pyproject.toml names enough? The core tests with every dependency it names at them."""

from tools.environments import LOCK, TESTERS, clean, project


def main() -> None:
    """Install them on this interpreter, which should be the oldest supported, and test."""
    with clean() as environment:
        environment.install("--resolution", "lowest-direct", ".")
        named = {line.partition(">=")[0].replace(".", "-") for line in project()["dependencies"]}
        lowest = [line for line in environment.installed() if line.partition("==")[0] in named]
        environment.install("--constraint", LOCK, *TESTERS)
        print(f"{', '.join(lowest)}: {environment.core_tests()}")


if __name__ == "__main__":
    main()
