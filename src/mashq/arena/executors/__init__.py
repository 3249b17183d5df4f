"""Where the matches of a run are played."""
