"""The search on real treebanks: the same hits as the slow twin on some sentences of each, the same counts as
a plain loop on a whole file."""

from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.treebanks.search import MassEdit, Query
from treebanks.search.every_query import every_query
from treebanks.search.slow_search import COLUMNS, Slow
from treebanks.search.test_against_slow_search import check

REAL_QUERIES = [
    query
    for query in every_query()
    if "P" not in query.text and "text" not in query.text and len(query.found.words) < 3
]


def slow_sentences(path: Path, count: int, longest: int) -> list[Slow]:
    chosen = [s for s in Treebank.read(path) if len(s) <= longest][:count]
    found = []
    for sentence in chosen:
        words = [row for row in sentence.rows if row[0].isdigit()]
        found.append(Slow(sentence.comments, [dict(zip(COLUMNS, row, strict=True)) for row in words]))
    return found


@pytest.mark.slow
@pytest.mark.treebanks
def test_the_same_hits_as_the_slow_twin(treebanks: Path) -> None:
    paths = sorted(treebanks.glob("*/dev.conllu.xz"))
    assert paths
    sentences = [s for path in paths for s in slow_sentences(path, 2, 9)]
    for query in REAL_QUERIES:
        check(sentences, query)


@pytest.mark.treebanks
def test_the_same_counts_as_a_loop(treebanks: Path) -> None:
    treebank = Treebank.read(treebanks / "English-EWT" / "dev.conllu.xz")
    subjects = without_object = 0
    for sentence in treebank:
        for head, label in zip(sentence.heads[1:].tolist(), sentence.deprels, strict=True):
            subjects += label == "nsubj" and head > 0 and sentence.upos[head - 1] == "VERB"
        for word in range(1, len(sentence) + 1):
            labels = [sentence.deprels[c - 1] for c in sentence.tree.children(word)]
            without_object += sentence.upos[word - 1] == "VERB" and "obj" not in labels
    assert Query.parse("upos=VERB > nsubj").count(treebank)[0] == subjects
    assert Query.parse("[upos=VERB !> obj]").count(treebank)[0] == without_object


@pytest.mark.treebanks
def test_an_edit_and_back_gives_the_same_bytes(treebanks: Path) -> None:
    for path in sorted(treebanks.glob("*/dev.conllu.xz"))[:6]:
        treebank = Treebank.read(path)
        there = MassEdit.parse("id=1 misc.Mark=_", "misc.Mark=Yes").apply(treebank)
        assert there.data != treebank.data
        assert MassEdit.parse("misc.Mark=Yes", "misc.Mark=_").apply(there).data == treebank.data
