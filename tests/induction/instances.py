"""Small random induction tasks."""

from __future__ import annotations

import numpy as np

from arcwise.induction import ArcShare, TagSentences


def tiny(
    seed: int, *, sentences: int = 3, shortest: int = 1, longest: int = 4, tags: int = 3
) -> TagSentences:
    """A few short random sentences."""
    rng = np.random.default_rng(seed)
    names = "ABC"[: int(rng.integers(1, tags + 1))]
    count = int(rng.integers(1, sentences + 1))
    lengths = rng.integers(shortest, longest + 1, count)
    return TagSentences.from_tags([[names[t] for t in rng.integers(0, len(names), n)] for n in lengths])


def random_share(seed: int) -> ArcShare:
    """A constraint with random rules."""
    rng = np.random.default_rng(seed)
    pairs = [(h, c) for h in ("ROOT", "A", "B", "C") for c in "ABC"]
    return ArcShare(frozenset(p for p in pairs if rng.random() < 0.5), float(rng.choice([0.5, 0.75, 0.9])))
