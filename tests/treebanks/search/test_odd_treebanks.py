"""Searches of what is empty, broken or unusual."""

import pickle

import pytest

from arcwise import Treebank
from arcwise.treebanks.search import Columns, Query, frequencies, read_table
from treebanks.samples import ALL, PARTIAL, RICH

EVERY_KIND = [
    "upos=X", "[> obj]", "[>> []]", "[<< []]", "[.. []]", "[$ []]", "[] > []", "[] >> []", "[] .. []", "[] $ []", "depth>1", "projective=no",
    "sentence length>0", "sentence projective=no", "without upos=X", "sentence text~x", "sentence comment~x", "@a .. @b; @a.lemma=@b.lemma",
]  # fmt: skip


@pytest.mark.parametrize("query", EVERY_KIND)
def test_an_empty_treebank_has_no_hits(query: str) -> None:
    assert list(Query.parse(query).hits(Treebank(b""))) == []
    assert Query.parse(query).count(Treebank(b"")) == (0, 0)


@pytest.mark.parametrize("query", EVERY_KIND)
def test_cycles_and_impossible_heads_end(query: str) -> None:
    """Files that are read as they are may have such; a head that cannot be, or the word itself, is not
    known."""
    rows = [
        "1 a _ X _ _ 2 x _ _",
        "2 b _ X _ _ 1 x _ _",
        "3 c _ X _ _ 3 x _ _",
        "4 d _ X _ _ 9 x _ _",
        "5 e _ X _ _ 0 root _ _",
    ]
    text = "\n".join(rows).replace(" ", "\t") + "\n\n"
    treebank = Treebank.from_string(text + ALL, strict=False)
    assert treebank.problems
    list(Query.parse(query).hits(treebank))
    assert [h.words["1"] for h in Query.parse("head=_; sentence length=5").hits(treebank)] == [3, 4]
    assert [h.words["1"] for h in Query.parse("depth=1; sentence length=5").hits(treebank)] == [5]


def test_open_heads() -> None:
    treebank = Treebank.from_string(PARTIAL)
    for query, expected in [
        ("head=_", [2, 3]),
        ("depth=_", [1, 2, 3]),
        ("projective=_", [2, 3]),
        ("[$ []]", []),
    ]:
        assert [h.words["1"] for h in Query.parse(query).hits(treebank)] == expected


def test_comments_are_those_of_the_sentence() -> None:
    text = "# sent_id = lost\n\n# sent_id = kept\n# a = b = c\n# plain\n" + PARTIAL.partition("\n")[2]
    treebank = Treebank.from_string(text, strict=False)
    for query, hits in [
        ("sentence sent_id=lost", 0),
        ("sentence sent_id=kept", 1),
        ('sentence comment.a="b = c"', 1),
        ("sentence comment.plain!=_", 1),
        ("sentence comment.plane!=_", 0),
        ('sentence comment~"^plain$"', 0),
        ('sentence comment~"(?m)^plain$"', 1),
        ('sentence text="猫 が 寝る"', 1),
    ]:
        assert Query.parse(query).count(treebank)[0] == hits, query
    assert [Columns(treebank).comment_lines[0]] == [treebank[0].comment_lines]


def test_comment_lines_are_those_of_sentences() -> None:
    for text in (ALL, ALL.replace("\n", "\r\n"), "\ufeff" + ALL, "\n\n" + ALL):
        treebank = Treebank.from_string(text, strict=False)
        assert Columns(treebank).comment_lines == [sentence.comment_lines for sentence in treebank]


def test_hits_come_in_blocks_that_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    from arcwise.treebanks.search import joining

    treebank = Treebank.from_string(ALL * 5)
    queries = [
        Query.parse(q)
        for q in (
            "[] .. []",
            "@a[]; @b[id<3]",
            "[] > []",
            "upos=VERB >> []",
            "[] > (@x > @y); without @x > cc",
        )
    ]
    expected, counts = [list(q.hits(treebank)) for q in queries], [q.count(treebank) for q in queries]
    monkeypatch.setattr(joining, "_BLOCK", 1)
    assert [list(q.hits(treebank)) for q in queries] == expected
    assert [q.count(treebank) for q in queries] == counts
    assert [hits for hits, _ in counts] == [len(hits) for hits in expected]


def test_a_table_of_frequencies() -> None:
    columns = Columns(Treebank.from_string(ALL))
    query = Query.parse("[] > []")
    table = read_table("2.upos, head.upos, @2.distance,feats.Number", query.names)
    counts = frequencies(query.hits(columns), table, columns)
    assert counts["NOUN", "_", "1", "_"] == 1  # sing > Birds
    assert counts["PRON", "_", "1", "Plur"] == 1  # Vamos > nos
    assert sum(counts.values()) == query.count(columns)[0]


def test_a_query_travels() -> None:
    query = Query.parse('@v[upos=VERB] > ~"subj" @s; without @v > obj; sentence length>1')
    again = pickle.loads(pickle.dumps(query))
    treebank = Treebank.from_string(ALL + RICH)
    assert list(again.hits(treebank)) == list(query.hits(treebank))


def test_and_may_be_written() -> None:
    treebank = Treebank.from_string(ALL)
    for query in ("upos=VERB and lemma=sing", "[upos=VERB and lemma=sing]", "upos=VERB lemma=sing"):
        assert [h.words for h in Query.parse(query).hits(treebank)] == [{"1": 2}]
    assert Query.parse("sentence length>3 and sent_id=two").count(treebank) == (1, 1)
    assert Query.parse('form="*"|","').count(treebank) == (0, 0)
