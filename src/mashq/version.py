"""Which version this is: what a run's manifest says of who played it."""

__version__ = "0.2.0.dev0"
