"""Check on a GPU whether heads form trees: ``native/kernels/inference/are_trees.cu``."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from arcwise.torch.cuda.launcher import Launcher, fields

_BLOCKS_AT_ONCE = 16
"""Blocks per multiprocessor; each loops over rows."""


class _AreTreesArguments(ctypes.Structure):
    _fields_ = fields(
        "heads lengths found",
        "",
        "rows rows_a_sentence side projective single_root",
    )


def are_trees(
    launcher: Launcher, heads: Tensor, lengths: Tensor, projective: bool, single_root: bool
) -> Tensor:
    """See ``TreeBackend.are_trees``."""
    sentences, count, side = heads.shape
    rows = sentences * count
    flags = launcher.empty((sentences, count), torch.uint8)
    if rows:
        arguments = _AreTreesArguments()
        arguments.heads, arguments.lengths = heads.data_ptr(), lengths.data_ptr()
        arguments.found = flags.data_ptr()
        arguments.rows, arguments.rows_a_sentence, arguments.side = rows, count, side
        arguments.projective, arguments.single_root = projective, single_root
        launcher.launch(
            "are_trees.cu",
            "are_trees",
            arguments,
            blocks=min(rows, _BLOCKS_AT_ONCE * launcher.multiprocessors),
            threads=min(32 if side <= 32 else 64 if side <= 64 else 128, launcher.threads_limit),
            shared=4 * (3 * side + 2),
        )
    return flags.view(torch.bool)
