"""Pure functions over results."""
