"""Logs of Inspect, written and read."""
