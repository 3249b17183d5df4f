"""A read-only dashboard for run directories: the list of runs, a match live or replayed, an item, a comparison."""
