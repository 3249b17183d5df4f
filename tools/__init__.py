"""What a release needs: `python -m tools.lock`, `minimum`, `pythons`, `package`, `sbom`, `audit`, `notes`; and `mutants`."""
