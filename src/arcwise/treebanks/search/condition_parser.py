"""Parser of conditions on one word or on the sentence: tests, brackets, relations to unmatched words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from arcwise.treebanks.search.scanner import NUMERIC_OPERATORS, Scanner
from arcwise.treebanks.search.syntax import (
    KEYED,
    MISSING,
    RELATION_OPERATORS,
    SENTENCE_NUMBERS,
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
EXPECTED_WORD = "expected a word: a test such as upos=VERB, [ ] or @name"


def is_number(text: str) -> bool:
    """Whether a property, as written, can be compared as a number: ``depth``, ``head.id``, ``misc.HeadProb``.

    >>> [is_number(p) for p in ("depth", "head.id", "misc.HeadProb", "upos")]
    [True, True, True, False]
    """
    name, _, key = text.partition(".")
    while name in STEPS and key:
        name, _, key = key.partition(".")
    return name in WORD_NUMBERS or name in SENTENCE_NUMBERS or (name in KEYED and bool(key))


class ConditionParser:
    """Recursive-descent parser of the rules ``test``, ``condition`` and ``relation``."""

    def __init__(self, text: str) -> None:
        self.scan = Scanner(text)

    def _exists(self, relation: Relation) -> Exists:
        """What follows a relation to a word outside the match: "[" conditions "]", optional after a label."""
        if self.scan.take("["):
            condition = self._conditions() if not self.scan.sees("]") else AllOf()
            self.scan.expect("]")
            return Exists(relation, condition)
        if self.scan.sees("@"):
            raise self.scan.error("brackets cannot contain names, since they match no word (see without)")
        if self.scan.sees_test(is_number) or self.scan.sees("("):
            raise self.scan.error("put the conditions on the other word in brackets: [ ]")
        if relation.label is None:
            raise self.scan.error("expected a label or [ ]")
        return Exists(relation, AllOf())

    def _relation(self) -> tuple[Relation, bool] | None:
        """relation = [ "!" ] operator [ "{" bounds "}" ] [ label ]; with whether it is negated."""
        start = self.scan.at
        negated = self.scan.take("!")
        operator = next((symbol for symbol in RELATION_OPERATORS if self.scan.sees(symbol)), None)
        if operator is None:
            if negated:
                raise self.scan.error("expected a relation after '!' (or, in brackets, a test)")
            return None
        self.scan.at += len(operator)
        kind, high = RELATION_OPERATORS[operator]
        low = 1
        if self.scan.sees("{"):
            low, high = self._bounds(operator)
        self.scan.skip()
        if operator in (">", "<"):
            return Relation(kind, low, high, self._label()), negated
        if not (self.scan.sees("(") or self._sees_word()):
            no_label = f"expected a word after {operator} (only > and < take labels)"
            raise self.scan.error(no_label if self.scan.sees_value() else f"{EXPECTED_WORD} after {operator}")
        if start == self.scan.at:
            return None
        return Relation(kind, low, high), negated

    def _bounds(self, operator: str) -> tuple[int, int | None]:
        """ "{" number [ "," [ number ] ] "}" after a doubled operator."""
        if RELATION_OPERATORS[operator][1] is not None:
            raise self.scan.error(f"{operator} takes no bounds (only >> << .. and ,, do)")
        match = _BOUNDS.match(self.scan.text, self.scan.at)
        if not match:
            raise self.scan.error("expected bounds such as {2}, {2,5} or {2,}")
        low = int(match[1])
        high = int(match[3]) if match[3] else None if match[2] else low
        if low < 1 or (high is not None and high < low):
            raise self.scan.error("expected {low,high} with 1 ≤ low ≤ high")
        self.scan.at = match.end()
        return low, high

    def _label(self) -> PropertyTest | None:
        """label = value { "|" value } | "~" regex"""
        at = self.scan.at
        deprel = Property("deprel")
        if self.scan.take("~"):
            regex = self._regex()
            self.scan.skip()
            return PropertyTest(deprel, "~", (regex,), at)
        if self.scan.sees_test(is_number) or self.scan.sees_keyword("or") or not self.scan.sees_value():
            return None
        if any(self.scan.sees(operator) for operator in RELATION_OPERATORS):
            return None
        labels = self.scan.values()
        self.scan.skip()
        return PropertyTest(deprel, "=", labels, at)

    def _sees_word(self) -> bool:
        return self.scan.sees("@") or self.scan.sees("[") or self.scan.sees_test(is_number)

    def _bracket(self) -> Condition:
        self.scan.expect("[")
        condition: Condition = AllOf() if self.scan.sees("]") else self._conditions()
        self.scan.expect("]")
        return condition

    def _conditions(self, *, of_sentence: bool = False) -> Condition:
        """conditions = all { "or" all }; all = condition { condition }"""
        with self.scan.nested():
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
            parsed = self._relation()
            if parsed is not None:
                relation, negated = parsed
                exists = self._exists(relation)
                return Not(exists) if negated else exists
        raise self.scan.error(f"expected a test such as {'length>20' if of_sentence else 'upos=VERB'}")

    def _tests(self, *, of_sentence: bool = False) -> Condition:
        """test { [ "and" ] test }"""
        conditions = [self._test(of_sentence)]
        while self.scan.take_keyword("and") or self.scan.sees_test(is_number):
            conditions.append(self._test(of_sentence))
        return all_of(conditions)

    def _test(self, of_sentence: bool) -> PropertyTest:
        """test = property operator value { "|" value }"""
        start = self.scan.at
        if not self.scan.sees_test(is_number):
            raise self.scan.error("expected a test such as upos=VERB")
        prop = self.scan.property(of_sentence=of_sentence)
        self.scan.skip()
        at = self.scan.at
        operator = self.scan.comparison()
        numeric = prop.name in (SENTENCE_NUMBERS if of_sentence else WORD_NUMBERS)
        if operator in ("~", "!~"):
            if numeric:
                hint = f"{prop} is a number; expected one of = != < <= > >="
                raise self.scan.error(hint, unexpected=repr(operator), at=at)
            values: tuple[str, ...] = (self._regex(),)
        else:
            with self._errors_at_value():
                values = (self.scan.value(),) if operator in NUMERIC_OPERATORS else self.scan.values()
                self._check_values(prop, operator, values, numeric=numeric)
        self.scan.skip()
        return PropertyTest(prop, operator, values, start)

    @contextmanager
    def _errors_at_value(self) -> Iterator[None]:
        """Report errors of values at the position where the value starts."""
        start = self.scan.at
        try:
            yield
        except _InvalidValue as error:
            raise self.scan.error(error.hint, unexpected=repr(error.value), at=start) from None

    def _check_values(self, prop: Property, operator: str, values: tuple[str, ...], *, numeric: bool) -> None:
        for value in values:
            if operator in NUMERIC_OPERATORS or (numeric and value != MISSING):
                try:
                    float(value)
                except ValueError:
                    raise _InvalidValue(value, f"expected a number after {prop}{operator}") from None
            if prop.name == "projective" and value not in ("yes", "no", MISSING):
                raise _InvalidValue(value, "expected yes or no after projective")

    def _regex(self) -> str:
        at = self.scan.at
        regex = self.scan.value(is_regex=True)
        if self.scan.sees("|"):
            raise self.scan.error(f'put a regular expression with special characters in quotes: "{regex}|…"')
        try:
            re.compile(regex)
        except re.error as error:
            hint = f"invalid regular expression ({error.msg})"
            raise self.scan.error(hint, unexpected=repr(regex), at=at) from None
        return regex


class _InvalidValue(Exception):
    def __init__(self, value: str, hint: str) -> None:
        super().__init__(value, hint)
        self.value, self.hint = value, hint


def all_of(conditions: Sequence[Condition]) -> Condition:
    """The conjunction of conditions, simplified."""
    nontrivial = [c for c in conditions if c != AllOf()]
    return nontrivial[0] if len(nontrivial) == 1 else AllOf(tuple(nontrivial))
