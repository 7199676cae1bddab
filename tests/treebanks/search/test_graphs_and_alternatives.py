"""Enhanced arcs, alternatives between patterns, and tables by a condition."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.treebanks.search import Columns, MassEdit, Query, frequencies, read_table, unseen
from arcwise.treebanks.search.syntax import QueryError

ROWS = [
    "1 She she PRON _ _ 2 nsubj 2:nsubj|4:nsubj:xsubj _",
    "2 wants want VERB _ _ 0 root 0:root _",
    "3 to to PART _ _ 4 mark 4:mark _",
    "4 read read VERB _ _ 2 xcomp 2:xcomp _",
    "5 books book NOUN _ _ 4 obj 4:obj|4:obl _",
    "5.1 read read VERB _ _ _ _ 4:conj:and _",
    "6 fast fast ADV _ _ 4 advmod 5.1:advmod|99:dep|x _",
]
TREEBANK = Treebank.from_string("\n".join(ROWS).replace(" ", "\t") + "\n\n", strict=False)


def words(query: str) -> list[tuple[int, ...]]:
    return [tuple(hit.words.values()) for hit in Query.parse(query).hits(TREEBANK)]


@pytest.mark.parametrize(
    "query, expected",
    [
        ("upos=VERB > nsubj", [(2, 1)]),
        ("upos=VERB -> []", [(2, 1), (2, 4), (4, 1), (4, 3), (4, 5)]),
        ("upos=VERB -> ~\"^nsubj\"", [(2, 1), (4, 1)]),
        ("upos=VERB -> nsubj:xsubj", [(4, 1)]),
        ("upos=PRON <- nsubj:xsubj upos=VERB", [(1, 4)]),
        ("[upos=VERB -> nsubj:xsubj]", [(4,)]),
        ("[upos=VERB !-> obj|obl]", [(2,)]),
        ("upos=PRON <- []", [(1, 2), (1, 4)]),
        ("@v -> obj @o; @v > @o", [(4, 5)]),
        ("@a[upos=VERB] -> @b; without @a > @b", [(4, 1)]),
        ("@a[upos=VERB] -> nsubj:xsubj @b; @c > @b; @c > @a", [(4, 1, 2)]),
        ("form=fast <- []", []),
    ],
)  # fmt: skip
def test_arcs_of_the_enhanced_graph(query: str, expected: list[tuple[int, ...]]) -> None:
    assert words(query) == expected


def test_a_label_of_deps_gives_no_hint_about_deprel() -> None:
    assert unseen(Query.parse("[] -> nsubj:xsubj"), Columns(TREEBANK)) == {}
    assert unseen(Query.parse("[] > nsub"), Columns(TREEBANK)) == {"deprel=nsub": "nsubj"}


def test_alternatives_between_patterns() -> None:
    query = Query.parse("upos=VERB > nsubj; or upos=VERB > obj @o; or upos=PRON")
    found = [(hit.sentence, hit.words) for hit in query.hits(TREEBANK)]
    assert found == [(0, {"1": 2, "2": 1}), (0, {"1": 4, "o": 5}), (0, {"1": 1})]
    assert query.count(TREEBANK) == (3, 1)
    assert query.names == ("1",)
    assert unseen(Query.parse("upos=VERB; or upos=Noun"), Columns(TREEBANK)) == {"upos=Noun": "NOUN"}


def test_words_that_several_alternatives_match_are_one_hit() -> None:
    assert words('upos=VERB; or lemma=read; or form="; or"') == [(2,), (4,)]
    twice = Treebank.from_string(TREEBANK.text * 3, strict=False)
    assert Query.parse("upos=VERB; or lemma=read; without upos=X").count(twice) == (6, 3)


def test_errors_of_alternatives_and_conditions_have_their_place() -> None:
    with pytest.raises(QueryError, match="query, character 15: unexpected 'pos'"):
        Query.parse("upos=VERB; or pos=VERB")
    with pytest.raises(QueryError, match=r"put 'or' inside brackets, .* or after ;"):
        Query.parse("upos=VERB or upos=NOUN")
    with pytest.raises(QueryError, match="@x"):
        read_table("{@1 !> @x}", ["1"])
    with pytest.raises(QueryError, match="the closing } is missing"):
        read_table("{@1 > obj", ["1"])


def test_a_table_by_a_condition() -> None:
    query = Query.parse("upos=VERB")
    columns = Columns(TREEBANK)
    table = read_table('{@1 > obj},{@1 >>{2,3} form="books"},lemma,{@1 -> ~"xsubj$"}', query.names)
    assert dict(frequencies(query.hits(columns), table, columns)) == {
        ("no", "yes", "want", "no"): 1,
        ("yes", "no", "read", "yes"): 1,
    }
    order = read_table("{@2 .. @1}", ("1", "2"))
    found = frequencies(Query.parse("upos=VERB > []").hits(columns), order, columns)
    assert dict(found) == {("yes",): 2, ("no",): 3}


def test_the_command_prints_tables_by_a_condition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.conllu"
    file.write_text(TREEBANK.text.replace("|99:dep|x", ""))
    assert run(["search", "upos=VERB", "--table", "{@1 > obj}", "--json", str(file)]) == 0
    assert "yes" in json.dumps(json.loads(capsys.readouterr().out))


def test_edits_of_alternatives_use_the_words_that_all_have() -> None:
    edit = MassEdit.parse("upos=ADV; or upos=PART", "upos=X")
    assert edit.apply(TREEBANK).column("upos").count("X") == 2
    with pytest.raises(QueryError, match="'2'"):
        MassEdit.parse("upos=ADV; or upos=VERB > nsubj", "2.upos=X")
