"""A sentence as the JSON that the page of ``arcwise annotate`` draws; docs/reference/annotate-api.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arcwise.annotation.states import is_proposed
from arcwise.annotation.suggestions import SentenceSuggestions, SuggestionChange, WordSuggestion
from arcwise.inference import LabelledArc
from arcwise.treebanks import COLUMNS, Sentence
from arcwise.treebanks.edits import notes_of
from arcwise.trees.text_width import is_right_to_left

Json = dict[str, Any]


def sentence_json(sentence: Sentence, number: int, version: str) -> Json:
    """What the file has: comments, notes, rows and what is decided."""
    lines = sentence.comment_lines
    return {
        "number": number,
        "version": version,
        "sent_id": sentence.sent_id,
        "text": sentence.text,
        "direction": "rtl" if is_right_to_left(" ".join(sentence.forms)) else "ltr",
        "comments": lines,
        "notes": [{"on": note.on, "text": note.text} for note in notes_of(lines)],
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
    return "proposed" if is_proposed(misc, "head") else "decided"


def _word_state(head: str, label: str, misc: str) -> str:
    state = state_of(head, misc)
    if state != "decided":
        return state
    if label == "_":
        return "open"
    return "proposed" if is_proposed(misc, "deprel") else "decided"


def overview_json(sentence: Sentence, number: int) -> Json:
    """One line of the list of sentences. A word is decided here when its head and its label are; one of which only the head is, is proposed
    where a parser proposed the label, and open otherwise."""
    columns = zip(sentence.heads[1:], sentence.deprels, sentence.misc, strict=True)
    states = [_word_state("_" if h < 0 else str(h), label, misc) for h, label, misc in columns]
    return {
        "number": number,
        "sent_id": sentence.sent_id,
        "text": sentence.text,
        "words": len(sentence),
        "decided": states.count("decided"),
        "proposed": states.count("proposed"),
        "open": states.count("open"),
    }


def thoughts_json(thoughts: SentenceSuggestions | None) -> Json | None:
    """What the parser thinks of each word, by the ID of the word; None without a parser."""
    if thoughts is None:
        return None
    second = thoughts.second_best
    return {
        "words": {str(m): thought_json(thought) for m, thought in enumerate(thoughts.words, 1)},
        "entropy": thoughts.entropy,
        "probability": thoughts.probability,
        "second_best": second
        and {
            "heads": {str(m): int(head) for m, head in enumerate(second.heads, 1)},
            "labels": {str(m): label for m, label in enumerate(second.labels, 1)},
            "probability": second.probability,
        },
        "note": thoughts.note,
        "clash": [str(word) for word in thoughts.clash],
    }


def thought_json(thought: WordSuggestion) -> Json:
    """What it thinks of one word."""
    return {
        "decided_head": thought.decided_head,
        "decided_label": thought.decided_label,
        "head": thought.head,
        "label": thought.label,
        "probability": thought.probability,
        "label_probability": thought.label_probability,
        "entropy": thought.entropy,
        "gain": thought.gain,
        "alternatives": [[arc.head, arc.label, arc.probability] for arc in _offered(thought)],
        "tags": dict(thought.tags),
        "upos_probability": thought.upos_probability,
    }


def _offered(thought: WordSuggestion) -> list[LabelledArc]:
    """Its alternatives without the label root below another head than 0, unless that is what is proposed: a parser that has learned little
    gives it some probability, and nobody means it."""
    return [
        arc
        for arc in thought.alternatives
        if arc.head == 0 or arc.label != "root" or (arc.head, arc.label) == (thought.head, thought.label)
    ]


def changed_json(before: SentenceSuggestions | None, after: Json, rows: Sequence[str]) -> list[Json]:
    """The words whose proposal is another one after an edit of some rows, and the row whose decision did it: the only one that changed,
    else None. Nothing is told if words were split or joined."""
    words = after["words"]
    if before is None or len(before.words) != len(words):
        return []
    found = []
    for m, was in enumerate(before.words, 1):
        now = words[str(m)]
        is_proposal = not (now["decided_head"] and now["decided_label"]) and str(m) not in rows
        if is_proposal and (was.head, was.label) != (now["head"], now["label"]):
            because = rows[0] if len(rows) == 1 else None
            found.append(_changed(m, (was.head, was.label), (now["head"], now["label"]), because))
    return found


def reason_json(reason: SuggestionChange) -> Json:
    """Why a proposal is another one than it would be if nothing were decided."""
    because = None if reason.because is None else str(reason.because)
    return _changed(reason.word, reason.was, reason.now, because)


def _changed(word: int, was: tuple[int, str], now: tuple[int, str], because: str | None) -> Json:
    return {"row": str(word), "was": list(was), "now": list(now), "because": because and {"row": because}}
