"""Queries, changes and tables that are not understood: one sentence, at the right place."""

import pytest

from arcwise.errors import InputError
from arcwise.treebanks.search import MassEdit, Query, QueryError, read_table

WRONG_QUERIES = [
    ("", 0, "unexpected end; expected a word"),
    ("   ", 3, "unexpected end"),
    ("nsubj", 0, "expected a word"),
    ("upos", 0, "expected a word"),
    ("upos=", 5, "unexpected end; expected a value"),
    ("upos==X", 5, "expected a value"),
    ("upos=VERB >", 11, "[] is any word"),
    ("upos=VERB > )", 12, "unexpected ')'"),
    ("upos=VERB >> obj", 13, "only > < -> and <- take labels"),
    ("upos=VERB nsubj", 10, "expected a relation"),
    ("upos=VERB > obj (upos=NOUN", 26, "expected ')'"),
    ("[upos=VERB", 10, "expected ']'"),
    ("[upos=VERB or ]", 14, "expected a test"),
    ("upos=NOUN or upos=VERB", 10, "inside brackets"),
    ('form="a', 5, "the closing quotation mark is missing"),
    ('lemma~"("', 6, "invalid regular expression"),
    ("upos~A|B", 6, "in quotes"),
    ("Upos=VERB", 0, "unexpected 'Upos'; did you mean 'upos'?"),
    ("label=obj", 0, "unexpected 'label'; did you mean 'deprel'?"),
    ("lema=be", 0, "unexpected 'lema'; did you mean 'lemma'?"),
    ("Case=Acc", 0, "a feature is feats.Case"),
    ("upos.x=A", 5, "unexpected 'x'; upos has no keys"),
    ("prev=X", 0, "prev.upos"),
    ("head.next=X", 0, "next.upos"),
    ("depth>x", 6, "unexpected 'x'; expected a number"),
    ("depth=x", 6, "expected a number"),
    ("depth~1", 5, "a number"),
    ("projective=maybe", 11, "yes or no"),
    ("upos=A ..{3,2} upos=B", 9, "low"),
    ("upos=A ..{0} upos=B", 9, "low"),
    ("upos=A ..{x} upos=B", 9, "{2}"),
    ("upos=A .{2} upos=B", 8, ". takes no bounds"),
    ("upos=A . upos=B . upos=C", 16, "parentheses"),
    ("upos=A < upos=B < upos=C", 16, "parentheses"),
    ("upos=A == upos=B", 7, "never the same word"),
    ("upos=A !> upos=B", 10, "in brackets"),
    ("upos=A !> (upos=B)", 10, "in brackets"),
    ("upos=A !> @b[upos=B]", 12, "takes no conditions"),
    ("upos=A !> @b", 10, "unexpected @b; it is not a matched word (matched words: @1)"),
    ("upos=A ! upos=B", 9, "expected a relation after '!'"),
    ("[upos=A > @b]", 10, "brackets cannot contain names"),
    ("[> obj upos=A @b]", 7, "in brackets"),
    ("@2 > obj", 0, "refer to an earlier word"),
    ("@ > obj", 0, "a name after @"),
    ("@a.lemma=be", 9, "@v[lemma=be]"),
    ("@a.lemma=@b.lemma", 0, "unexpected @a; it is not a matched word (matched words: none)"),
    ("@a .. @b; @a.lemma~@b.lemma", 18, "between two words"),
    ("@a .. @b; @a.lemma<@b.lemma", 18, "not a number"),
    ("@a.", 3, "after ."),
    ("sentence", 8, "a test of the sentence"),
    ("sentence upos=VERB", 9, "unexpected 'upos'; expected a sentence property"),
    ("sentence [length>3 > obj]", 19, "a test such as length>20"),
    ("[" * 3000, 41, "nested at most 40 deep"),
    ("[] > (" * 3000, 246, "nested at most 40 deep"),
    ("upos=VERB, lemma=be", 5, "separate tests by spaces"),
    ("[upos=VERB, lemma=be]", 6, "separate tests by spaces"),
    ("lemma=be*", 6, 'lemma~"be"'),
    ("upos=/V.*/", 5, 'lemma~"V."'),
    ("upos=VERB > *", 12, "[] is any word"),
    ("upos=VERB and > obj", 14, "a test such as upos=VERB"),
    ("upos=A; without", 15, "expected a word"),
    ("upos=A;; upos=B", 7, "expected a word"),
    ("without @v !> @x; @v[upos=A]", 14, "unexpected @x"),
]  # fmt: skip


@pytest.mark.parametrize("query, position, said", WRONG_QUERIES, ids=[q[:30] for q, _, _ in WRONG_QUERIES])
def test_wrong_query(query: str, position: int, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        Query.parse(query)
    assert said in str(caught.value)
    assert caught.value.position == position, str(caught.value)
    assert str(caught.value).startswith(f"query, character {position + 1}: unexpected ")
    assert "\n" not in str(caught.value)
    assert caught.value.pointed() == f"{query}\n{' ' * position}^"


WRONG_CHANGES = [
    ("", 0, "a change such as"),
    ("deprel", 6, "expected '=' after deprel"),
    ("deprel=", 7, "expected a value"),
    ("deprel==x", 6, "use a single ="),
    ("3.deprel=x", 0, "unexpected '3'; it is not a matched word (matched words: 1, v)"),
    ("2.deprel=x", 0, "matched words: 1, v)"),
    ("id=3", 0, "a column that can be set"),
    ("udeprel=x", 0, "a column that can be set"),
    ("head.upos=X", 0, "a column that can be set"),
    ("v.head.upos=X", 2, "a column that can be set"),
    ("upso=X", 0, "unexpected 'upso'; did you mean 'upos'?"),
    ("head=x", 5, "expected a number, _ or a matched word"),
    ("head=-1", 5, "expected a number"),
    ("head=@w", 5, "unexpected 'w'; it is not a matched word"),
    ("head=@v.upos", 8, "its .head"),
    ("upos=@v", 5, "such as @v.lemma"),
    ("upos=@v.depth", 8, "such as @v.lemma"),
    ('feats.Case="a|b"', 11, "also without |"),
    ('lemma="a\tb"', 6, "without tabs"),
    ('lemma=""', 6, "_ removes it"),
    ("upos=A; upos=B", 8, "a field can be set once"),
    ("upos=A upos=B", 7, "; and another change"),
    ("feats=Case=Acc", 10, "; and another change"),
]  # fmt: skip


@pytest.mark.parametrize("changes, position, said", WRONG_CHANGES, ids=[c for c, _, _ in WRONG_CHANGES])
def test_wrong_changes(changes: str, position: int, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        MassEdit.parse("upos=VERB > nsubj @v", changes)
    assert said in str(caught.value)
    assert caught.value.position == position, str(caught.value)
    assert str(caught.value).startswith("changes, character ")


def test_changes_of_sentences_are_refused() -> None:
    with pytest.raises(InputError, match="matches only sentences"):
        MassEdit.parse("sentence length>3", "upos=X")


@pytest.mark.parametrize(
    "table, said",
    [("", "a property"), ("x.lemma", "matched words: 1, 2)"), ("upos lemma", "','"), ("lema", "'lemma'")],
)
def test_wrong_table(table: str, said: str) -> None:
    with pytest.raises(QueryError, match=r"^table, character") as caught:
        read_table(table, ["1", "2"])
    assert said in str(caught.value)
