"""Comparison of a detector with human ratings."""
