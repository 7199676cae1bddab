"""A fixed treebank and queries with every property, every sign of comparison and every relation in every
place where it may stand."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from treebanks.search.slow_search import (
    BOUNDS,
    DOUBLED,
    FEATS,
    LABELS,
    LEMMAS,
    MISC,
    NUMBERS,
    SOME_LABELS,
    TEXTS,
    TEXTS_OF_SENTENCES,
    UPOS,
    Said,
    Slow,
    SlowPattern,
    SlowQuery,
    compare,
    get,
    relation,
    sentence_test,
    word_test,
)

SINGLE = (">", "<", ".", ",", "$")


def fixed_treebank(size: int = 30) -> list[Slow]:
    """Sentences of one to six words, always the same."""
    draw = Random(19)
    return [_sentence(draw, draw.randint(1, 6)) for _ in range(size)]


def _sentence(draw: Random, size: int) -> Slow:
    order = draw.sample(range(1, size + 1), size)
    rows = [dict[str, str]() for _ in order]
    for place, word in enumerate(order):
        head = draw.choice(["_", "0", *map(str, order[:place] * 2)])
        rows[word - 1] = {
            "id": str(word),
            "form": draw.choice("ab;"),
            "lemma": draw.choice(LEMMAS),
            "upos": draw.choice(UPOS),
            "xpos": "_",
            "feats": draw.choice(FEATS),
            "head": head,
            "deprel": "root" if head == "0" else draw.choice(LABELS),
            "deps": "_",
            "misc": draw.choice(MISC),
        }
    comments = {"sent_id": "xy", "text": ["a text"], "genre": "fg"}
    return Slow({k: draw.choice(v) for k, v in comments.items() if draw.random() < 0.7}, rows)


def word_tests() -> Iterator[Said]:
    for name, values in TEXTS.items():
        yield word_test(name, "=", [values[0]])
        yield word_test(name, "=", [*values[-2:]])
        yield word_test(name, "!=", [values[0]])
        yield word_test(name, "~", ["e"])
        yield word_test(name, "!~", ["^[Nb]"])
    for name in (*NUMBERS, "misc.P"):
        for sign in ("<", "<=", ">", ">="):
            yield word_test(name, sign, ["0.5" if name == "misc.P" else "2"])
    for name in NUMBERS:
        for wanted in (["0"], ["1", "3"], ["_"], ["2", "_"]):
            yield word_test(name, "=", wanted)
            yield word_test(name, "!=", wanted)
    for step in ("head", "prev", "next", "head.head", "prev.head"):
        yield word_test(f"{step}.upos", "=", ["NOUN", "_"])
        yield word_test(f"{step}.id", "!=", ["_"])


def relations() -> Iterator[Said]:
    for sign in SINGLE:
        for label in ("", *SOME_LABELS) if sign in "<>" else ("",):
            yield relation(sign, label=label)
    for sign in DOUBLED:
        for bounds in BOUNDS:
            yield relation(sign, bounds)


def relation_queries(r: Said, test: Said) -> list[SlowQuery]:
    """Between two words, in brackets, negated, between words with names, and in ``without``."""
    has = Said("", lambda s, w: any(r.holds(s, w, o) and test.holds(s, o) for o in s.words))
    has_not = Said("", lambda s, w: not has.holds(s, w))
    not_related = Said("", lambda s, a, b: not r.holds(s, a, b))
    pair = SlowPattern({"1": [], "2": [test]}, [("1", r, "2")])
    named = {"a": [], "b": [test]}
    both = SlowPattern({"b": [test]}, [("a", r, "b")])
    return [
        SlowQuery(f"[] {r.text} {test.text}", pair, [], []),
        SlowQuery(f"[{r.text}[{test.text}]]", SlowPattern({"1": [has]}), [], []),
        SlowQuery(f"[!{r.text}[{test.text}]]", SlowPattern({"1": [has_not]}), [], []),
        SlowQuery(f"[] !{r.text}[{test.text}]", SlowPattern({"1": [has_not]}), [], []),
        SlowQuery(f"@a; @b[{test.text}]; @a {r.text} @b", SlowPattern(named, [("a", r, "b")]), [], []),
        SlowQuery(f"@a; @b[{test.text}]; @a !{r.text} @b", SlowPattern(named, [("a", not_related, "b")]), [], []),
        SlowQuery(f"without [] {r.text} {test.text}", SlowPattern(), [pair], []),
        SlowQuery(f"@a; without @a {r.text} @b[{test.text}]", SlowPattern({"a": []}), [both], []),
        SlowQuery(f"@a .. @b; without @a {r.text} "
            f"@b[{test.text}]", SlowPattern({"a": [], "b": []}, [("a", relation(".."), "b")]), [both], []),
    ]  # fmt: skip


def comparison_queries() -> Iterator[SlowQuery]:
    texts = [("lemma", "lemma"), ("head.upos", "upos"), ("feats.Case", "feats.Case"), ("udeprel", "deprel")]
    numbers = [("id", "depth"), ("head", "id"), ("misc.P", "misc.P"), ("distance", "distance")]
    for signs, pairs in ((("=", "!="), [*texts, *numbers[:2]]), (("<", "<=", ">", ">="), numbers)):
        for sign in signs:
            for left, right in pairs:
                text = f"@a .. @b; @a.{left}{sign}@b.{right}"
                links = [("a", relation(".."), "b"), ("a", _compared(left, sign, right), "b")]
                yield SlowQuery(text, SlowPattern({"a": [], "b": []}, links), [], [])


def _compared(left: str, sign: str, right: str) -> Said:
    def holds(s: Slow, a: int, b: int) -> bool:
        x, y = get(s, a, left), get(s, b, right)
        return ((x == y) == (sign == "=")) if sign in ("=", "!=") else compare(x, sign, [str(y)])

    return Said("", holds)


def every_query() -> Iterator[SlowQuery]:
    """All of them."""
    for test in word_tests():
        yield SlowQuery(test.text, SlowPattern({"1": [test]}), [], [])
    noun, b = word_test("upos", "=", ["NOUN"]), word_test("lemma", "~", ["^b"])
    not_noun = Said("", lambda s, w: not noun.holds(s, w))
    either = Said("", lambda s, w: noun.holds(s, w) or b.holds(s, w))
    yield SlowQuery(f"[!{noun.text}]", SlowPattern({"1": [not_noun]}), [], [])
    yield SlowQuery(f"[{noun.text} or {b.text}]", SlowPattern({"1": [either]}), [], [])
    yield SlowQuery(f"[[{noun.text} or {b.text}] and {b.text}]", SlowPattern({"1": [either, b]}), [], [])
    for r in relations():
        yield from relation_queries(r, noun)
    yield from comparison_queries()
    child, before = relation(">"), relation(".")
    three = {"1": [], "2": [], "3": [noun]}
    yield SlowQuery(
        f"[] > [] > {noun.text}", SlowPattern(three, [("1", child, "2"), ("1", child, "3")]), [], []
    )
    yield SlowQuery(
        f"[] > ([] . {noun.text})", SlowPattern(three, [("1", child, "2"), ("2", before, "3")]), [], []
    )
    for name, values in TEXTS_OF_SENTENCES.items():
        for test in (
            sentence_test(name, "=", [*values]),
            sentence_test(name, "!=", [values[0]]),
            sentence_test(name, "~", ["e|x"]),
        ):
            yield SlowQuery(f"sentence {test.text}", SlowPattern(), [], [test])
            yield SlowQuery(f"{noun.text}; sentence [{test.text}]", SlowPattern({"1": [noun]}), [], [test])
    for name in ("length", "roots"):
        for sign in ("=", "<", ">="):
            test = sentence_test(name, sign, ["2"])
            yield SlowQuery(f"sentence {test.text}", SlowPattern(), [], [test])
