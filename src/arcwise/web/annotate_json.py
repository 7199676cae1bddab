"""A sentence as the JSON that the page of ``arcwise annotate`` draws; docs/reference/annotate-api.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arcwise.treebanks import COLUMNS, Sentence
from arcwise.trees.text_width import is_right_to_left

_PROPOSED = "HeadProb="
NOTE = "note"
"""Comments ``# note = …`` are notes."""


def sentence_json(sentence: Sentence, number: int, version: str) -> dict[str, Any]:
    """What the file has: comments, notes, rows and what is decided."""
    lines = sentence.comment_lines
    return {
        "number": number,
        "version": version,
        "sent_id": sentence.sent_id,
        "text": sentence.text,
        "direction": "rtl" if is_right_to_left(" ".join(sentence.forms)) else "ltr",
        "comments": lines,
        "notes": [line.partition("=")[2].strip() for line in lines if line.partition("=")[0].strip() == NOTE],
        "rows": [row_json(fields) for fields in sentence.rows],
    }


def row_json(fields: Sequence[str]) -> dict[str, str]:
    """One row: its ten fields by name, what kind of row it is, and whether its head is decided.

    >>> row_json("1 Hi _ INTJ _ _ 0 root _ HeadProb=0.9".split())["state"]
    'proposed'
    """
    row = dict(zip(COLUMNS, fields, strict=True))
    kind = "multiword" if "-" in row["id"] else "empty" if "." in row["id"] else "word"
    return {**row, "kind": kind, "state": state_of(row["head"], row["misc"])}


def state_of(head: str, misc: str) -> str:
    """``decided``, ``proposed`` (by a parser, in the file) or ``open``.

    >>> state_of("3", "_"), state_of("3", "SpaceAfter=No|HeadProb=0.7"), state_of("_", "_")
    ('decided', 'proposed', 'open')
    """
    if head == "_":
        return "open"
    return "proposed" if any(pair.startswith(_PROPOSED) for pair in misc.split("|")) else "decided"


def overview_json(sentence: Sentence, number: int) -> dict[str, Any]:
    """One line of the list of sentences."""
    states = [
        state_of("_" if h < 0 else str(h), m) for h, m in zip(sentence.heads[1:], sentence.misc, strict=True)
    ]
    return {
        "number": number,
        "sent_id": sentence.sent_id,
        "text": sentence.text,
        "words": len(sentence),
        "decided": states.count("decided"),
        "open": states.count("open"),
        "value": None,
    }


def thoughts_json(thoughts: Any) -> dict[str, Any] | None:
    """What the parser thinks of each word, by the ID of the word."""
    if thoughts is None:
        return None
    second = thoughts.second_best
    return {
        "words": {str(at): _thought_json(thought) for at, thought in enumerate(thoughts.words, 1)},
        "entropy": thoughts.entropy,
        "second_best": second and _tree_json(*second),
        "note": thoughts.note,
    }


def _tree_json(heads: Sequence[int], labels: Sequence[str], probability: float | None) -> dict[str, Any]:
    return {
        "heads": {str(at): int(head) for at, head in enumerate(heads, 1)},
        "labels": {str(at): label for at, label in enumerate(labels, 1)},
        "probability": probability,
    }


def _thought_json(thought: Any) -> dict[str, Any]:
    names = (
        "decided_head",
        "decided_label",
        "head",
        "label",
        "probability",
        "label_probability",
        "entropy",
        "gain",
    )
    alternatives = [[int(head), label, p] for head, label, p in thought.alternatives]
    return {**{name: getattr(thought, name) for name in names}, "alternatives": alternatives}
