"""The reader of meaning: the embedded model with a small adapter, beside grounding's features."""
