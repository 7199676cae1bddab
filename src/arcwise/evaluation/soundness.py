"""What is wrong with the trees of a file that is scored all the same."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from arcwise.treebanks import ProblemKind, Treebank

_EXAMPLES = 5


@dataclass(frozen=True)
class Soundness:
    """How many things of each kind are wrong with a file, with the first few in words."""

    source: str
    problems: dict[str, int]
    """The problems that ``arcwise validate`` lists, by kind."""
    multiple_roots: int
    """Sentences with more than one root."""
    no_root: int
    """Sentences without a root."""
    missing_heads: int
    """Words without a usable head: they count as wrong."""
    examples: tuple[str, ...]

    @property
    def is_sound(self) -> bool:
        """Whether every sentence is a tree with one root."""
        return not (self.problems or self.multiple_roots or self.no_root or self.missing_heads)

    def __str__(self) -> str:
        parts = [f"{count} × {kind}" for kind, count in self.problems.items()]
        for count, what in (
            (self.multiple_roots, "sentence{} with several roots"),
            (self.no_root, "sentence{} without a root"),
            (self.missing_heads, "word{} without a head"),
        ):
            if count:
                parts.append(f"{count} {what.format('s' * (count != 1))}")
        return f"{self.source}: {', '.join(parts) or 'sound'}"

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


def soundness(treebank: Treebank) -> Soundness:
    """Look a treebank over. O(W)."""
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
