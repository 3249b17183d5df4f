"""The run directory: a manifest and an append-only SQLite file of attempts and moves."""
