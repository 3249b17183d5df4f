"""Wire formats of model providers, as pure functions."""
