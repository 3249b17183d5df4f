"""Release tools, run as `python -m tools.NAME`: `minimum`, `pythons`, `package`, `sbom`, `notes`, `docs`, `picture`.

And `mutants`, which measures how many planted faults the tests catch.
"""
