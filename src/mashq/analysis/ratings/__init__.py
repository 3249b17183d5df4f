"""Ratings of players from many matches."""
