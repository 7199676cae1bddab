"""Arc constraints and alternatives in the MISC column.

Constraints, read with ``ParseOptions.misc_constraints``: ``Head=3`` (the head is word 3; 0 is the root),
``Head=2,5`` (one of these), ``NotHead=2,5`` (none of these), ``Deprel=obj`` (the label). Alternatives,
written by parsers: ``Alternatives=3:obj:0.6120,5:nmod:poss:0.2100``, the most probable head-label pairs
first, each with its joint probability; the label is ``_`` for unlabelled parsers.
"""

from __future__ import annotations

from collections.abc import Sequence

from arcwise.errors import InputError
from arcwise.inference import Alternative, Constraints, LabelledArc, likeliest_arcs
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.field_values import ALTERNATIVES, alternatives_text, pairs, read_alternatives

LEAST = 5e-5
"""Smaller probabilities would be written as 0.0000."""

_CONSTRAINTS = ("Head", "NotHead", "Deprel")


def format_alternatives(alternatives: Sequence[Alternative], k: int) -> str:
    """The MISC pair with the ``k`` most probable head-label pairs of a word; "" if there are none.

    >>> format_alternatives([Alternative(2, 0.75, (("nmod:poss", 0.7), ("obl", 0.05)))], 2)
    'Alternatives=2:nmod:poss:0.7000,2:obl:0.0500'
    """
    arcs = alternatives_text(likeliest_arcs(alternatives, k))
    return f"{ALTERNATIVES}={arcs}" if arcs else ""


def sentence_alternatives(sentence: Sentence) -> list[list[LabelledArc]] | None:
    """The alternatives of every word of a sentence; None if no word has any."""
    by_word = [read_alternatives(misc) if ALTERNATIVES in misc else [] for misc in sentence.misc]
    return by_word if any(by_word) else None


def read_constraints(treebank: Treebank) -> list[Constraints | None]:
    """Read the constraints of each sentence; raises ``InputError`` for an invalid value."""
    # Most files have no constraints, and a scan of the bytes is cheaper than splitting MISC.
    if not any(f"{key}=".encode() in treebank.data for key in _CONSTRAINTS):
        return [None] * len(treebank)
    return [_of_sentence(sentence) for sentence in treebank]


def sentence_name(sentence: Sentence) -> str:
    """The file and the sent_id (or number) of a sentence, for messages."""
    return f"{sentence.treebank.source} ({sentence.sent_id or f'sentence {sentence.number + 1}'})"


def _of_sentence(sentence: Sentence) -> Constraints | None:
    n = len(sentence)
    required: list[tuple[int, int]] = []
    forbidden: list[tuple[int, int]] = []
    labels: dict[int, str] = {}
    for m, misc in enumerate(sentence.misc, start=1):
        attributes = pairs(misc, bare=False)
        where = f"{sentence_name(sentence)}, MISC of word {m}"
        if "Head" in attributes:
            allowed = _heads(attributes["Head"], "Head", m, n, where)
            required += [(allowed[0], m)] if len(allowed) == 1 else []
            forbidden += [(h, m) for h in range(n + 1) if h != m and h not in allowed]
        if "NotHead" in attributes:
            forbidden += [(h, m) for h in _heads(attributes["NotHead"], "NotHead", m, n, where)]
        if "Deprel" in attributes:
            if attributes["Deprel"] in ("", "_"):
                raise InputError(f"{where}: found Deprel={attributes['Deprel']}, expected a label")
            labels[m] = attributes["Deprel"]
    return Constraints(required, forbidden, labels) if required or forbidden or labels else None


def _heads(value: str, key: str, m: int, n: int, where: str) -> list[int]:
    # isascii too: isdecimal alone accepts the digits of other scripts.
    heads = [int(part) if part.isdecimal() and part.isascii() else -1 for part in value.split(",")]
    if any(not 0 <= h <= n or h == m for h in heads):
        raise InputError(
            f"{where}: found {key}={value}, expected other words of the sentence (0..{n}), separated by "
            "commas"
        )
    return heads
