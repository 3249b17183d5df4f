"""Detectors: anything that maps (source, answer, reference) to H in [0, 1]; 1 = fully supported."""

from mashq.detectors.base import Detector, Pair, load

__all__ = ["Detector", "Pair", "load"]
