"""The search against its definition: random queries over random small trees, every operator, all hits in order."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import Treebank
from arcwise.treebanks.search import Columns, Query, QueryError
from treebanks.search import slow_search
from treebanks.search.slow_search import Said, Slow, SlowPattern, SlowQuery, relations, some_tests

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


@settings(max_examples=400, deadline=None)
@given(slow_search.treebanks, slow_search.queries())
def test_any_query(treebank: list[Slow], query: SlowQuery) -> None:
    check(treebank, query)


@pytest.mark.parametrize("sign", SIGNS)
@settings(max_examples=25, deadline=None)
@given(slow_search.treebanks, st.data())
def test_every_relation(sign: str, treebank: list[Slow], data: st.DataObject) -> None:
    """Between two words, in brackets, negated, between words with names, and in ``without``."""
    relation, test = data.draw(relations((sign,))), data.draw(some_tests())
    r, none = relation.text, SlowPattern()
    has = Said("", lambda s, w: any(relation.holds(s, w, o) and test.holds(s, o) for o in s.words))
    has_not = Said("", lambda s, w: not has.holds(s, w))
    pair = SlowPattern({"1": [], "2": [test]}, [("1", relation, "2")])
    named = {"a": [], "b": [test]}
    not_related = Said("", lambda s, a, b: not relation.holds(s, a, b))
    queries = [
        SlowQuery(f"[] {r} {test.text}", pair, [], []),
        SlowQuery(f"[{r}[{test.text}]]", SlowPattern({"1": [has]}), [], []),
        SlowQuery(f"[] !{r}[{test.text}]", SlowPattern({"1": [has_not]}), [], []),
        SlowQuery(f"@a; @b[{test.text}]; @a {r} @b", SlowPattern(named, [("a", relation, "b")]), [], []),
        SlowQuery(f"@a; @b[{test.text}]; @a !{r} @b", SlowPattern(named, [("a", not_related, "b")]), [], []),
        SlowQuery(f"without [] {r} {test.text}", none, [pair], []),
        SlowQuery(
            f"@a; without @a {r} @b[{test.text}]",
            SlowPattern({"a": []}),
            [SlowPattern({"b": [test]}, [("a", relation, "b")])],
            [],
        ),
    ]
    for query in queries:
        check(treebank, query)


@settings(max_examples=25, deadline=None)
@given(slow_search.treebanks)
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
