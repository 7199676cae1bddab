"""From the text of a query to what it says (``Said``): one method for each rule of the grammar in docs/reference/search.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from arcwise.treebanks.search.scanning import NUMBER_SIGNS, Scanner
from arcwise.treebanks.search.syntax import (
    KEYED,
    NOTHING,
    SENTENCE_NUMBERS,
    SIGNS,
    STEPS,
    WORD_NUMBERS,
    All,
    Comparison,
    Condition,
    Either,
    Has,
    Kind,
    Link,
    Not,
    Pattern,
    Property,
    QueryError,
    Relation,
    Said,
    Test,
)

_BOUNDS = re.compile(r"\{\s*(\d{1,6})\s*(,)?\s*(\d{1,6})?\s*\}")
_WORD = "a word: a test such as upos=VERB, [ ] or @name"


def is_number(text: str) -> bool:
    """Whether a property, as it is written, can be compared as a number: ``depth``, ``head.id``, ``misc.HeadProb``.

    >>> [is_number(p) for p in ("depth", "head.id", "misc.HeadProb", "upos")]
    [True, True, True, False]
    """
    name, _, key = text.partition(".")
    while name in STEPS and key:
        name, _, key = key.partition(".")
    return name in WORD_NUMBERS or name in SENTENCE_NUMBERS or (name in KEYED and bool(key))


def read_query(text: str) -> Said:
    """What a query says.

    >>> read_query("upos=VERB > obj").found.links
    (Link(left='1', relation=Relation(kind=<Kind.BELOW: 'below'>, low=1, high=1, label=Test(...)), right='2', negated=False),)
    """
    return _Reader(text).query()


class _Reader:
    def __init__(self, text: str) -> None:
        self.scan = Scanner(text)
        self.words: dict[str, list[Condition]] = {}
        """Words of the pattern that is being read."""
        self.links: list[tuple[Link, int]] = []
        self.mentions: list[tuple[str, int]] = []
        """Names that must be those of words that are found, and where they stand."""
        self.found_names: set[str] = set()
        self.inside_without = False

    # ---- parts

    def query(self) -> Said:
        """query = part { ";" part } [ ";" ]"""
        self._note_names()
        without: list[Pattern] = []
        comparisons: list[Comparison] = []
        sentence: list[Condition] = []
        while True:
            if self.scan.take_keyword("without"):
                without.append(self._without())
            elif self.scan.take_keyword("sentence"):
                sentence.append(self._sentence())
            elif self._sees_comparison():
                comparisons.append(self._comparison())
            else:
                self._pattern()
            if not self.scan.take(";") and not self.scan.is_done:
                raise self._after_part()
            if self.scan.is_done:
                break
        self._check()
        words = {name: _all(conditions) for name, conditions in self.words.items()}
        found = Pattern(words, tuple(link for link, _ in self.links))
        return Said(found, tuple(without), tuple(comparisons), _all(sentence))

    def _note_names(self) -> None:
        """The names that stand outside of ``without``: a ``without`` may name a word that a later part finds."""
        plain = re.sub(
            r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", lambda m: " " * len(m[0]), self.scan.text, flags=re.S
        )
        for part in plain.split(";"):
            if not re.match(r"\s*without\b", part):
                self.found_names |= set(re.findall(r"@(\w+)", part))

    def _after_part(self) -> QueryError:
        if self.scan.sees_keyword("or"):
            return self.scan.error("'or' inside of brackets: [upos=NOUN or deprel=obj]")
        return self.scan.error("a relation such as > or . , or ; and another part")

    def _without(self) -> Pattern:
        """ "without" pattern: words of its own, which are found nowhere else."""
        kept = self.words, self.links
        earlier = len(self.mentions)
        self.words, self.links, self.inside_without = {}, [], True
        self._pattern()
        self.mentions[earlier:] = [
            (name, at)
            for name, at in self.mentions[earlier:]
            if name in self.found_names or name not in self.words
        ]
        words = {
            name: _all(conditions) for name, conditions in self.words.items() if name not in self.found_names
        }
        for name, conditions in self.words.items():
            if name in self.found_names and conditions:
                # Said of a word that is found: a twin of its own, the same word, has the condition.
                words[f"{name}'"] = _all(conditions)
                self.links.append((Link(name, Relation(Kind.SAME), f"{name}'"), 0))
        pattern = Pattern(words, tuple(link for link, _ in self.links))
        self.words, self.links = kept
        self.inside_without = False
        return pattern

    def _sentence(self) -> Condition:
        """ "sentence" ( "[" conditions "]" | test { test } )"""
        if self.scan.take("["):
            condition = self._conditions(of_sentence=True)
            self.scan.expect("]")
            return condition
        if not self.scan.sees_test(is_number):
            raise self.scan.error("a test of the sentence such as length>20")
        return self._tests(of_sentence=True)

    def _sees_comparison(self) -> bool:
        return re.compile(r"@\w+\.[A-Za-z]").match(self.scan.text, self.scan.at) is not None

    def _comparison(self) -> Comparison:
        """ "@" name "." property sign "@" name "." property"""
        left, left_property = self._word_property()
        at = self.scan.at
        sign = self.scan.comparison()
        if sign in ("~", "!~"):
            raise self.scan.error("one of = != < <= > >= between two words", found=repr(sign), at=at)
        right, right_property = self._word_property()
        for prop in (left_property, right_property):
            if sign in NUMBER_SIGNS and not is_number(str(prop)):
                raise self.scan.error(f"= or != after {prop}, which is no number", found=repr(sign), at=at)
        return Comparison(left, left_property, sign, right, right_property)

    def _word_property(self) -> tuple[str, Property]:
        at = self.scan.at
        name = self.scan.name()
        if name is None or not self.scan.sees("."):
            raise self.scan.error("a property of a word, such as @v.lemma (of one word: @v[lemma=be])", at=at)
        self.scan.at += 1
        self.mentions.append((name, at))
        found = self.scan.property()
        self.scan.skip()
        return name, found

    # ---- patterns

    def _pattern(self) -> str:
        """pattern = word { relation [ target ] }; the name of its first word."""
        left = self._word()
        while (at := self.scan.at) < len(self.scan.text) and (found := self._relation()) is not None:
            relation, negated = found
            if negated:
                self._negated(left, relation, at)
                continue
            if relation.kind is Kind.SAME and not self.inside_without:
                raise self.scan.error(
                    "another relation: two words of a query are never the same word (== stands in without)",
                    at=at,
                )
            right = self._target(relation)
            self._refuse_second(left, relation, at)
            self.links.append((Link(left, relation, right), at))
        return left

    def _target(self, relation: Relation) -> str:
        """target = word | "(" pattern ")"; after a label there may be none."""
        if self.scan.take("("):
            name = self._pattern()
            self.scan.expect(")")
            return name
        if self._sees_word():
            return self._word()
        if relation.label is None:
            raise self.scan.error(_WORD if not self.scan.is_done else f"{_WORD}; [] is any word")
        return self._new_word()

    def _negated(self, left: str, relation: Relation, at: int) -> None:
        """``!> obj [ ]``: said of the left word; ``!> @s``: of two words that are found."""
        if self.scan.sees("@"):
            name = self._bound_name()
            self.links.append((Link(left, relation, name, negated=True), at))
            return
        self.words.setdefault(left, []).append(Not(self._has(relation)))

    def _bound_name(self) -> str:
        at = self.scan.at
        name = self.scan.name()
        if name is None:
            raise self.scan.error("a name after @")
        self.scan.skip()
        if self.scan.sees("["):
            raise self.scan.error("nothing more to be said of a word after '!' and a relation")
        self.mentions.append((name, at))
        return name

    def _has(self, relation: Relation) -> Has:
        """What stands after a relation that finds no word: "[" conditions "]", or nothing after a label."""
        if self.scan.take("["):
            condition = self._conditions() if not self.scan.sees("]") else All()
            self.scan.expect("]")
            return Has(relation, condition)
        if self.scan.sees("@"):
            raise self.scan.error("no name inside of brackets (they find no word; see without)")
        if self.scan.sees_test(is_number) or self.scan.sees("("):
            raise self.scan.error("brackets around what is said of the other word: [ ]")
        if relation.label is None:
            raise self.scan.error("a label or [ ]")
        return Has(relation, All())

    def _relation(self) -> tuple[Relation, bool] | None:
        """relation = [ "!" ] sign [ "{" bounds "}" ] [ label ]"""
        start = self.scan.at
        negated = self.scan.take("!")
        sign = next((s for s in SIGNS if self.scan.sees(s)), None)
        if sign is None:
            if negated:
                raise self.scan.error("a relation after '!' (or, in brackets, a test)")
            return None
        self.scan.at += len(sign)
        kind, high = SIGNS[sign]
        low = 1
        if self.scan.sees("{"):
            low, high = self._bounds(sign)
        self.scan.skip()
        if sign in (">", "<"):
            return Relation(kind, low, high, self._label()), negated
        if not (self.scan.sees("(") or self._sees_word()):
            expected = f"a word (labels stand after > and < alone), after {sign}"
            raise self.scan.error(expected if self.scan.sees_value() else f"{_WORD} after {sign}")
        if start == self.scan.at:
            return None
        return Relation(kind, low, high), negated

    def _bounds(self, sign: str) -> tuple[int, int | None]:
        """ "{" number [ "," [ number ] ] "}" after a doubled sign."""
        if SIGNS[sign][1] is not None:
            raise self.scan.error(f"no numbers after {sign} (they stand after >> << .. and ,,)")
        found = _BOUNDS.match(self.scan.text, self.scan.at)
        if not found:
            raise self.scan.error("{2}, {2,5} or {2,}")
        low = int(found[1])
        high = int(found[3]) if found[3] else None if found[2] else low
        if low < 1 or (high is not None and high < low):
            raise self.scan.error("{low,high} with 1 ≤ low ≤ high")
        self.scan.at = found.end()
        return low, high

    def _label(self) -> Test | None:
        """label = value { "|" value } | "~" expression"""
        at = self.scan.at
        deprel = Property("deprel")
        if self.scan.take("~"):
            expression = self._expression()
            self.scan.skip()
            return Test(deprel, "~", (expression,), at)
        if self.scan.sees_test(is_number) or self.scan.sees_keyword("or") or not self.scan.sees_value():
            return None
        if any(self.scan.sees(sign) for sign in SIGNS):
            return None
        labels = self.scan.values()
        self.scan.skip()
        return Test(deprel, "=", labels, at)

    # ---- words

    def _sees_word(self) -> bool:
        return self.scan.sees("@") or self.scan.sees("[") or self.scan.sees_test(is_number)

    def _word(self) -> str:
        """word = "@" name [ "[" conditions "]" ] | "[" [ conditions ] "]" | test { test }; its name."""
        if self.scan.sees("@"):
            at = self.scan.at
            name = self.scan.name()
            if name is None:
                raise self.scan.error("a name after @")
            if self.scan.sees(".") and re.match(r"\.[A-Za-z]", self.scan.text[self.scan.at :]):
                raise self.scan.error("[ ] for what is said of a word, and blanks around the relation .")
            self.scan.skip()
            conditions = self.words.setdefault(name, []) if not name.isdigit() else self._numbered(name, at)
            if self.scan.sees("["):
                conditions.append(self._bracket())
            return name
        if self.scan.sees("["):
            condition = self._bracket()
        elif self.scan.sees_test(is_number):
            condition = self._tests()
        else:
            raise self.scan.error(_WORD)
        name = self._new_word()
        self.words[name].append(condition)
        return name

    def _numbered(self, name: str, at: int) -> list[Condition]:
        """``@2``: the second word, which has been read already."""
        if self.inside_without:
            self.found_names.add(name)
            self.mentions.append((name, at))
            return self.words.setdefault(name, [])
        if name not in self.words:
            raise self.scan.error(
                "the number of a word before it that has no name (names of yours begin with a letter)",
                found=f"@{name}",
                at=at,
            )
        return self.words[name]

    def _new_word(self) -> str:
        """A word without a name is called after its place: 1 is the first."""
        name = f"{'w' if self.inside_without else ''}{len(self.words) + 1}"
        while name in self.words or (self.inside_without and name in self.found_names):
            name += "'"
        self.words[name] = []
        return name

    def _bracket(self) -> Condition:
        self.scan.expect("[")
        condition: Condition = All() if self.scan.sees("]") else self._conditions()
        self.scan.expect("]")
        return condition

    def _conditions(self, *, of_sentence: bool = False) -> Condition:
        """conditions = all { "or" all }; all = condition { condition }"""
        alternatives: list[Condition] = []
        while True:
            conditions = [self._condition(of_sentence)]
            while not (self.scan.is_done or self.scan.sees("]") or self.scan.sees_keyword("or")):
                if self.scan.take_keyword("and"):
                    pass
                conditions.append(self._condition(of_sentence))
            alternatives.append(_all(conditions))
            if not self.scan.take_keyword("or"):
                break
        return alternatives[0] if len(alternatives) == 1 else Either(tuple(alternatives))

    def _condition(self, of_sentence: bool) -> Condition:
        """condition = [ "!" ] ( test | "[" conditions "]" | relation [ "[" conditions "]" ] )"""
        if self.scan.sees_test(is_number):
            return self._test(of_sentence)
        if self.scan.take("["):
            condition = self._conditions(of_sentence=of_sentence)
            self.scan.expect("]")
            return condition
        at = self.scan.at
        if self.scan.take("!"):
            if self.scan.sees_test(is_number) or self.scan.sees("["):
                return Not(self._condition(of_sentence))
            self.scan.at = at
        if not of_sentence:
            found = self._relation()
            if found is not None:
                relation, negated = found
                has = self._has(relation)
                return Not(has) if negated else has
        raise self.scan.error("a test such as length>20" if of_sentence else "a test such as upos=VERB")

    def _tests(self, *, of_sentence: bool = False) -> Condition:
        """test { test }"""
        conditions = [self._test(of_sentence)]
        while self.scan.sees_test(is_number):
            conditions.append(self._test(of_sentence))
        return _all(conditions)

    def _test(self, of_sentence: bool) -> Test:
        """test = property sign value { "|" value }"""
        start = self.scan.at
        found = self.scan.property(of_sentence=of_sentence)
        self.scan.skip()
        at = self.scan.at
        sign = self.scan.comparison()
        numeric = found.name in (SENTENCE_NUMBERS if of_sentence else WORD_NUMBERS)
        if sign in ("~", "!~"):
            if numeric:
                raise self.scan.error(
                    f"one of = != < <= > >= after {found}, a number", found=repr(sign), at=at
                )
            values: tuple[str, ...] = (self._expression(),)
        else:
            with self._at_value():
                values = (self.scan.value(),) if sign in NUMBER_SIGNS else self.scan.values()
                self._check_values(found, sign, values, numeric=numeric)
        self.scan.skip()
        return Test(found, sign, values, start)

    @contextmanager
    def _at_value(self) -> Iterator[None]:
        """Errors of values are told where the value begins."""
        start = self.scan.at
        try:
            yield
        except _WrongValue as wrong:
            raise self.scan.error(wrong.expected, found=repr(wrong.value), at=start) from None

    def _check_values(self, found: Property, sign: str, values: tuple[str, ...], *, numeric: bool) -> None:
        for value in values:
            if sign in NUMBER_SIGNS or (numeric and value != NOTHING):
                try:
                    float(value)
                except ValueError:
                    raise _WrongValue(value, f"a number after {found}{sign}") from None
            if found.name == "projective" and value not in ("yes", "no", NOTHING):
                raise _WrongValue(value, "yes or no after projective")

    def _expression(self) -> str:
        at = self.scan.at
        text = self.scan.value(is_expression=True)
        if self.scan.sees("|"):
            raise self.scan.error(f'quotes around an expression with signs: "{text}|…"')
        try:
            re.compile(text)
        except re.error as error:
            raise self.scan.error(
                f"a regular expression ({error.msg})", found=repr(text), at=at
            ) from None
        return text

    # ---- what a whole query must be

    def _refuse_second(self, left: str, relation: Relation, at: int) -> None:
        """Relations go from the first word: ``a . b . c`` would ask for two words right after a."""
        same = (link for link, _ in self.links if link.left == left and not link.negated)
        for link in same:
            if relation.is_unique and (link.relation.kind, link.relation.low, link.relation.high) == (
                relation.kind,
                relation.low,
                relation.high,
            ):
                raise self.scan.error(
                    "parentheses, a . (b . c) or a < (b < c): all relations go from the first word, which has one such word alone",
                    at=at,
                )

    def _check(self) -> None:
        """Names that are mentioned belong to words that are found."""
        for name, at in self.mentions:
            if name not in self.words:
                known = ", ".join(f"@{n}" for n in self.words) or "none"
                raise self.scan.error(f"a word that the query finds ({known})", found=f"@{name}", at=at)


class _WrongValue(Exception):
    def __init__(self, value: str, expected: str) -> None:
        super().__init__(value, expected)
        self.value, self.expected = value, expected


def _all(conditions: list[Condition]) -> Condition:
    kept = [c for c in conditions if c != All()]
    return kept[0] if len(kept) == 1 else All(tuple(kept))
