"""Parser of queries: words, relations between them, conditions on a word or on the sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from arcwise.treebanks.search.nodes import includes_empty_nodes
from arcwise.treebanks.search.regex import RegexError, compiled
from arcwise.treebanks.search.syntax import (
    KEYED,
    MISSING,
    NUMERIC_OPERATORS,
    RELATION_OPERATORS,
    SENTENCE_NUMBERS,
    STEPS,
    WORD_NUMBERS,
    AllOf,
    AnyOf,
    Condition,
    Exists,
    Link,
    Not,
    ParsedQuery,
    Pattern,
    Property,
    PropertyComparison,
    PropertyTest,
    QueryError,
    Relation,
    RelationKind,
    Scanner,
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
        """The target of a relation that is not in the match: "[" conditions "]", optional after a label."""
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
        if operator in (">", "<", "->", "<-"):
            return Relation(kind, low, high, self._label()), negated
        if not (self.scan.sees("(") or self._sees_word()):
            no_label = f"expected a word after {operator} (only > < -> and <- take labels)"
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
            if prop.name in ("projective", "empty") and value not in ("yes", "no", MISSING):
                raise _InvalidValue(value, f"expected yes or no after {prop.name}")

    def _regex(self) -> str:
        at = self.scan.at
        regex = self.scan.value(is_regex=True)
        if self.scan.sees("|"):
            raise self.scan.error(f'put a regular expression with special characters in quotes: "{regex}|…"')
        try:
            compiled(regex)
        except RegexError as error:
            hint = f"invalid regular expression ({error})"
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


_OR = re.compile(r";\s*or(?![^\s\[\](!@])")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)


def parse_query(text: str) -> ParsedQuery:
    """Parse a query into its syntax tree.

    >>> (link,) = parse_query("upos=VERB > obj").pattern.links
    >>> link.left, link.relation.kind, link.right
    ('1', <RelationKind.DESCENDANT: 'descendant'>, '2')
    """
    return QueryParser(text).query()


def parse_alternatives(text: str) -> tuple[ParsedQuery, ...]:
    """Parse the alternatives of a query, which ``; or`` separates.

    >>> [len(parsed.pattern.words) for parsed in parse_alternatives("upos=VERB > obj; or upos=NOUN")]
    [2, 1]
    """
    unquoted = _QUOTED.sub(lambda match: " " * len(match[0]), text)
    starts = [0, *(match.end() for match in _OR.finditer(unquoted))]
    ends = [*(match.start() for match in _OR.finditer(unquoted)), len(text)]
    # Blanks in front keep the positions of errors those of the whole query.
    return tuple(parse_query(" " * a + text[a:b]) for a, b in zip(starts, ends, strict=True))


def parse_extension(text: str, names: Sequence[str]) -> Pattern:
    """Parse a pattern that refers to matched words, like that of ``without``."""
    parser = QueryParser(text)
    parser.matched_names = set(names)
    parser.words = {name: [] for name in names}
    pattern = parser.extension()
    if not parser.scan.is_done:
        raise parser.scan.error("expected a relation such as > or .")
    return pattern


class QueryParser(ConditionParser):
    """Recursive-descent parser; its state is the pattern that is being parsed."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.words: dict[str, list[Condition]] = {}
        """Words of the current pattern."""
        self.links: list[tuple[Link, int]] = []
        self.mentions: list[tuple[str, int]] = []
        """Names that must belong to matched words, and their positions."""
        self.matched_names: set[str] = set()
        self.inside_without = False

    def query(self) -> ParsedQuery:
        """query = part { ";" part } [ ";" ]"""
        self._collect_names()
        without: list[Pattern] = []
        comparisons: list[PropertyComparison] = []
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
                raise self._error_after_part()
            if self.scan.is_done:
                break
        self._check_mentions()
        words = {name: all_of(conditions) for name, conditions in self.words.items()}
        pattern = Pattern(words, tuple(link for link, _ in self.links))
        return ParsedQuery(pattern, tuple(without), tuple(comparisons), all_of(sentence))

    def _collect_names(self) -> None:
        """Collect the names outside ``without`` first, since it may refer to words of later parts."""
        unquoted = _QUOTED.sub(lambda match: " " * len(match[0]), self.scan.text)
        for part in unquoted.split(";"):
            if not re.match(r"\s*without\b", part):
                self.matched_names |= set(re.findall(r"@(\w+)", part))

    def _error_after_part(self) -> QueryError:
        if self.scan.sees_keyword("or"):
            return self.scan.error("put 'or' inside brackets, [upos=NOUN or deprel=obj], or after ;")
        return self.scan.error("expected a relation such as > or . , or ; and another part")

    def extension(self) -> Pattern:
        """A pattern whose names may be those of ``self.words``."""
        pattern = self._without()
        self._check_mentions()
        return pattern

    def _without(self) -> Pattern:
        """ "without" pattern: its new words are not part of the match."""
        outer = self.words, self.links
        mentions_before = len(self.mentions)
        self.words, self.links, self.inside_without = {}, [], True
        self._pattern()
        self.mentions[mentions_before:] = [
            (name, at)
            for name, at in self.mentions[mentions_before:]
            if name in self.matched_names or name not in self.words
        ]
        words = {
            name: all_of(conditions)
            for name, conditions in self.words.items()
            if name not in self.matched_names
        }
        for name, conditions in self.words.items():
            if name in self.matched_names and conditions:
                # A condition on a matched word goes to a new word that is linked to be the same.
                words[f"{name}'"] = all_of(conditions)
                self.links.append((Link(name, Relation(RelationKind.SAME), f"{name}'"), 0))
        pattern = Pattern(words, tuple(link for link, _ in self.links))
        self.words, self.links = outer
        self.inside_without = False
        return pattern

    def _sentence(self) -> Condition:
        """ "sentence" ( "[" conditions "]" | test { test } )"""
        if self.scan.take("["):
            condition = self._conditions(of_sentence=True)
            self.scan.expect("]")
            return condition
        if not self.scan.sees_test(is_number):
            raise self.scan.error("expected a test of the sentence such as length>20")
        return self._tests(of_sentence=True)

    def _sees_comparison(self) -> bool:
        return re.compile(r"@\w+\.[A-Za-z]").match(self.scan.text, self.scan.at) is not None

    def _comparison(self) -> PropertyComparison:
        """ "@" name "." property operator "@" name "." property"""
        left, left_property = self._word_property()
        at = self.scan.at
        operator = next((strict for strict in ("==", "!==") if self.scan.take(strict)), "")
        operator = operator or self.scan.comparison()
        if operator in ("~", "!~"):
            hint = "expected one of = != == !== < <= > >= between two words"
            raise self.scan.error(hint, unexpected=repr(operator), at=at)
        right, right_property = self._word_property()
        for prop in (left_property, right_property):
            if operator in NUMERIC_OPERATORS and not is_number(str(prop)):
                hint = f"{prop} is not a number; expected = != == or !=="
                raise self.scan.error(hint, unexpected=repr(operator), at=at)
        return PropertyComparison(left, left_property, operator, right, right_property)

    def _word_property(self) -> tuple[str, Property]:
        at = self.scan.at
        name = self.scan.name()
        if name is None or not self.scan.sees("."):
            hint = "expected a property of a word, such as @v.lemma (to test one word: @v[lemma=be])"
            raise self.scan.error(hint, at=at)
        self.scan.at += 1
        self.mentions.append((name, at))
        prop = self.scan.property()
        self.scan.skip()
        return name, prop

    def _pattern(self) -> str:
        """pattern = word { relation [ target ] }; returns the name of its first word."""
        left = self._word()
        while (at := self.scan.at) < len(self.scan.text) and (parsed := self._relation()) is not None:
            relation, negated = parsed
            if negated:
                self._negated(left, relation, at)
                continue
            if relation.kind is RelationKind.SAME and not self.inside_without:
                hint = "two words of a query are never the same word (== is for without)"
                raise self.scan.error(hint, at=at)
            right = self._target(relation)
            self._reject_chain(left, relation, right, at)
            self.links.append((Link(left, relation, right), at))
        return left

    def _target(self, relation: Relation) -> str:
        """target = word | "(" pattern ")"; optional after a label."""
        if self.scan.take("("):
            with self.scan.nested():
                name = self._pattern()
            self.scan.expect(")")
            return name
        if self._sees_word():
            return self._word()
        if relation.label is None:
            raise self.scan.error(EXPECTED_WORD + ("; [] is any word" if self.scan.is_done else ""))
        return self._new_word()

    def _negated(self, left: str, relation: Relation, at: int) -> None:
        """``!> obj [ ]`` is a condition on the left word, ``!> @s`` a negated link between two words."""
        if self.scan.sees("@"):
            name = self._bound_name()
            self.links.append((Link(left, relation, name, negated=True), at))
            return
        self.words.setdefault(left, []).append(Not(self._exists(relation)))

    def _bound_name(self) -> str:
        at = self.scan.at
        name = self.scan.name()
        if name is None:
            raise self.scan.error("expected a name after @")
        self.scan.skip()
        if self.scan.sees("["):
            raise self.scan.error("a name after a negated relation takes no conditions")
        self.mentions.append((name, at))
        return name

    def _word(self) -> str:
        """word = "@" name [ "[" conditions "]" ] | "[" [ conditions ] "]" | test { test }"""
        if self.scan.sees("@"):
            at = self.scan.at
            name = self.scan.name()
            if name is None:
                raise self.scan.error("expected a name after @")
            if self.scan.sees(".") and re.match(r"\.[A-Za-z]", self.scan.text[self.scan.at :]):
                raise self.scan.error("put conditions in [ ], and spaces around the relation .")
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
            raise self.scan.error(EXPECTED_WORD)
        name = self._new_word()
        self.words[name].append(condition)
        return name

    def _numbered(self, name: str, at: int) -> list[Condition]:
        """``@2``: the second word, which must come earlier in the query."""
        if self.inside_without:
            self.matched_names.add(name)
            self.mentions.append((name, at))
            return self.words.setdefault(name, [])
        if name not in self.words:
            hint = "a number must refer to an earlier word without a name; start your own names with a letter"
            raise self.scan.error(hint, unexpected=f"@{name}", at=at)
        return self.words[name]

    def _new_word(self) -> str:
        """Name an unnamed word after its position, from 1."""
        # Words of ``without`` are named w1, w2, … so that they cannot hide the matched words 1, 2, …
        name = f"{'w' if self.inside_without else ''}{len(self.words) + 1}"
        while name in self.words or (self.inside_without and name in self.matched_names):
            name += "'"
        self.words[name] = []
        return name

    def _reject_chain(self, left: str, relation: Relation, right: str, at: int) -> None:
        """Reject ``a . b . c``: relations start at the first word, and only one word can follow it."""

        def steps(relation: Relation) -> tuple[RelationKind, int, int | None]:
            return relation.kind, relation.low, relation.high

        if any(includes_empty_nodes(all_of(conditions)) for conditions in self.words.values()):
            return  # a word and an empty node can both follow it immediately
        for link, _ in self.links:
            same = link.left == left and not link.negated and steps(link.relation) == steps(relation)
            if relation.is_unique and same and link.right != right:
                hint = (
                    "all relations start at the first word, which has only one such word; "
                    "use parentheses: a . (b . c) or a < (b < c)"
                )
                raise self.scan.error(hint, at=at)

    def _check_mentions(self) -> None:
        """Check that all names belong to matched words."""
        for name, at in self.mentions:
            if name not in self.words:
                names = ", ".join(f"@{word}" for word in self.words) or "none"
                hint = f"it is not a matched word (matched words: {names})"
                raise self.scan.error(hint, unexpected=f"@{name}", at=at)
