"""Run directories, written and read: the manifest, and the SQLite file of attempts, moves and results."""
