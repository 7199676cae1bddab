"""Parser proposals in a file: accepting them as annotation, and withdrawing those that contradict an edit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arcwise.annotation.states import is_proposed, proposal_text
from arcwise.annotation.suggestions import SentenceSuggestions, WordSuggestion
from arcwise.errors import InputError
from arcwise.treebanks import Sentence
from arcwise.treebanks.edits import Accept, Edit, SetField
from arcwise.trees import find_cycle

ARC = ("head", "deprel")
"""The columns of an arc, which are accepted together unless others are named."""


def acceptance_edits(
    sentence: Sentence,
    suggestions: SentenceSuggestions | None,
    *,
    words: Sequence[str] | None = None,
    columns: Sequence[str] = ARC,
    threshold: float | None = None,
) -> list[Edit]:
    """The edits that accept suggestions as annotation.

    words: IDs of the words to accept (None: all). columns: columns to accept, head and label by default.
    threshold: accept only values that are at least this probable (a head and its label together); a tag
    without a probability never is. Without a parser (``suggestions`` is None), the proposals that the file
    contains are accepted, with all their columns.
    """
    if words is not None:
        unknown = set(words) - {str(m) for m in range(1, len(sentence) + 1)}
        if unknown:
            raise InputError(f"words: {min(unknown)!r} is not the ID of a word of the sentence")
    if suggestions is None:
        return _accept_file_proposals(sentence, words, threshold)
    edits: list[Edit] = []
    tags = [column for column in columns if column not in ARC]
    arcs = len(tags) < len(columns)
    for m, word in enumerate(suggestions.words, 1):
        if words is not None and str(m) not in words:
            continue
        edits += _accept_tags(str(m), word, tags, threshold)
        if arcs and not (word.decided_head and word.decided_label) and _reaches(word, threshold):
            edits += [edit for edit in _accept_word(str(m), word) if edit.column in columns]
    return edits


def _accept_tags(
    row: str, word: WordSuggestion, columns: Sequence[str], threshold: float | None
) -> list[SetField]:
    return [
        SetField(row, column, word.tags[column])
        for column in columns
        if column in word.tags
        and (threshold is None or word.tag_probabilities.get(column, -1.0) >= threshold)
    ]


def _reaches(word: WordSuggestion, threshold: float | None) -> bool:
    if threshold is None:
        return True
    if word.label_probability is None:
        raise InputError("threshold: the parser gives no probabilities; leave the threshold out")
    return word.label_probability >= threshold


def _accept_word(row: str, word: WordSuggestion) -> list[SetField]:
    edits: list[SetField] = []
    if not word.decided_head and word.head >= 0:
        edits.append(SetField(row, "head", str(word.head)))
    if not word.decided_label and word.label != "_":
        edits.append(SetField(row, "deprel", word.label))
    return edits


def _accept_file_proposals(
    sentence: Sentence, words: Sequence[str] | None, threshold: float | None
) -> list[Edit]:
    accepted = []
    for m, misc in enumerate(sentence.misc, 1):
        if words is not None and str(m) not in words:
            continue
        label = proposal_text(misc, "deprel")
        probability = proposal_text(misc, "head") if label is None else label
        if probability is not None and (threshold is None or _number(m, probability) >= threshold):
            accepted.append(str(m))
    return [Accept(tuple(accepted))] if accepted else []


def _number(word: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"row {word}: the probability {text!r} in MISC is not a number") from None


def retraction_edits(sentence: Sentence, edits: Sequence[Edit]) -> list[Edit]:
    """The edits that clear proposals of the file with which newly set heads would form a cycle.

    A proposal never prevents a person's decision. Cycles among decisions stay, for validation to report.

    >>> row = "{}\\tw\\t_\\t_\\t_\\t_\\t{}\\tx\\t_\\t{}\\n"
    >>> from arcwise.treebanks import Treebank
    >>> rows = row.format(1, 2, "HeadProb=0.6") + row.format(2, 0, "_") + "\\n"
    >>> retraction_edits(Treebank.from_string(rows)[0], [SetField("2", "head", "1")])
    [SetField(row='1', column='head', value='_'), SetField(row='1', column='deprel', value='_')]
    """
    # A copy, since heads are cleared in it to look for further cycles.
    heads = sentence.heads.copy()
    new_heads = {
        int(e.row): e.value
        for e in edits
        if isinstance(e, SetField) and e.column == "head" and e.row.isdecimal()
    }
    for word, value in new_heads.items():
        if 0 < word < len(heads) and value.isdecimal() and int(value) < len(heads):
            heads[word] = int(value)
    proposed = {
        word for word, misc in enumerate(sentence.misc, 1) if is_proposed(misc, "head")
    } - new_heads.keys()
    retractions: list[Edit] = []
    # A loop, because clearing one cycle can leave another one.
    while new_heads and (cycle := sorted(proposed & set(find_cycle(np.ascontiguousarray(heads, np.int32))))):
        for word in cycle:
            heads[word] = -1
            retractions += [SetField(str(word), "head", "_"), SetField(str(word), "deprel", "_")]
        proposed -= set(cycle)
    return retractions
