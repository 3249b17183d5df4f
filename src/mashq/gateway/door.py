"""The old name of `mashq.gateway.model`; import from there. Kept through 0.2."""

from mashq.gateway.model import Endpoint, Failure, Model

__all__ = ["Endpoint", "Failure", "Model"]
