"""Detectors made of published neural networks."""
