"""Parser of queries: one method for each rule of the grammar in docs/reference/search.md."""

from __future__ import annotations

import re

from arcwise.treebanks.search.condition_parser import EXPECTED_WORD, ConditionParser, all_of, is_number
from arcwise.treebanks.search.scanner import NUMERIC_OPERATORS
from arcwise.treebanks.search.syntax import (
    Condition,
    Link,
    Not,
    ParsedQuery,
    Pattern,
    Property,
    PropertyComparison,
    QueryError,
    Relation,
    RelationKind,
)

_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)


def parse_query(text: str) -> ParsedQuery:
    """Parse a query into its syntax tree.

    >>> (link,) = parse_query("upos=VERB > obj").pattern.links
    >>> link.left, link.relation.kind, link.right
    ('1', <RelationKind.DESCENDANT: 'descendant'>, '2')
    """
    return QueryParser(text).query()


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
            return self.scan.error("put 'or' inside brackets: [upos=NOUN or deprel=obj]")
        return self.scan.error("expected a relation such as > or . , or ; and another part")

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
        operator = self.scan.comparison()
        if operator in ("~", "!~"):
            hint = "expected one of = != < <= > >= between two words"
            raise self.scan.error(hint, unexpected=repr(operator), at=at)
        right, right_property = self._word_property()
        for prop in (left_property, right_property):
            if operator in NUMERIC_OPERATORS and not is_number(str(prop)):
                hint = f"{prop} is not a number; expected = or !="
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
