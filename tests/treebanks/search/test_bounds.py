"""Searches of long sentences and deep trees: memory stays bounded, and too much work is one line."""

from __future__ import annotations

import tracemalloc
from itertools import islice, permutations

import pytest

from arcwise import Treebank
from arcwise.errors import InputError
from arcwise.treebanks.search import (
    Columns,
    Hit,
    HitList,
    MassEdit,
    Query,
    joining,
    mass_edit,
    matching,
    values,
)


def flat(words: int, sentences: int = 1) -> Treebank:
    """Sentences in which all words depend on the first."""
    rows = "".join(f"{i}\tw{i}\t_\tX\t_\t_\t{int(i > 1)}\tdep\t_\t_\n" for i in range(1, words + 1))
    return Treebank.from_string((rows + "\n") * sentences)


def chain(words: int) -> Treebank:
    """A sentence in which every word depends on the one before."""
    return Treebank.from_string(
        "".join(f"{i}\tw\t_\tX\t_\t_\t{i - 1}\tdep\t_\t_\n" for i in range(1, words + 1)) + "\n"
    )


@pytest.mark.slow
def test_words_without_relation_need_no_more_memory_in_a_long_sentence() -> None:
    columns = Columns(flat(3000))
    query = Query.parse("@a[]; @b[]; @c[]")
    tracemalloc.start()
    hits = list(islice(query.hits(columns), 5))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [tuple(hit.words.values()) for hit in hits] == [(1, 2, n) for n in range(3, 8)]
    assert peak < 400e6


def test_too_many_combinations_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_MAX_JOINED", 10**6)
    monkeypatch.setattr(joining, "_MAX_ROWS", 10**5)
    with pytest.raises(InputError, match=r"^query: more than 1,000,000 combinations of words"):
        Query.parse("@a[]; @b[]; @c[]").count(flat(200))
    with pytest.raises(InputError, match=r"^query: more than 1,000,000 combinations of words"):
        Query.parse("form=w1; without @d[] .. @e[] .. @f[]; sentence length=200").count(flat(200))
    monkeypatch.undo()


def test_a_sentence_with_very_many_matches_is_searched_in_parts_and_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    treebank = flat(7, sentences=3)
    expected = [(s, *words) for s in range(3) for words in permutations(range(1, 8), 3)]
    for rows in (1 << 20, 200, 50, 10, 1):
        monkeypatch.setattr(joining, "_MAX_ROWS", rows)
        query = Query.parse("@a[]; @b[]; @c[]")
        # A flag, since pytest would spend minutes on the difference of the lists when a fault is planted.
        in_order = [(hit.sentence, *hit.words.values()) for hit in query.hits(treebank)] == expected
        assert in_order
        assert query.count(treebank) == (len(expected), 3)
        linked = Query.parse("@c[form~w]; @a > @b; @c , @a")
        assert [(h.sentence, *h.words.values()) for h in linked.hits(treebank)] == [
            (s, 2, 1, b) for s in range(3) for b in range(3, 8)
        ]
    monkeypatch.undo()


def test_many_hits_are_kept_in_little_memory() -> None:
    hits = [Hit(0, {"a": 1, "b": 9}), Hit(0, {"x": 2}, {"e": "8.1"}), Hit(3, {}, {"e": "8.1", "f": "0.12"})]
    kept = HitList(hits)
    assert list(kept) == hits
    assert (kept[-1], kept[1:], kept[5:]) == (hits[-1], hits[1:], [])
    assert [list(hit.empty_nodes) for hit in kept] == [list(hit.empty_nodes) for hit in hits]
    assert kept.sentences.tolist() == [0, 0, 3]
    assert list(HitList()) == []
    with pytest.raises(IndexError):
        kept[3]
    columns = Columns(flat(400))
    tracemalloc.start()
    many = HitList(Query.parse("@a[]; @b[]").hits(columns))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(many) == 400 * 399
    assert size < 30 * len(many) + 1e6


def test_a_mass_edit_of_too_many_hits_in_a_sentence_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mass_edit, "_MOST_HITS", 30)
    for query, changes in (("@a[]; @b[]", "a.xpos=N"), ("@a[] . @b[]", "join")):
        edit = MassEdit.parse(query, changes)
        assert len(list(edit.plan(flat(6, sentences=3)))) == 3
        with pytest.raises(InputError, match=r"^query: more than 30 hits in sentence 1; make it more"):
            list(edit.plan(flat(40)))


def test_deep_trees_are_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "_MAX_WALKED", 10_000)
    monkeypatch.setattr(matching, "_MAX_PAIRS", 10_000)
    assert Query.parse("[>> [form=w]]").count(chain(60)) == (59, 1)
    assert Query.parse("depth=3").count(chain(300)) == (1, 1)
    assert Query.parse("projective=yes").count(chain(300)) == (300, 1)
    for query in ("[>> [form=w]]", "[] >> []"):
        with pytest.raises(InputError, match=r"^query: .*too deep"):
            Query.parse(query).count(chain(300))
    monkeypatch.undo()


def test_two_missing_values_are_equal_and_other_operators_require_both() -> None:
    rows = [
        "1 a _ X _ Number=Sing 0 root _ _",
        "2 b _ X _ Number=Sing 1 dep _ _",
        "3 c _ X _ Number=Plur 1 dep _ _",
        "4 d _ X _ _ 1 dep _ _",
        "5 e _ X _ _ 1 dep _ _",
    ]
    treebank = Treebank.from_string("\n".join(rows).replace(" ", "\t") + "\n\n")

    def pairs(operator: str) -> list[tuple[int, ...]]:
        query = Query.parse(f"@x .. @y; @x.feats.Number{operator}@y.feats.Number")
        return [tuple(hit.words.values()) for hit in query.hits(treebank)]

    assert pairs("=") == [(1, 2), (4, 5)]
    assert pairs("==") == [(1, 2)]
    assert pairs("!=") == [(1, 3), (1, 4), (1, 5), (2, 3), (2, 4), (2, 5), (3, 4), (3, 5)]
    assert pairs("!==") == [(1, 3), (2, 3)]


def test_the_annotation_page_refuses_a_search_with_too_many_hits(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from arcwise.web import annotate_lists

    monkeypatch.setattr(annotate_lists, "MOST_HITS", 100)
    searches = annotate_lists.Searches(SimpleNamespace())  # type: ignore[arg-type]
    monkeypatch.setattr(searches, "_current", lambda: (0, Columns(flat(11))))
    assert len(searches.hits("form!=none")) == 11
    with pytest.raises(InputError, match=r"^query: more than 100 hits"):
        searches.hits("[] .. form!=none; form!=none")
