"""The meaning of the query language, read directly from its page (docs/reference/search.md): one sentence at
a time, all choices of words tried. Nothing of ``arcwise.treebanks.search`` is used. A query comes as a text
together with what it means.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
Row = dict[str, str]


@dataclass(frozen=True)
class Slow:
    """A sentence: its comments and its words; word 1 is ``rows[0]``."""

    comments: dict[str, str]
    rows: list[Row]

    @property
    def words(self) -> range:
        return range(1, len(self.rows) + 1)

    def head(self, word: int) -> int | None:
        text = self.rows[word - 1]["head"]
        return None if text == "_" else int(text)

    def above(self, word: int) -> list[int]:
        """The words above a word, the nearest first."""
        found = []
        while (head := self.head(word)) is not None and head > 0:
            found.append(head)
            word = head
        return found

    def to_conllu(self) -> str:
        comments = "".join(f"# {key} = {value}\n" for key, value in self.comments.items())
        return comments + "".join("\t".join(r[c] for c in COLUMNS) + "\n" for r in self.rows) + "\n"


# ---- properties


def dominates(s: Slow, top: int, word: int) -> bool:
    return top == word or top in s.above(word)


def projective(s: Slow, word: int) -> str:
    head = s.head(word)
    if head is None:
        return "_"
    between = range(min(head, word) + 1, max(head, word))
    return "yes" if head == 0 or all(dominates(s, head, w) for w in between) else "no"


def depth(s: Slow, word: int) -> int | None:
    path = [word, *s.above(word)]
    return len(path) if s.head(path[-1]) == 0 else None


def get(s: Slow, word: int | None, name: str) -> Any:
    """A property of a word: text, a number, or None where a number is not there."""
    first, _, rest = name.partition(".")
    if rest and first in ("head", "prev", "next"):
        other = None
        if word is not None:
            other = {"head": s.head(word) or 0, "prev": word - 1, "next": word + 1}[first]
        return get(s, other if other in s.words else None, rest)
    numbers = ("id", "head", "distance", "depth", "children")
    if word is None:
        return None if name in numbers else "_"
    head = s.head(word)
    if name in numbers:
        return {
            "id": word,
            "head": head,
            "distance": abs(word - head) if head else None,
            "depth": depth(s, word),
            "children": sum(s.head(w) == word for w in s.words),
        }[name]
    row = s.rows[word - 1]
    if first in ("feats", "misc") and rest:
        pairs = dict(p.partition("=")[::2] for p in row[first].split("|") if p != "_")
        return pairs.get(rest, "_")
    if name == "udeprel":
        return row["deprel"].split(":")[0]
    return projective(s, word) if name == "projective" else row[name]


def get_of_sentence(s: Slow, name: str) -> Any:
    if name == "length":
        return len(s.rows)
    if name == "roots":
        return sum(s.head(w) == 0 for w in s.words)
    if name == "projective":
        return "no" if any(projective(s, w) == "no" for w in s.words) else "yes"
    if name == "text":
        return s.comments.get("text") or " ".join(r["form"] for r in s.rows)
    return s.comments.get("sent_id" if name == "sent_id" else name.removeprefix("comment."), "_")


COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def compare(value: Any, sign: str, wanted: list[str]) -> bool:
    if sign.startswith("!"):
        return not compare(value, sign[1:], wanted)
    if sign == "~":
        return re.search(wanted[0], value) is not None
    if sign == "=":
        if isinstance(value, str):
            return value in wanted
        return any((value is None) if w == "_" else value == float(w) for w in wanted)
    try:
        return bool(COMPARE[sign](float(value), float(wanted[0])))
    except (ValueError, TypeError):
        return False


# ---- relations


def related(s: Slow, a: int, sign: str, low: int, high: int, b: int) -> bool:
    """Whether b stands in the relation to a; low and high count for the doubled signs."""
    if sign in (">", "<", ".", ","):
        sign, low, high = sign * 2, 1, 1
    if sign == ">>":
        return a in s.above(b)[low - 1 : high]
    if sign == "<<":
        return b in s.above(a)[low - 1 : high]
    if sign == "..":
        return low <= b - a <= high
    if sign == ",,":
        return low <= a - b <= high
    if sign == "$":
        return a != b and s.head(a) is not None and s.head(a) == s.head(b)
    assert sign == "=="
    return a == b


# ---- values of small treebanks

UPOS, LABELS, LEMMAS, FEATS = (
    ("NOUN", "VERB", "DET"),
    ("nsubj", "obj", "nsubj:pass", "det"),
    ("be", "bee", "a b", "|"),
    ("_", "Case=Acc", "Case=Nom|Number=Sing"),
)
MISC = ("_", "P=0.25", "P=0.75|SpaceAfter=No", "P=x")
TEXTS: dict[str, tuple[str, ...]] = {
    "upos": UPOS, "lemma": LEMMAS, "form": ("a", "b", ";"), "deprel": LABELS, "udeprel": ("nsubj", "obj"),
    "feats": FEATS, "feats.Case": ("Acc", "Nom", "_"), "feats.Number": ("Sing", "_"),
    "misc.P": ("0.25", "0.75", "_"), "projective": ("yes", "no"),
}  # fmt: skip
NUMBERS = ("id", "head", "distance", "depth", "children")
TEXTS_OF_SENTENCES: dict[str, tuple[str, ...]] = {
    "sent_id": ("x", "y", "_"), "text": ("a text",), "comment.genre": ("f", "g", "_"),
    "projective": ("yes", "no"),
}  # fmt: skip
DOUBLED = (">>", "<<", "..", ",,")
BOUNDS = ((1, 99, ""), (2, 2, "{2}"), (2, 99, "{2,}"), (1, 2, "{1,2}"))
SOME_LABELS = ("nsubj", "obj|det", '~"subj"')


@dataclass(frozen=True)
class Said:
    """A text and whether it holds: of a word, or of two."""

    text: str
    holds: Callable[..., bool]


def quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w:]+", text) else f'"{text}"'


def _values(sign: str, wanted: list[str]) -> tuple[str, list[str]]:
    """As they are written, and what is meant."""
    if sign.endswith("~"):
        return f'"{wanted[0]}"', [wanted[0].replace('\\"', '"')]
    return "|".join(map(quoted, wanted)), wanted


def word_test(path: str, sign: str, wanted: list[str], blank: str = "") -> Said:
    text, meant = _values(sign, wanted)
    return Said(f"{path}{blank}{sign}{blank}{text}", lambda s, w: compare(get(s, w, path), sign, meant))


def sentence_test(name: str, sign: str, wanted: list[str], blank: str = "") -> Said:
    text, meant = _values(sign, wanted)
    return Said(f"{name}{blank}{sign}{blank}{text}", lambda s: compare(get_of_sentence(s, name), sign, meant))


def relation(sign: str, bounds: tuple[int, int, str] = BOUNDS[0], label: str = "") -> Said:
    low, high, written = bounds

    def holds(s: Slow, a: int, b: int) -> bool:
        if not related(s, a, sign, low, high, b):
            return False
        deprel = s.rows[(b if sign == ">" else a) - 1]["deprel"]
        return not label or (("subj" in deprel) if label[0] == "~" else deprel in label.split("|"))

    return Said(f"{sign}{written} {label}", holds)


@dataclass
class SlowPattern:
    """Words with what must hold of them, and of pairs."""

    words: dict[str, list[Said]] = field(default_factory=dict)
    links: list[tuple[str, Said, str]] = field(default_factory=list)

    def holds(self, s: Slow, chosen: dict[str, int]) -> bool:
        return all(c.holds(s, chosen[name]) for name, cs in self.words.items() for c in cs) and all(
            r.holds(s, chosen[a], chosen[b]) for a, r, b in self.links
        )


@dataclass
class SlowQuery:
    """A query with its meaning."""

    text: str
    found: SlowPattern
    without: list[SlowPattern]
    sentence: list[Said]

    def hits(self, treebank: list[Slow]) -> Iterator[tuple[int, dict[str, int]]]:
        names = list(self.found.words)
        for number, s in enumerate(treebank):
            for choice in product(s.words, repeat=len(names)):
                chosen = dict(zip(names, choice, strict=True))
                if (
                    len(set(choice)) == len(choice)
                    and all(c.holds(s) for c in self.sentence)
                    and self.found.holds(s, chosen)
                    and not any(self._there(w, s, chosen) for w in self.without)
                ):
                    yield number, chosen

    @staticmethod
    def _there(pattern: SlowPattern, s: Slow, chosen: dict[str, int]) -> bool:
        own = [name for name in pattern.words if name not in chosen]
        choices = product(s.words, repeat=len(own))
        return any(pattern.holds(s, {**chosen, **dict(zip(own, c, strict=True))}) for c in choices)
