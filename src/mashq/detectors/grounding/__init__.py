"""The default detector: how much of an answer its source supports, from wording, numbers and names."""
