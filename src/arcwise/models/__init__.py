"""Models by name: every kind opened and loaded; ``arcwise.models.training`` trains one."""

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
