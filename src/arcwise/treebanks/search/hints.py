"""Why a query may have found nothing: values that do not occur."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from arcwise.treebanks.search.query import Query
from arcwise.treebanks.search.syntax import AllOf, AnyOf, Condition, Exists, Not, PropertyTest
from arcwise.treebanks.search.values import Columns, Texts

_MOST = 1000  # values that another one is looked for among


def unseen(query: Query, columns: Columns) -> dict[str, str]:
    """Tests that no word passes, because their values do not occur → the value that was perhaps meant, or "".

    >>> from arcwise.treebanks import Sentence
    >>> unseen(Query.parse("upos=Verb"), Columns(Sentence.from_words(["Go"], upos=["VERB"]).treebank))
    {'upos=Verb': 'VERB'}
    """
    pattern = query.parsed.pattern
    conditions = [*pattern.words.values(), *(c.relation.label for c in pattern.links if c.relation.label)]
    found: dict[str, str] = {}
    for test in (test for condition in conditions for test in _tests(condition)):
        values = columns.of_words(test.property)
        if test.sign != "=" or not isinstance(values, Texts):
            continue
        seen = {values.strings[code] for code in set(values.codes.tolist())}
        if not seen & set(test.values):
            found[f"{test.property}={'|'.join(test.values)}"] = _meant(test.values[0], seen)
    return found


def _tests(condition: Condition) -> Iterator[PropertyTest]:
    """The tests that must hold of some word."""
    if isinstance(condition, PropertyTest):
        yield condition
    elif isinstance(condition, (AllOf, AnyOf)):
        for part in condition.conditions:
            yield from _tests(part)
    elif isinstance(condition, Exists):
        yield from _tests(condition.condition)
        if condition.relation.label:
            yield condition.relation.label
    else:
        assert isinstance(condition, Not)


def _meant(value: str, seen: set[str]) -> str:
    same = sorted(other for other in seen if other.lower() == value.lower())
    if same or len(seen) > _MOST:
        return same[0] if same else ""
    return next(iter(get_close_matches(value, sorted(seen), 1)), "")
