"""Open and load models of every kind by name; ``arcwise.models.training`` trains them."""

from arcwise.models.registry import (
    KINDS,
    load,
    model_path,
    open_model,
    open_packed,
    shipped_models,
    trainable,
    written_by,
)

__all__ = [
    "KINDS",
    "load",
    "model_path",
    "open_model",
    "open_packed",
    "shipped_models",
    "trainable",
    "written_by",
]
