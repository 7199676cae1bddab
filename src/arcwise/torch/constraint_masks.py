"""Apply constraints to score tensors: a mask, computed once on the CPU, and spans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from arcwise.errors import InputError
from arcwise.inference.constraints import Constraints, one_for_each
from arcwise.torch.label_sums import MINUS_INFINITY
from arcwise.torch.score_tensors import ScoreTensors


def apply_constraints(
    scores: ScoreTensors, batch_shape: torch.Size, constraints: Any, labels: Sequence[str] | None
) -> ScoreTensors:
    """Return the scores with -inf for excluded arcs, and the spans that must be subtrees.

    ``constraints``: a bool tensor, True for allowed arcs, of the shape of the scores or of arcs (…, N+1,
    N+1); or ``Constraints``, one for all sentences, or a list with one or None for each, which need the
    lengths on the CPU."""
    if isinstance(constraints, Tensor):
        mask, spans = _expand_mask(scores, batch_shape, constraints), scores.spans
    else:
        each = one_for_each(
            constraints, len(scores.values), expected="Constraints, a list of them, or a bool tensor"
        )
        if all(entry is None for entry in each):
            return scores
        mask = _mask(scores, each, labels)
        spans = tuple(() if entry is None else tuple(entry.subtrees) for entry in each)
    values = scores.values.masked_fill(~mask, MINUS_INFINITY)
    return replace(scores, values=values, spans=spans if any(spans) else (), _cache={})


def _expand_mask(scores: ScoreTensors, batch_shape: torch.Size, mask: Tensor) -> Tensor:
    shape = scores.values.shape[1:]
    side = scores.size
    if mask.dtype != torch.bool:
        raise InputError(
            f"constraints: found a tensor of {mask.dtype}, expected bool, True for what is allowed"
        )
    if scores.label_dim is not None and mask.shape == (*batch_shape, *shape):
        return mask.reshape(-1, *shape)
    try:
        arcs = mask.expand(*batch_shape, side, side).reshape(-1, side, side)
    except RuntimeError:
        raise InputError(
            f"constraints: found a mask of shape {tuple(mask.shape)}, expected {(*batch_shape, side, side)}"
        ) from None
    return arcs if scores.label_dim is None else arcs.unsqueeze(scores.label_dim)


def _mask(scores: ScoreTensors, each: list[Constraints | None], labels: Sequence[str] | None) -> Tensor:
    shape = list(scores.values.shape)
    if scores.label_dim == 3:  # Constraints.mask has labels first; permuted at the end
        shape.insert(1, shape.pop(3))
    names = labels
    if (
        scores.label_dim is not None and names is None
    ):  # labels without names: constraints cannot refer to any
        names = [str(number) for number in range(shape[1])]
    mask = np.ones(shape, np.bool_)
    for s, (entry, n) in enumerate(zip(each, scores.lengths.tolist(), strict=True)):
        if entry is not None:
            mask[s, ..., : n + 1, : n + 1] = entry.mask(n, scores.trees, names)
    tensor = torch.from_numpy(mask)
    if scores.label_dim == 3:
        tensor = tensor.permute(0, 2, 3, 1)
    return tensor.to(scores.values.device)
