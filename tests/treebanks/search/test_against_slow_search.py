"""The search against its definition: random queries over random small trees, every operator, all hits in
order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import Treebank
from arcwise.treebanks.search import Columns, Query, QueryError
from treebanks.search import random_queries
from treebanks.search.every_query import every_query, fixed_treebank, relation_queries
from treebanks.search.slow_search import Said, Slow, SlowPattern, SlowQuery

SIGNS = (">", "<", ">>", "<<", ".", "..", ",", ",,", "$")


def treebank_of(sentences: list[Slow]) -> Treebank:
    return Treebank.from_string("".join(s.to_conllu() for s in sentences))


def check(treebank: list[Slow], query: SlowQuery) -> None:
    expected = list(query.hits(treebank))
    columns = Columns(treebank_of(treebank))
    try:
        read = Query.parse(query.text)
    except QueryError as error:  # a . b . c, which nothing can be
        assert "parentheses" in str(error)
        assert not expected or query.without
        return
    assert [(h.sentence, h.words) for h in read.hits(columns)] == expected, query.text
    assert read.count(columns) == (len(expected), len({sentence for sentence, _ in expected}))


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(random_queries.treebanks, random_queries.queries())
def test_any_query(treebank: list[Slow], query: SlowQuery) -> None:
    check(treebank, query)


@pytest.mark.slow
@pytest.mark.parametrize("sign", SIGNS)
@settings(max_examples=15, deadline=None)
@given(random_queries.treebanks, st.data())
def test_every_relation(sign: str, treebank: list[Slow], data: st.DataObject) -> None:
    """In every place where it may stand."""
    relation, test = data.draw(random_queries.relations((sign,))), data.draw(random_queries.some_tests())
    for query in relation_queries(relation, test):
        check(treebank, query)


@pytest.mark.slow
def test_every_property_and_sign() -> None:
    treebank = fixed_treebank()
    for query in every_query():
        check(treebank, query)


@settings(max_examples=25, deadline=None)
@given(random_queries.treebanks)
def test_the_same_word(treebank: list[Slow]) -> None:
    """``==`` stands in ``without``: a word that has one child alone."""
    child = Said("", lambda s, a, b: s.head(b) == a)
    other = Said("", lambda s, a, b: a != b)
    query = SlowQuery(
        "@v > @c; without @v > ([] !== @c)",
        SlowPattern({"v": [], "c": []}, [("v", child, "c")]),
        [SlowPattern({"x": []}, [("v", child, "x"), ("x", other, "c")])],
        [],
    )
    check(treebank, query)


@pytest.mark.parametrize("form", [";", "|", "\\", '"', "'", "[", "don't", "@x", "{2}", "a=b", "or", "!"])
def test_any_form_can_be_written(form: str) -> None:
    treebank = Treebank.from_string(f"1\t{form}\t_\t_\t_\t_\t0\troot\t_\t_\n2\ty\t_\t_\t_\t_\t1\tx\t_\t_\n\n")
    written = '"' + form.replace("\\", "\\\\").replace('"', '\\"') + '"'
    for query in (f"form={written}", f"form={written} > x", f"[form={written}|zzz]"):
        assert [h.words["1"] for h in Query.parse(query).hits(treebank)] == [1]
    assert [h.words["1"] for h in Query.parse(f"form!={written}").hits(treebank)] == [2]
