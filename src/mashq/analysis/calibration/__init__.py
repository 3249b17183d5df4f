"""Simulated players fitted to recorded ones."""
