"""Release tools: `python -m tools.lock`, `minimum`, `pythons`, `package`, `sbom`, `audit`, `notes`.

And `mutants`, which measures how many faults the tests catch.
"""
