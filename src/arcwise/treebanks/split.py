"""Split a treebank into train, dev and test, by sentence or by document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np

from arcwise.errors import InputError
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.treebank import Treebank


def split(
    treebank: Treebank,
    *,
    shares: Mapping[str, float],
    by: Literal["sentence", "document"] = "sentence",
    seed: int | None = None,
) -> dict[str, Treebank]:
    """Split ``treebank`` into named parts whose word counts are roughly proportional to ``shares``.

    by: the unit that stays together; a document starts at a ``# newdoc`` comment. seed: draw the units at
    random; without it, parts are contiguous. Each part keeps the order of the file, and every sentence is in
    exactly one part.

    >>> bank = Treebank.from_string("1\\ta\\t_\\t_\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n" * 10)
    >>> parts = split(bank, shares={"train": 8, "dev": 1, "test": 1}, seed=1)
    >>> {name: len(part) for name, part in parts.items()}
    {'train': 8, 'dev': 1, 'test': 1}
    """
    _check_shares(shares)
    units = _documents(treebank) if by == "document" else [[sentence] for sentence in treebank]
    if len(units) < len(shares):
        raise InputError(
            f"{treebank.source}: found {len(units)} {by}s, expected at least {len(shares)}, one per part"
        )
    order = np.arange(len(units)) if seed is None else np.random.default_rng(seed).permutation(len(units))
    bounds = _bounds(np.array([sum(map(len, units[u])) for u in order]), list(shares.values()))
    parts = {}
    for name, first, last in zip(shares, bounds, bounds[1:], strict=False):
        chosen = [sentence for u in sorted(order[first:last]) for sentence in units[u]]
        parts[name] = Treebank.from_sentences(chosen, source=treebank.source)
    return parts


def _check_shares(shares: Mapping[str, float]) -> None:
    for name, share in shares.items():
        if not share > 0:
            raise InputError(f"shares: found {share} for {name!r}, expected a number above 0")
    if len(shares) < 2:
        raise InputError(f"shares: found {len(shares)} part, expected at least 2")


def _documents(treebank: Treebank) -> list[list[Sentence]]:
    documents: list[list[Sentence]] = []
    for sentence in treebank:
        starts = any(
            line.split("=")[0].split() in (["newdoc"], ["newdoc", "id"]) for line in sentence.comment_lines
        )
        if starts or not documents:
            documents.append([])
        documents[-1].append(sentence)
    return documents


def _bounds(words: np.ndarray[tuple[int], np.dtype[np.int64]], shares: list[float]) -> list[int]:
    """Choose the cuts whose word counts are closest to the shares, such that no part is empty."""
    before = np.concatenate([[0], np.cumsum(words)])
    goals = np.cumsum(shares)[:-1] / sum(shares) * before[-1]
    bounds = [0]
    for number, goal in enumerate(goals, 1):
        cut = int(np.abs(before - goal).argmin())
        bounds.append(min(max(cut, bounds[-1] + 1), len(words) - (len(shares) - number)))
    return [*bounds, len(words)]
