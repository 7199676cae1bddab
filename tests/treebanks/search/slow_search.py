"""The meaning of the query language, read directly from its page (docs/reference/search.md): one sentence at a time, all choices of
words tried. Nothing of ``arcwise.treebanks.search`` is used. Random queries come as a text together with what it means.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from hypothesis import strategies as st

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
        pairs = dict(p.split("=") for p in row[first].split("|") if p != "_")
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


@dataclass(frozen=True)
class Said:
    """A text and whether it holds: of a word, or of two."""

    text: str
    holds: Callable[..., bool]


# ---- random treebanks

UPOS, LABELS, LEMMAS, FEATS = (
    ("NOUN", "VERB", "DET"),
    ("nsubj", "obj", "nsubj:pass", "det"),
    ("be", "bee", "a b", "|"),
    ("_", "Case=Acc", "Case=Nom|Number=Sing"),
)
MISC = ("_", "P=0.25", "P=0.75|SpaceAfter=No", "P=x")


@st.composite
def sentences(draw: st.DrawFn) -> Slow:
    """Up to six words with any heads that make no cycle, some unknown."""
    size = draw(st.integers(1, 6))
    order = draw(st.permutations(range(1, size + 1)))
    rows: list[Row] = [{} for _ in range(size)]
    for place, word in enumerate(order):
        head = draw(
            st.sampled_from(["_", "0", *map(str, order[:place])] + [str(order[place - 1])] * (place > 0) * 3)
        )
        rows[word - 1] = {
            "id": str(word),
            "form": draw(st.sampled_from("ab;")),
            "lemma": draw(st.sampled_from(LEMMAS)),
            "upos": draw(st.sampled_from(UPOS)),
            "xpos": "_",
            "feats": draw(st.sampled_from(FEATS)),
            "head": head,
            "deprel": "root" if head == "0" else draw(st.sampled_from(LABELS)),
            "deps": "_",
            "misc": draw(st.sampled_from(MISC)),
        }
    comments = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "sent_id": st.sampled_from("xy"),
                "text": st.just("a text"),
                "genre": st.sampled_from("fg"),
            },
        )
    )
    return Slow(comments, rows)


treebanks = st.lists(sentences(), min_size=1, max_size=4)

# ---- random queries


def quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w:]+", text) else f'"{text}"'


@st.composite
def some_tests(draw: st.DrawFn, of_sentence: bool = False) -> Said:
    """A test of a word or of the sentence."""
    texts: dict[str, tuple[str, ...]] = {
        "upos": UPOS, "lemma": LEMMAS, "form": ("a", "b", ";"), "deprel": LABELS, "udeprel": ("nsubj", "obj"), "feats": FEATS,
        "feats.Case": ("Acc", "Nom", "_"), "feats.Number": ("Sing", "_"), "misc.P": ("0.25", "0.75", "_"), "projective": ("yes", "no"),
    }  # fmt: skip
    numbers: tuple[str, ...] = ("id", "head", "distance", "depth", "children")
    if of_sentence:
        texts = {
            "sent_id": ("x", "y", "_"),
            "text": ("a text",),
            "comment.genre": ("f", "g", "_"),
            "projective": ("yes", "no"),
        }
        numbers = ("length", "roots")
    name = draw(st.sampled_from([*texts, *numbers]))
    if name in numbers:
        signs, values = ("=", "!=", "<", "<=", ">", ">="), (*"0123", "_")
    else:
        signs, values = ("=", "!=", "~", "!~") + (("<", ">=") if name == "misc.P" else ()), texts[name]
    sign = draw(st.sampled_from(signs))
    wanted = draw(st.lists(st.sampled_from(values), min_size=1, max_size=2 if sign in ("=", "!=") else 1))
    if sign in COMPARE:
        wanted = [draw(st.sampled_from(["0", "1", "2", "0.5"]))]
    if sign.endswith("~"):
        wanted = [draw(st.sampled_from(["^b", "e", "N", "[;x]", "^a b$", "Case=(Acc|Nom)$", '\\"']))]
        written = [f'"{wanted[0]}"']
        wanted = [wanted[0].replace('\\"', '"')]
    else:
        written = [quoted(w) for w in wanted]
    blank = draw(st.sampled_from(["", " "]))
    if of_sentence:
        return Said(
            f"{name}{blank}{sign}{blank}{'|'.join(written)}",
            lambda s: compare(get_of_sentence(s, name), sign, wanted),
        )
    steps = (
        draw(st.lists(st.sampled_from(["head.", "prev.", "next."]), max_size=2))
        if draw(st.integers(0, 3)) == 0
        else []
    )
    path = "".join(steps) + name
    return Said(
        f"{path}{blank}{sign}{blank}{'|'.join(written)}", lambda s, w: compare(get(s, w, path), sign, wanted)
    )


@st.composite
def relations(
    draw: st.DrawFn, signs: tuple[str, ...] = (">", "<", ">>", "<<", ".", "..", ",", ",,", "$")
) -> Said:
    """A relation with bounds and a label where it may have one."""
    sign = draw(st.sampled_from(signs))
    low, high, bounds = 1, 99, ""
    if sign in (">>", "<<", "..", ",,"):
        low, high, bounds = draw(
            st.sampled_from([(1, 99, ""), (2, 2, "{2}"), (2, 99, "{2,}"), (1, 2, "{1,2}")])
        )
    label = draw(st.sampled_from(["", "", "nsubj", "obj|det", '~"subj"'])) if sign in ("<", ">") else ""

    def holds(s: Slow, a: int, b: int) -> bool:
        if not related(s, a, sign, low, high, b):
            return False
        deprel = s.rows[(b if sign == ">" else a) - 1]["deprel"]
        return not label or (("subj" in deprel) if label[0] == "~" else deprel in label.split("|"))

    return Said(f"{sign}{bounds} {label}", holds)


@st.composite
def conditions(draw: st.DrawFn, level: int = 2, of_sentence: bool = False) -> Said:
    """What may stand in brackets."""
    kinds = [
        "test",
        "test",
        *(["not", "all", "either", "bracket"] if level else []),
        *(["has", "has not"] if level and not of_sentence else []),
    ]
    kind = draw(st.sampled_from(kinds))
    if kind == "test":
        return draw(some_tests(of_sentence))
    inner = draw(conditions(level - 1, of_sentence))
    if kind == "bracket":
        return Said(f"[{inner.text}]", inner.holds)
    if kind == "not":
        return Said(f"![{inner.text}]", lambda *at: not inner.holds(*at))
    if kind in ("all", "either"):
        other = draw(conditions(level - 1, of_sentence))
        if kind == "all":
            return Said(f"[{inner.text}] [{other.text}]", lambda *at: inner.holds(*at) and other.holds(*at))
        return Said(f"[{inner.text} or {other.text}]", lambda *at: inner.holds(*at) or other.holds(*at))
    relation = draw(relations())
    there = Said(
        f"{relation.text}[{inner.text}]",
        lambda s, w: any(relation.holds(s, w, o) and inner.holds(s, o) for o in s.words),
    )
    return there if kind == "has" else Said(f"!{there.text}", lambda s, w: not there.holds(s, w))


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


class _Writer:
    """Writes random patterns; at most ``most`` words."""

    def __init__(self, draw: st.DrawFn, most: int, outer: list[str] | None = None) -> None:
        self.draw, self.most, self.outer = draw, most, outer
        self.pattern = SlowPattern()

    def word(self) -> tuple[str, str]:
        """(name, text) of a new word, or of one that is known."""
        known = [*self.pattern.words, *(self.outer or [])]
        if known and self.draw(st.integers(0, 5)) == 0:
            name = self.draw(st.sampled_from(known))
            self.pattern.words.setdefault(name, [])
            return name, f"@{name}"
        name, written = self._fresh()
        kind = self.draw(st.sampled_from(["bare", "bracket", "empty", "empty"]))
        if kind == "bare" and not written:
            said = self.draw(st.lists(some_tests(), min_size=1, max_size=2))
            self.pattern.words[name] += said
            return name, " ".join(t.text for t in said)
        if kind == "bracket":
            condition = self.draw(conditions())
            self.pattern.words[name].append(condition)
            return name, f"{written}[{condition.text}]"
        return name, written or "[]"

    def _fresh(self) -> tuple[str, str]:
        number = len(self.pattern.words) + 1
        local = "" if self.outer is None else "x"
        if self.draw(st.booleans()) or local:
            name = f"{local}v{number}"
            self.pattern.words[name] = []
            return name, f"@{name}"
        self.pattern.words[str(number)] = []
        return str(number), ""

    def write(self, level: int = 2) -> tuple[str, str]:
        """(first word, text) of a pattern."""
        first, text = self.word()
        for _ in range(self.draw(st.integers(0, 2))):
            if len(self.pattern.words) >= self.most:
                break
            relation = self.draw(relations())
            if self.draw(st.integers(0, 3)) == 0:
                condition = self.draw(conditions())
                text += f" !{relation.text}[{condition.text}]"
                self.pattern.words[first].append(_has_not(relation, condition))
                continue
            if level and self.draw(st.booleans()):
                second, inner = self.write(level - 1)
                inner = f"({inner})"
            else:
                second, inner = self.word()
            text += f" {relation.text} {inner}"
            self.pattern.links.append((first, relation, second))
        return first, text


def _has_not(relation: Said, condition: Said) -> Said:
    return Said("", lambda s, w: not any(relation.holds(s, w, o) and condition.holds(s, o) for o in s.words))


@st.composite
def queries(draw: st.DrawFn) -> SlowQuery:
    """Any query of the language, with its meaning."""
    parts: list[str] = []
    writer = _Writer(draw, 3)
    if draw(st.integers(0, 5)):
        parts.append(writer.write()[1])
    found = writer.pattern
    names = list(found.words)
    if len(names) > 1 and draw(st.booleans()):
        parts.append(_more(draw, found, names))
    without = []
    if draw(st.integers(0, 2)) == 0 or not names:
        inner = _Writer(draw, 2, names)
        parts.append(f"without {inner.write(1)[1]}")
        without.append(inner.pattern)
    sentence = draw(st.lists(conditions(1, of_sentence=True), max_size=1))
    parts += [f"sentence [{c.text}]" for c in sentence]
    return SlowQuery(draw(st.sampled_from(["; ", ";"])).join(parts), found, without, sentence)


def _more(draw: st.DrawFn, found: SlowPattern, names: list[str]) -> str:
    """A further link between two words, perhaps negated, or a comparison of them."""
    a, b = draw(st.permutations(names))[:2]
    kind = draw(st.sampled_from(["link", "not", "compare"]))
    if kind == "compare":
        sign = draw(st.sampled_from(["=", "!=", "<", ">="]))
        texts = ("lemma", "upos", "form", "feats.Case", "head.upos", "deprel", "udeprel")
        left, right = draw(
            st.tuples(
                *[st.sampled_from(texts if sign in ("=", "!=") else ("id", "depth", "head", "misc.P"))] * 2
            )
        )

        def holds(s: Slow, x: int, y: int) -> bool:
            p, q = get(s, x, left), get(s, y, right)
            return ((p == q) == (sign == "=")) if sign in ("=", "!=") else compare(p, sign, [str(q)])

        found.links.append((a, Said("", holds), b))
        return f"@{a}.{left}{sign}@{b}.{right}"
    relation = draw(relations())
    if kind == "not":
        found.links.append((a, Said("", lambda s, x, y: not relation.holds(s, x, y)), b))
        return f"@{a} !{relation.text} @{b}"
    found.links.append((a, relation, b))
    return f"@{a} {relation.text} @{b}"
