"""A match summarised in sentences."""
