"""Run the core tests with every dependency at the lowest version that pyproject.toml allows."""

from tools.environments import LOCK, TESTERS, clean, project


def main() -> None:
    """Install the lowest versions on this interpreter, which should be the oldest supported, and test."""
    with clean() as environment:
        environment.install("--resolution", "lowest-direct", ".")
        dependencies = {line.partition(">=")[0].replace(".", "-") for line in project()["dependencies"]}
        lowest = [line for line in environment.installed() if line.partition("==")[0] in dependencies]
        environment.install("--constraint", LOCK, *TESTERS)
        print(f"{', '.join(lowest)}: {environment.core_tests()}")


if __name__ == "__main__":
    main()
