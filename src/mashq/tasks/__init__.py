"""Tasks: where the items of a match come from."""
