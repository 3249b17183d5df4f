"""The package version, which is recorded in every run's manifest."""

__version__ = "0.2.0.dev0"
