"""What is said of one word or of the sentence, from text: tests, brackets, and relations that find no word."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from arcwise.treebanks.search.scanner import NUMBER_SIGNS, Scanner
from arcwise.treebanks.search.syntax import (
    KEYED,
    MISSING,
    SENTENCE_NUMBERS,
    SIGNS,
    STEPS,
    WORD_NUMBERS,
    AllOf,
    AnyOf,
    Condition,
    Exists,
    Not,
    Property,
    PropertyTest,
    Relation,
)

_BOUNDS = re.compile(r"\{\s*(\d{1,6})\s*(,)?\s*(\d{1,6})?\s*\}")
WORD = "a word: a test such as upos=VERB, [ ] or @name"


def is_number(text: str) -> bool:
    """Whether a property, as it is written, can be compared as a number: ``depth``, ``head.id``, ``misc.HeadProb``.

    >>> [is_number(p) for p in ("depth", "head.id", "misc.HeadProb", "upos")]
    [True, True, True, False]
    """
    name, _, key = text.partition(".")
    while name in STEPS and key:
        name, _, key = key.partition(".")
    return name in WORD_NUMBERS or name in SENTENCE_NUMBERS or (name in KEYED and bool(key))


class ConditionParser:
    """Reads the rules ``test``, ``condition`` and ``relation`` of the grammar."""

    def __init__(self, text: str) -> None:
        self.scan = Scanner(text)

    def _has(self, relation: Relation) -> Exists:
        """What stands after a relation that finds no word: "[" conditions "]", or nothing after a label."""
        if self.scan.take("["):
            condition = self._conditions() if not self.scan.sees("]") else AllOf()
            self.scan.expect("]")
            return Exists(relation, condition)
        if self.scan.sees("@"):
            raise self.scan.error("no name inside of brackets (they find no word; see without)")
        if self.scan.sees_test(is_number) or self.scan.sees("("):
            raise self.scan.error("brackets around what is said of the other word: [ ]")
        if relation.label is None:
            raise self.scan.error("a label or [ ]")
        return Exists(relation, AllOf())

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
            raise self.scan.error(expected if self.scan.sees_value() else f"{WORD} after {sign}")
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

    def _label(self) -> PropertyTest | None:
        """label = value { "|" value } | "~" expression"""
        at = self.scan.at
        deprel = Property("deprel")
        if self.scan.take("~"):
            expression = self._expression()
            self.scan.skip()
            return PropertyTest(deprel, "~", (expression,), at)
        if self.scan.sees_test(is_number) or self.scan.sees_keyword("or") or not self.scan.sees_value():
            return None
        if any(self.scan.sees(sign) for sign in SIGNS):
            return None
        labels = self.scan.values()
        self.scan.skip()
        return PropertyTest(deprel, "=", labels, at)

    # ---- conditions

    def _sees_word(self) -> bool:
        return self.scan.sees("@") or self.scan.sees("[") or self.scan.sees_test(is_number)

    def _bracket(self) -> Condition:
        self.scan.expect("[")
        condition: Condition = AllOf() if self.scan.sees("]") else self._conditions()
        self.scan.expect("]")
        return condition

    def _conditions(self, *, of_sentence: bool = False) -> Condition:
        """conditions = all { "or" all }; all = condition { condition }"""
        with self.scan.inside():
            alternatives = self._alternatives(of_sentence)
        return alternatives[0] if len(alternatives) == 1 else AnyOf(tuple(alternatives))

    def _alternatives(self, of_sentence: bool) -> list[Condition]:
        alternatives: list[Condition] = []
        while True:
            conditions = [self._condition(of_sentence)]
            while not (self.scan.is_done or self.scan.sees("]") or self.scan.sees_keyword("or")):
                self.scan.take_keyword("and")
                conditions.append(self._condition(of_sentence))
            alternatives.append(all_of(conditions))
            if not self.scan.take_keyword("or"):
                return alternatives

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
        """test { [ "and" ] test }"""
        conditions = [self._test(of_sentence)]
        while self.scan.take_keyword("and") or self.scan.sees_test(is_number):
            conditions.append(self._test(of_sentence))
        return all_of(conditions)

    def _test(self, of_sentence: bool) -> PropertyTest:
        """test = property sign value { "|" value }"""
        start = self.scan.at
        if not self.scan.sees_test(is_number):
            raise self.scan.error("a test such as upos=VERB")
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
        return PropertyTest(found, sign, values, start)

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
            if sign in NUMBER_SIGNS or (numeric and value != MISSING):
                try:
                    float(value)
                except ValueError:
                    raise _WrongValue(value, f"a number after {found}{sign}") from None
            if found.name == "projective" and value not in ("yes", "no", MISSING):
                raise _WrongValue(value, "yes or no after projective")

    def _expression(self) -> str:
        at = self.scan.at
        text = self.scan.value(is_expression=True)
        if self.scan.sees("|"):
            raise self.scan.error(f'quotes around an expression with signs: "{text}|…"')
        try:
            re.compile(text)
        except re.error as error:
            raise self.scan.error(f"a regular expression ({error.msg})", found=repr(text), at=at) from None
        return text


class _WrongValue(Exception):
    def __init__(self, value: str, expected: str) -> None:
        super().__init__(value, expected)
        self.value, self.expected = value, expected


def all_of(conditions: Sequence[Condition]) -> Condition:
    """All of them, as one condition."""
    kept = [c for c in conditions if c != AllOf()]
    return kept[0] if len(kept) == 1 else AllOf(tuple(kept))
