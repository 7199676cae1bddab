"""``SimilarWords``: a search query for words annotated like a suspect, and a mass edit that corrects them."""

from __future__ import annotations

from dataclasses import dataclass

from arcwise.treebanks import Sentence
from arcwise.treebanks.search.syntax import quoted_value


@dataclass(frozen=True)
class SimilarWords:
    """Words with the same lemma, UPOS and label under heads with the same UPOS."""

    query: str
    """For ``arcwise search``."""
    changes: str
    """The proposal as a mass edit of the hits; empty if no relation leads to the proposed head."""

    @classmethod
    def of(cls, sentence: Sentence, word: int, proposed_head: int, proposed_label: str) -> SimilarWords:
        """Describe a word (1..n) and its proposal (head -1: none).

        The proposed head is described by its relation to the word: the head of its head or a sibling, with
        its UPOS, its label and its side.
        """
        heads, labels, upos = sentence.heads.tolist(), ["", *sentence.deprels], ["", *sentence.upos]
        lemma = sentence.lemmas[word - 1]
        lexical = ("form", sentence.forms[word - 1]) if lemma == "_" else ("lemma", lemma)
        tests = _tests(lexical, ("upos", upos[word]), ("deprel", labels[word]))
        head = heads[word]
        query = (
            f"@word[{tests} head=0]"
            if head == 0
            else f"@word[{tests}] < @head[{_tests(('upos', upos[head]))}]"
        )
        changes = []
        if proposed_head not in (-1, head):
            path = _path(heads, labels, upos, word, proposed_head)
            if path is None:
                return cls(query, "")
            query += path
            changes.append("word.head=@new" if proposed_head else "word.head=0")
        if proposed_head >= 0 and proposed_label != labels[word]:
            changes.append(f"word.deprel={quoted_value(proposed_label)}")
        return cls(query, "; ".join(changes))


def _path(heads: list[int], labels: list[str], upos: list[str], word: int, new: int) -> str | None:
    """The part of a query that leads to the proposed head, as ``@new``; None if it is no close relative."""
    head = heads[word]
    if new == 0:
        return ""
    if head <= 0:
        return None
    tests, side = _tests(("upos", upos[new])), ".." if word < new else ",,"
    if heads[head] == new:
        return f"; @head < @new[{tests}]"
    if heads[new] == head:
        return f"; @head > {quoted_value(labels[new])} @new[{tests}]; @word {side} @new"
    return None


def _tests(*pairs: tuple[str, str]) -> str:
    return " ".join(f"{name}={quoted_value(value)}" for name, value in pairs)
