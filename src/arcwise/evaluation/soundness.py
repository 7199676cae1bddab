"""Problems of the trees of a file that is scored nevertheless."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from arcwise.treebanks import ProblemKind, Treebank

_EXAMPLES = 5


@dataclass(frozen=True)
class Soundness:
    """Counts of the problems of a file, with a few examples."""

    source: str
    problems: dict[str, int]
    """Counts of the problems that ``arcwise validate`` reports, by kind."""
    multiple_roots: int
    """Sentences with more than one root."""
    no_root: int
    """Sentences without a root."""
    missing_heads: int
    """Words without a usable head; they count as errors."""
    examples: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether every sentence is a tree with one root."""
        return not (self.problems or self.multiple_roots or self.no_root or self.missing_heads)

    def __str__(self) -> str:
        parts = [f"{count} × {kind}" for kind, count in self.problems.items()]
        for count, description in (
            (self.multiple_roots, "sentence{} with several roots"),
            (self.no_root, "sentence{} without a root"),
            (self.missing_heads, "word{} without a head"),
        ):
            if count:
                parts.append(f"{count} {description.format('s' * (count != 1))}")
        return f"{self.source}: {', '.join(parts) or 'sound'}"

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def soundness(treebank: Treebank) -> Soundness:
    """Count the problems of a treebank. O(W)."""
    kinds = Counter(kind for kind, *_ in treebank.layout.problems)
    sentence = np.repeat(np.arange(len(treebank)), treebank.sentence_lengths)
    roots = np.bincount(sentence[treebank.heads == 0], minlength=len(treebank))
    return Soundness(
        treebank.source,
        {ProblemKind(kind).name.lower().replace("_", " "): count for kind, count in sorted(kinds.items())},
        multiple_roots=int((roots > 1).sum()),
        no_root=int((roots == 0).sum()),
        missing_heads=int((treebank.heads < 0).sum()),
        examples=tuple(str(problem) for problem in treebank.first_problems(_EXAMPLES)),
    )
