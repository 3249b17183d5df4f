"""Players: who makes the moves."""
