"""The search against its definition: random queries over random small trees, every operator, all hits in order."""

from hypothesis import given, settings

from arcwise import Treebank
from arcwise.treebanks.search import Columns, Query, QueryError
from treebanks.search import slow_search
from treebanks.search.slow_search import Slow, SlowQuery


def treebank_of(sentences: list[Slow]) -> Treebank:
    return Treebank.from_string("".join(s.to_conllu() for s in sentences))


def check(treebank: list[Slow], query: SlowQuery) -> int:
    expected = list(query.hits(treebank))
    columns = Columns(treebank_of(treebank))
    try:
        Query.parse(query.text)
    except QueryError as error:  # a . b . c, which nothing can be
        assert "parentheses" in str(error)
        assert not expected or query.without
        return 0
    found = [(h.sentence, h.words) for h in Query.parse(query.text).hits(columns)]
    assert found == expected, query.text
    assert Query.parse(query.text).count(columns) == (len(expected), len({s for s, _ in expected}))
    return len(expected)


@settings(max_examples=600, deadline=None)
@given(slow_search.treebanks, slow_search.queries())
def test_any_query(treebank: list[Slow], query: SlowQuery) -> None:
    check(treebank, query)
