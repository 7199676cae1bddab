"""From the text of a query to what it says (``ParsedQuery``): one method for each rule of the grammar in docs/reference/search.md."""

from __future__ import annotations

import re

from arcwise.treebanks.search.condition_parser import WORD, ConditionParser, all_of, is_number
from arcwise.treebanks.search.scanner import NUMBER_SIGNS
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


def parse_query(text: str) -> ParsedQuery:
    """What a query says.

    >>> parse_query("upos=VERB > obj").pattern.links
    (Link(left='1', relation=Relation(kind=<RelationKind.BELOW: 'below'>, low=1, high=1, label=PropertyTest(...)), right='2', negated=False),)
    """
    return QueryParser(text).query()


class QueryParser(ConditionParser):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.words: dict[str, list[Condition]] = {}
        """Words of the pattern that is being read."""
        self.links: list[tuple[Link, int]] = []
        self.mentions: list[tuple[str, int]] = []
        """Names that must be those of words that are found, and where they stand."""
        self.found_names: set[str] = set()
        self.inside_without = False

    # ---- parts

    def query(self) -> ParsedQuery:
        """query = part { ";" part } [ ";" ]"""
        self._note_names()
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
                raise self._after_part()
            if self.scan.is_done:
                break
        self._check()
        words = {name: all_of(conditions) for name, conditions in self.words.items()}
        found = Pattern(words, tuple(link for link, _ in self.links))
        return ParsedQuery(found, tuple(without), tuple(comparisons), all_of(sentence))

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
            name: all_of(conditions)
            for name, conditions in self.words.items()
            if name not in self.found_names
        }
        for name, conditions in self.words.items():
            if name in self.found_names and conditions:
                # ParsedQuery of a word that is found: a twin of its own, the same word, has the condition.
                words[f"{name}'"] = all_of(conditions)
                self.links.append((Link(name, Relation(RelationKind.SAME), f"{name}'"), 0))
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

    def _comparison(self) -> PropertyComparison:
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
        return PropertyComparison(left, left_property, sign, right, right_property)

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
            if relation.kind is RelationKind.SAME and not self.inside_without:
                raise self.scan.error(
                    "another relation: two words of a query are never the same word (== stands in without)",
                    at=at,
                )
            right = self._target(relation)
            self._refuse_second(left, relation, right, at)
            self.links.append((Link(left, relation, right), at))
        return left

    def _target(self, relation: Relation) -> str:
        """target = word | "(" pattern ")"; after a label there may be none."""
        if self.scan.take("("):
            with self.scan.inside():
                name = self._pattern()
            self.scan.expect(")")
            return name
        if self._sees_word():
            return self._word()
        if relation.label is None:
            raise self.scan.error(WORD if not self.scan.is_done else f"{WORD}; [] is any word")
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

    # ---- words

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
            raise self.scan.error(WORD)
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

    # ---- what a whole query must be

    def _refuse_second(self, left: str, relation: Relation, right: str, at: int) -> None:
        """Relations go from the first word: ``a . b . c`` would ask for two words right after a."""

        def steps(one: Relation) -> tuple[RelationKind, int, int | None]:
            return one.kind, one.low, one.high

        for link, _ in self.links:
            same = link.left == left and not link.negated and steps(link.relation) == steps(relation)
            if relation.is_unique and same and link.right != right:
                raise self.scan.error(
                    "parentheses, a . (b . c) or a < (b < c): relations go from the first word, which has one such word alone",
                    at=at,
                )

    def _check(self) -> None:
        """Names that are mentioned belong to words that are found."""
        for name, at in self.mentions:
            if name not in self.words:
                known = ", ".join(f"@{n}" for n in self.words) or "none"
                raise self.scan.error(f"a word that the query finds ({known})", found=f"@{name}", at=at)
