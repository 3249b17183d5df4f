"""Pure functions over results: intervals, ranking changes, views, the paper's tables. No input or output."""
