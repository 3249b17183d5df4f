"""The YAML configuration, checked strictly: unknown and duplicate keys are errors that suggest the nearest one."""

from mashq.config.load import changed, check, load, parse, together_of, values_of
from mashq.config.schema import (
    NO_MODEL,
    BudgetConfig,
    Config,
    ModelConfig,
    PerItem,
    PlayerConfig,
    RulesConfig,
    ScoreConfig,
    SimulateConfig,
    Strict,
    TaskConfig,
)
from mashq.errors import nearest

__all__ = [
    "NO_MODEL",
    "BudgetConfig",
    "Config",
    "ModelConfig",
    "PerItem",
    "PlayerConfig",
    "RulesConfig",
    "ScoreConfig",
    "SimulateConfig",
    "Strict",
    "TaskConfig",
    "changed",
    "check",
    "load",
    "nearest",
    "parse",
    "together_of",
    "values_of",
]
