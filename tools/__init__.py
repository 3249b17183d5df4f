"""What a release needs: `python -m tools.lock`, `minimum`, `pythons`, `package`, `sbom`, `audit`, `notes`.

And `mutants`: what the tests are worth.
"""
