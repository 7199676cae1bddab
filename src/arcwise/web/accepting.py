"""Proposals made decisions: the edits that write what a parser proposes into the file."""

from __future__ import annotations

from collections.abc import Sequence

from arcwise.annotation.thoughts import Thought, Thoughts
from arcwise.errors import InputError
from arcwise.treebanks import Sentence
from arcwise.treebanks.edits import Accept, Edit, SetField


def accepting(
    sentence: Sentence,
    thoughts: Thoughts | None,
    *,
    words: Sequence[str] | None = None,
    threshold: float | None = None,
) -> list[Edit]:
    """The edits that accept the proposals of some words (None: of all), or of those whose head and label are at least so probable.

    Without a parser, the proposals that stand in the file are meant.
    """
    if words is not None:
        unknown = set(words) - {str(m) for m in range(1, len(sentence) + 1)}
        if unknown:
            raise InputError(f"words: found {min(unknown)!r}, expected IDs of words of the sentence")
    if thoughts is None:
        return _of_the_file(sentence, words, threshold)
    edits: list[Edit] = []
    for m, thought in enumerate(thoughts.words, 1):
        wanted = words is None or str(m) in words
        if wanted and not (thought.decided_head and thought.decided_label) and _is_sure(thought, threshold):
            edits += _decided(str(m), thought)
    return edits


def _is_sure(thought: Thought, threshold: float | None) -> bool:
    if threshold is None:
        return True
    if thought.label_probability is None:
        raise InputError("threshold: the parser gives no probabilities, expected none")
    return thought.label_probability >= threshold


def _decided(row: str, thought: Thought) -> list[Edit]:
    edits: list[Edit] = []
    if not thought.decided_head and thought.head >= 0:
        edits.append(SetField(row, "head", str(thought.head)))
    if not thought.decided_label and thought.label != "_":
        edits.append(SetField(row, "deprel", thought.label))
    return edits


def _of_the_file(sentence: Sentence, words: Sequence[str] | None, threshold: float | None) -> list[Edit]:
    chosen = []
    for m, misc in enumerate(sentence.misc, 1):
        said = dict(pair.partition("=")[::2] for pair in misc.split("|"))
        sure = said.get("DeprelProb", said.get("HeadProb"))
        wanted = words is None or str(m) in words
        if sure is not None and wanted and (threshold is None or _number(m, sure) >= threshold):
            chosen.append(str(m))
    return [Accept(tuple(chosen))] if chosen else []


def _number(word: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(f"row {word}: found the probability {text!r} in MISC, expected a number") from None
