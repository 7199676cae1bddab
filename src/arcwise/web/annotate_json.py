"""A sentence as the JSON that the page of ``arcwise annotate`` draws; docs/reference/annotate-api.md describes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arcwise.annotation.states import field_state, proposal_probability, word_state
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


def row_json(fields: Sequence[str]) -> Json:
    """One row: its ten fields by name, its kind, and the annotation state of its head and label.

    A proposal's probabilities are null where MISC has none.

    >>> row = row_json("1 Hi _ INTJ _ _ 0 root _ HeadProb=0.9".split())
    >>> row["state"], row["head_probability"], row["label_state"], row["label_probability"]
    ('proposed', 0.9, 'decided', None)
    """
    row = dict(zip(COLUMNS, fields, strict=True))
    kind = "multiword" if "-" in row["id"] else "empty" if "." in row["id"] else "word"
    return {
        **row,
        "kind": kind,
        "state": field_state(row["head"], row["misc"], "head"),
        "head_probability": proposal_probability(row["misc"], "head"),
        "label_state": field_state(row["deprel"], row["misc"], "deprel"),
        "label_probability": proposal_probability(row["misc"], "deprel"),
    }


def overview_json(sentence: Sentence, number: int) -> Json:
    """One entry of the list of sentences, with the number of words in each state.

    A word counts as decided if its head and its label are; see ``word_state``.
    """
    columns = zip(sentence.heads[1:], sentence.deprels, sentence.misc, strict=True)
    states = [
        word_state(field_state("_" if h < 0 else str(h), misc, "head"), field_state(label, misc, "deprel"))
        for h, label, misc in columns
    ]
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
