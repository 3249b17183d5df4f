"""How many planted faults do the tests catch? `make mutants`, or `python -m tools.mutants --help`."""
