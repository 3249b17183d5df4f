"""The `reader` detector: the embedded model with a small adapter, combined with grounding's features."""
