"""Random small treebanks and random queries of the whole language, as strategies of hypothesis."""

from __future__ import annotations

from hypothesis import strategies as st

from treebanks.search.slow_search import (
    BOUNDS,
    COMPARE,
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
    Row,
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

# ---- random treebanks


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


@st.composite
def some_tests(draw: st.DrawFn, of_sentence: bool = False) -> Said:
    """A test of a word or of the sentence."""
    texts = TEXTS_OF_SENTENCES if of_sentence else TEXTS
    numbers = ("length", "roots") if of_sentence else NUMBERS
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
    blank = draw(st.sampled_from(["", " "]))
    if of_sentence:
        return sentence_test(name, sign, wanted, blank)
    steps = (
        draw(st.lists(st.sampled_from(["head.", "prev.", "next."]), max_size=2))
        if draw(st.integers(0, 3)) == 0
        else []
    )
    return word_test("".join(steps) + name, sign, wanted, blank)


@st.composite
def relations(
    draw: st.DrawFn, signs: tuple[str, ...] = (">", "<", ">>", "<<", ".", "..", ",", ",,", "$")
) -> Said:
    """A relation with bounds and a label where it may have one."""
    sign = draw(st.sampled_from(signs))
    bounds = draw(st.sampled_from(BOUNDS)) if sign in DOUBLED else BOUNDS[0]
    label = draw(st.sampled_from(["", "", *SOME_LABELS])) if sign in ("<", ">") else ""
    return relation(sign, bounds, label)


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
