"""Open and load models of every kind by name; ``training`` trains, ``install`` installs them."""

from arcwise.models.installed import InstalledModel, installed_models, shipped_models
from arcwise.models.registry import (
    KINDS,
    load,
    model_path,
    open_model,
    open_packed,
    trainable,
    written_by,
)

__all__ = [
    "KINDS",
    "InstalledModel",
    "installed_models",
    "load",
    "model_path",
    "open_model",
    "open_packed",
    "shipped_models",
    "trainable",
    "written_by",
]
