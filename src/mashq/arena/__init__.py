"""The arena: sets a match up from its configuration and plays it."""
