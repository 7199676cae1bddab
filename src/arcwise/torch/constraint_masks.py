"""Constraints as a mask over score tensors, and spans; made on the CPU, once."""

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


def constrained(
    scores: ScoreTensors, batch_shape: torch.Size, constraints: Any, labels: Sequence[str] | None
) -> ScoreTensors:
    """The scores with -inf where something is ruled out, and the spans that must be subtrees.

    ``constraints``: a bool tensor, True for what may be, of the shape of the scores or of arcs (…, N+1, N+1); or ``Constraints``, one
    for all sentences, or a list with one or None for each. The latter need the lengths on the CPU.
    """
    if isinstance(constraints, Tensor):
        mask, spans = _given_mask(scores, batch_shape, constraints), scores.spans
    else:
        each = one_for_each(
            constraints, len(scores.values), expected="Constraints, a list of them, or a bool tensor"
        )
        if all(known is None for known in each):
            return scores
        mask = _mask(scores, each, labels)
        spans = tuple(() if known is None else tuple(known.subtrees) for known in each)
    values = scores.values.masked_fill(~mask, MINUS_INFINITY)
    return replace(scores, values=values, spans=spans if any(spans) else (), _found={})


def _given_mask(scores: ScoreTensors, batch_shape: torch.Size, mask: Tensor) -> Tensor:
    own = scores.values.shape[1:]
    side = scores.size
    if mask.dtype != torch.bool:
        raise InputError(f"constraints: found a tensor of {mask.dtype}, expected bool, True for what may be")
    if scores.label_dim is not None and mask.shape == (*batch_shape, *own):
        return mask.reshape(-1, *own)
    try:
        arcs = mask.expand(*batch_shape, side, side).reshape(-1, side, side)
    except RuntimeError:
        raise InputError(
            f"constraints: found a mask of shape {tuple(mask.shape)}, expected {(*batch_shape, side, side)}"
        ) from None
    return arcs if scores.label_dim is None else arcs.unsqueeze(scores.label_dim)


def _mask(scores: ScoreTensors, each: list[Constraints | None], labels: Sequence[str] | None) -> Tensor:
    shape = list(scores.values.shape)
    if scores.label_dim == 3:  # labels first while it is filled in, as Constraints.mask has them
        shape.insert(1, shape.pop(3))
    names = labels
    if scores.label_dim is not None and names is None:  # a number of labels: constraints cannot name any
        names = [str(number) for number in range(shape[1])]
    mask = np.ones(shape, np.bool_)
    for s, (known, n) in enumerate(zip(each, scores.lengths.tolist(), strict=True)):
        if known is not None:
            mask[s, ..., : n + 1, : n + 1] = known.mask(n, scores.trees, names)
    found = torch.from_numpy(mask)
    if scores.label_dim == 3:
        found = found.permute(0, 2, 3, 1)
    return found.to(scores.values.device)
