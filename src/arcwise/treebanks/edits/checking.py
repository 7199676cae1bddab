"""No edit makes a sentence that our own reader cannot read."""

from __future__ import annotations

from collections import Counter

from arcwise import native
from arcwise.errors import InputError
from arcwise.treebanks.edits.edited_sentence import EditedSentence
from arcwise.treebanks.problems import OF_TREES, Problem, ProblemKind
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.treebank import Treebank


def checked_sentence(data: bytes) -> EditedSentence:
    """The sentence to be edited; it remembers what is wrong with its rows. ``InputError`` if it is no sentence."""
    treebank = Treebank(data, strict=False)
    if len(treebank) != 1:
        raise InputError(f"found {len(treebank)} sentences, expected the bytes of one")
    sentence = EditedSentence(data)
    sentence.unsound = next((p.message for p in treebank.problems if p.kind not in OF_TREES), None)
    return sentence


def check_readable(before: bytes, after: bytes, *, added: int = 0) -> None:
    """``InputError`` if ``after`` has a problem that ``before`` had not, or not as many sentences and ``added``."""
    old = native.treebank_layout(before)
    new = Treebank(after, strict=False)
    if not new.layout.problems and len(new) == old.sentence_count + added:
        return
    had = Counter(kind for kind, *_ in old.problems)
    for problem in new.problems:
        had[problem.kind] -= 1
        if had[problem.kind] < 0:
            raise InputError(_told(new[problem.sentence], problem))
    if len(new) != old.sentence_count + added:
        raise InputError(f"found {len(new)} sentences after the edit, expected {old.sentence_count + added}")


def _told(sentence: Sentence, problem: Problem) -> str:
    if problem.kind != ProblemKind.CYCLE:
        return problem.message
    heads, forms = sentence.heads.tolist(), sentence.forms
    path = _cycle(heads)
    return f"head: found the cycle {' → '.join(f'{w} ({forms[w - 1]})' for w in path)}, expected a tree"


def _cycle(heads: list[int]) -> list[int]:
    """The words of the first cycle, each followed by its head, from the lowest back to it."""
    for word in range(1, len(heads)):
        path = [word]
        while heads[path[-1]] > 0 and heads[path[-1]] not in path:
            path.append(heads[path[-1]])
        if heads[path[-1]] == word:
            return [*path, word]
    return []
