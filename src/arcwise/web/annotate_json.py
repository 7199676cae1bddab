"""JSON of sentences and suggestions for the annotation page; documented in docs/reference/annotate-api.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arcwise.annotation.states import field_state, proposal_probability, word_states
from arcwise.annotation.suggestions import SentenceSuggestions, SuggestionChange, WordSuggestion
from arcwise.inference import LabelledArc
from arcwise.treebanks import COLUMNS, Sentence
from arcwise.treebanks.edits import notes_of
from arcwise.trees.draw import is_right_to_left

Json = dict[str, Any]


def sentence_json(sentence: Sentence, number: int, version: str) -> Json:
    """The contents of the file: comments, notes, rows and annotation states."""
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
    """One row: its ten fields by name, its kind, and the annotation state of its head, label and UPOS.

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
        "upos_state": field_state(row["upos"], row["misc"], "upos"),
    }


def overview_json(sentence: Sentence, number: int, *, tags: bool) -> Json:
    """One entry of the list of sentences, with the number of words in each state (``word_states``)."""
    states = word_states(sentence, tags=tags)
    return {
        "number": number,
        "sent_id": sentence.sent_id,
        "text": sentence.text,
        "words": len(sentence),
        "decided": states.count("decided"),
        "proposed": states.count("proposed"),
        "open": states.count("open"),
    }


def thoughts_json(suggestions: SentenceSuggestions | None) -> Json | None:
    """The suggestions, by word ID; None without a parser."""
    if suggestions is None:
        return None
    second = suggestions.second_best
    return {
        "words": {str(m): thought_json(word) for m, word in enumerate(suggestions.words, 1)},
        "entropy": suggestions.entropy,
        "probability": suggestions.probability,
        "second_best": second
        and {
            "heads": {str(m): int(head) for m, head in enumerate(second.heads, 1)},
            "labels": {str(m): label for m, label in enumerate(second.labels, 1)},
            "probability": second.probability,
        },
        "note": suggestions.note,
        "clash": [str(word) for word in suggestions.clash],
    }


def thought_json(word: WordSuggestion) -> Json:
    """The suggestion for one word."""
    return {
        "decided_head": word.decided_head,
        "decided_label": word.decided_label,
        "head": word.head,
        "label": word.label,
        "probability": word.probability,
        "label_probability": word.label_probability,
        "entropy": word.entropy,
        "gain": word.gain,
        "alternatives": [[arc.head, arc.label, arc.probability] for arc in _offered(word)],
        "tags": dict(word.tags),
        "tag_probabilities": dict(word.tag_probabilities),
    }


def _offered(word: WordSuggestion) -> list[LabelledArc]:
    """The alternatives, except arcs labelled root whose head is a word, unless suggested.

    A parser trained on little data gives them some probability, but they are never what an annotator wants.
    """
    return [
        arc
        for arc in word.alternatives
        if arc.head == 0 or arc.label != "root" or (arc.head, arc.label) == (word.head, word.label)
    ]


def changed_json(before: SentenceSuggestions | None, after: Json, rows: Sequence[str]) -> list[Json]:
    """The suggestions that changed with an edit, and the row that caused it: the only edited row, else None.

    Empty if words were split or joined, since word numbers then differ.
    """
    words = after["words"]
    # Without earlier suggestions everything would look changed.
    if before is None or len(before.words) != len(words):
        return []
    changed = []
    for m, was in enumerate(before.words, 1):
        now = words[str(m)]
        is_suggestion = not (now["decided_head"] and now["decided_label"]) and str(m) not in rows
        if is_suggestion and (was.head, was.label) != (now["head"], now["label"]):
            because = rows[0] if len(rows) == 1 else None
            changed.append(_changed(m, (was.head, was.label), (now["head"], now["label"]), because))
    return changed


def reason_json(change: SuggestionChange) -> Json:
    """A changed suggestion and its cause."""
    because = None if change.because is None else str(change.because)
    return _changed(change.word, change.was, change.now, because)


def _changed(word: int, was: tuple[int, str], now: tuple[int, str], because: str | None) -> Json:
    return {"row": str(word), "was": list(was), "now": list(now), "because": because and {"row": because}}
