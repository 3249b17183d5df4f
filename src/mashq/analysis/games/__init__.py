"""Matches as games: equilibria and dominance."""
