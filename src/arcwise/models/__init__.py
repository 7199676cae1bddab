"""Models by name: every kind opened, loaded and trained."""

from arcwise.models.registry import (
    KINDS,
    load,
    model_path,
    open_model,
    open_packed,
    shipped_models,
    trainable,
)
from arcwise.models.training import precision_cost, train_parser

__all__ = [
    "KINDS",
    "load",
    "model_path",
    "open_model",
    "open_packed",
    "precision_cost",
    "shipped_models",
    "train_parser",
    "trainable",
]
