"""Pure functions over results: intervals, flips, views, the paper's tables. Numbers in, numbers out."""
