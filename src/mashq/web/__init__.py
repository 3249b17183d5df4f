"""A read-only dashboard over run directories: the runs, a match live or replayed, an item, two runs compared."""
