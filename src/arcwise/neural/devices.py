"""Where a network is trained: asked before work starts."""

from __future__ import annotations

from arcwise.errors import OptionError
from arcwise.optional import require


def check_device(name: str) -> str:
    """``cpu`` or ``cuda`` for ``auto``, ``cpu`` or ``cuda``; ``MissingExtraError`` without torch, ``OptionError`` without the GPU asked for."""
    require("torch")
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise OptionError("device", "found cuda, but torch finds no GPU here; expected cpu or auto")
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return name
