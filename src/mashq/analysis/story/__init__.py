"""A match told in sentences."""
