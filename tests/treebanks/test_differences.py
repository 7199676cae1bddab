"""Differences of two versions of a treebank, and a third one out of them."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import Treebank
from arcwise.errors import InputError
from arcwise.treebanks.adjudication import Choice, adjudicated
from arcwise.treebanks.alignment import common, longest_increasing, same_sentences
from arcwise.treebanks.blocks import FileBlocks
from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.differences import SideBySide, differences, totals
from treebanks.two_people import Person, Sentence, copied, new_sentence, worked_on, written

seeds = st.randoms(use_true_random=False)


def file(*sentences: str) -> Treebank:
    """Sentences as ``id: form/head/label form/head/label …``; without a name before the colon none has
    one."""
    lines = []
    for text in sentences:
        name, _, words = text.partition(": ") if not text.startswith(": ") else ("", "", text[2:])
        lines += [f"# sent_id = {name}\n"] * bool(name)
        for number, word in enumerate(words.split(), 1):
            form, head, label = word.split("/")
            lines.append(f"{number}\t{form}\t_\t_\t_\t_\t{head}\t{label}\t_\t_\n")
        lines.append("\n")
    return Treebank("".join(lines).encode(), strict=False)


def told(a: Treebank, b: Treebank) -> list[tuple[str, str, str | None, str | None]]:
    return [(f.row, f.column, f.a, f.b) for found in differences(a, b) for f in found.fields]


# ---- differences


def test_heads_and_labels() -> None:
    a, b = file("s: Tea/2/nsubj cools/0/root now/2/advmod"), file("s: Tea/3/nsubj cools/0/root now/2/obl")
    assert told(a, b) == [("1", "head", "2", "3"), ("3", "deprel", "advmod", "obl")]
    assert totals(differences(a, b)) == {"head": 1, "deprel": 1}
    assert [f.column for f in differences(a, b, columns=["deprel"])[0].fields] == ["deprel"]
    assert differences(a, b, columns=["upos", "comments"]) == []
    with pytest.raises(InputError, match="columns: found 'pos', expected some of id, form"):
        differences(a, b, columns=["pos"])


def test_words_split_and_joined_are_told_and_heads_follow() -> None:
    a = file("s: cannot/2/aux sing/0/root now/2/advmod loud/3/x")
    b = file("s: can/3/aux not/3/neg sing/0/root now/3/advmod loud/3/x")
    assert told(a, b) == [
        ("1", "id", None, "1"),
        ("2", "id", None, "2"),
        ("1", "id", "1", None),
        ("4", "head", "3", "3"),
    ]
    assert differences(a, b)[0].fields[-1].row_b == "5"


def test_sentences_that_one_side_lacks_and_moved_ones() -> None:
    a, b = file("x: A/0/r", "y: B/0/r", "z: C/0/r"), file("z: C/0/r", "x: A/0/r", "n: N/0/r", "y: B/0/r")
    found = differences(a, b)
    assert [(f.a, f.b, f.moved) for f in found] == [(None, 2, False), (2, 0, True)]
    assert [(f.a, f.b) for f in differences(a, b, columns=["head"])] == [(None, 2)]
    assert [(f.a, f.b, f.sent_id) for f in differences(b, a)] == [(0, 2, "z"), (2, None, "n")]


def test_comments() -> None:
    row = "1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    a = Treebank.from_string("# text = Hi\n# note = a\n# note = b\n# x\n" + row)
    b = Treebank.from_string("# text = Hi!\n# note = b\n# note = c\n# x\n" + row)
    assert [(c.key, c.a, c.b) for c in differences(a, b)[0].comments] == [
        ("text", "Hi", "Hi!"),
        ("note", "a", None),
        ("note", None, "c"),
    ]


def test_broken_rows_are_told_by_their_lines() -> None:
    a = file("s: Tea/2/nsubj cools/0/root")
    b = Treebank(a.data.replace(b"Tea\t_", b"Tea _"), strict=False)
    assert [(f.row, f.column) for f in differences(a, b)[0].fields] == [("1", "id")]
    assert SideBySide(a, b).word_pairs[0].tolist() == []


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(seeds)
def test_fields_differ_as_a_comparison_cell_by_cell_says(random: Random) -> None:
    author = Person("b", random)
    base = [new_sentence(author, named=True, distinct=True) for _ in range(3)]
    sides = [worked_on(base, Person(letter, random), 4, whole=False, named=True) for letter in "mt"]
    found = {(d.a, f.row, f.column, f.a, f.b) for d in differences(*map(treebank, sides)) for f in d.fields}
    expected = {
        (s, row[0], COLUMNS[c], row[c], other[c])
        for s, (a, b) in enumerate(zip(*sides, strict=True))
        for row, other in zip(a["rows"], b["rows"], strict=True)
        for c in range(10)
        if row[c] != other[c]
    }
    assert found == expected


def treebank(sentences: list[Sentence]) -> Treebank:
    return Treebank(written(sentences), strict=False)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(seeds)
def test_nothing_differs_from_itself(random: Random) -> None:
    author = Person("b", random)
    one = [new_sentence(author, named=random.random() < 0.5) for _ in range(4)]
    one += copied(one[: random.randint(0, 4)])
    assert differences(treebank(one), treebank(one)) == []
    other = worked_on(one, Person("m", random), 3, whole=True, named=False)
    changed = written(one) != written(other)
    assert bool(differences(treebank(one), treebank(other))) == changed


# ---- the alignment under them


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=12), st.lists(st.integers(0, 5), max_size=12))
def test_common_values_are_the_same_and_in_order(a: list[int], b: list[int]) -> None:
    pairs = common(a, b)
    assert all(a[i] == b[j] for i, j in pairs)
    assert all(x[0] < y[0] and x[1] < y[1] for x, y in pairwise(pairs))
    assert len(common(a, a)) == len(a)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 30), unique=True, max_size=9))
def test_longest_increasing(values: list[int]) -> None:
    places = longest_increasing(values)
    row = [values[at] for at in places]
    assert places == sorted(places)
    assert row == sorted(row)
    best = [1] * len(values)
    for i, value in enumerate(values):
        best[i] += max((best[j] for j in range(i) if values[j] < value), default=0)
    assert len(row) == max(best, default=0)


def test_a_name_counts_more_than_the_words_of_one_sentence() -> None:
    a, b = file("x: Tea/0/r", "y: Yes/0/r"), file("x: Yes/0/r", "y: No/0/r")
    assert SideBySide(a, b).pairs == {0: 0, 1: 1}
    assert told(a, b) == [("1", "form", "Tea", "Yes"), ("1", "form", "Yes", "No")]


def test_sentences_of_the_same_words_without_names_that_were_moved() -> None:
    a, b = file(": Yes/0/x", ": Yes/0/y"), file(": Yes/0/y", ": Yes/0/z")
    assert SideBySide(a, b).pairs == {0: 1, 1: 0}


def test_copies_under_other_names_are_other_sentences() -> None:
    a = file("x: a/0/r b/1/x c/1/x d/1/x", "y: e/0/r f/1/x g/1/x h/1/x")
    b = file(
        "x: a/0/r b/1/x c/1/x D/1/x",
        "y: e/0/r f/1/x g/1/x H/1/x",
        "n: a/0/r b/1/x c/1/x d/1/x",
        "m: e/0/r f/1/x g/1/x h/1/x",
    )
    assert SideBySide(a, b).pairs == {0: 0, 1: 1}


def test_a_sentence_without_a_name_of_which_some_words_changed() -> None:
    a, b = file(": a/0/r b/1/x c/1/x", ": Yes/0/r"), file(": New/0/r", ": a/0/r b/1/x d/1/x", ": Yes/0/r")
    assert SideBySide(a, b).pairs == {0: 1, 1: 2}


def test_moved_sentences_are_found_as_they_were_before_others_of_the_same_words() -> None:
    yes, no, middle = ": Yes/0/x", ": Yes/0/y", [": a/0/r b/1/x", ": c/0/r d/1/x"]
    assert SideBySide(file(yes, *middle, no), file(no, *middle, yes)).pairs == {0: 3, 1: 1, 2: 2, 3: 0}


def test_many_sentences_that_are_all_the_same() -> None:
    """Nothing to hold on to: as many are paired as can be, and not by trying all pairs."""
    blocks = list(FileBlocks.of(b"1\tYes\t_\t_\t_\t_\t0\troot\t_\t_\n\n" * 3000))
    others = list(FileBlocks.of(b"1\tYes\t_\tX\t_\t_\t0\troot\t_\t_\n\n" * 2000))
    assert len(same_sentences(blocks, others)) == 2000


# ---- adjudication


def test_choices() -> None:
    a = file("s: Tea/2/nsubj cools/0/root now/2/advmod", "t: Yes/0/root", "u: only/0/a")
    b = file("s: Tea/3/nsubj cools/0/root now/2/obl", "v: only/0/b", "t: Yes/0/root")
    assert adjudicated(a, b, []) == a.data
    chosen = adjudicated(a, b, [Choice("b", 0, "1", "head"), Choice("value", 0, "3", "deprel", "x")])
    assert chosen == a.data.replace(b"2\tnsubj", b"3\tnsubj").replace(b"advmod", b"x")
    back = [Choice("b", 0, "1", "head"), Choice("a", 0, "1", "head")]
    assert adjudicated(a, b, back) == a.data
    assert adjudicated(a, b, [Choice("b", 0)]) == a.data.replace(a[0].source_bytes, b[0].source_bytes)


def test_whole_sentences_of_one_side() -> None:
    a, b = file("s: Tea/0/root", "t: Yes/0/root"), file("s: Tea/0/root", "v: New/0/root")
    assert adjudicated(a, b, [Choice("b", 1)]) == file("s: Tea/0/root").data
    both = adjudicated(a, b, [Choice("b", sentence_b=1)])
    assert both == file("s: Tea/0/root", "v: New/0/root", "t: Yes/0/root").data
    assert adjudicated(a, b, [Choice("b", sentence_b=1), Choice("a", sentence_b=1)]) == a.data


def test_a_sentence_put_after_a_last_one_without_line_end() -> None:
    a, b = file("s: Tea/0/root"), file("s: Tea/0/root", "v: New/0/root")
    cut = Treebank(a.data.rstrip(b"\n"))
    assert adjudicated(cut, b, [Choice("b", sentence_b=1)]) == b.data


def test_heads_of_b_are_told_by_the_numbers_of_a() -> None:
    a = file("s: cannot/2/aux sing/0/root now/2/advmod loud/3/x")
    b = file("s: can/3/aux not/3/neg sing/0/root now/3/advmod loud/3/x")
    chosen = adjudicated(a, b, [Choice("b", 0, "4", "head")])
    assert Treebank(chosen)[0].heads.tolist() == [-1, 2, 0, 2, 2]
    other = Treebank(b.data.replace(b"3\tx", b"1\tx"), strict=False)
    with pytest.raises(
        InputError,
        match="head: the other version refers to a word that this one lacks; take the whole sentence",
    ):
        adjudicated(a, other, [Choice("b", 0, "4", "head")])
    with pytest.raises(InputError, match="row: the other version of the sentence has no row '1'"):
        adjudicated(a, b, [Choice("b", 0, "1", "deprel")])


def test_a_word_that_b_alone_has_at_the_end_is_no_head_in_a() -> None:
    a = file("s: Tea/2/nsubj cools/0/root now/2/advmod")
    b = file("s: Tea/4/nsubj cools/0/root now/2/advmod again/2/advmod")
    with pytest.raises(
        InputError,
        match="head: the other version refers to a word that this one lacks; take the whole sentence",
    ):
        adjudicated(a, b, [Choice("b", 0, "1", "head")])
    assert b"\tnow\t_\t_\t_\t_\t2\t" in adjudicated(a, b, [Choice("b", 0, "3", "head")])


def test_deps_of_b_are_told_by_the_numbers_of_a() -> None:
    a = file("s: cannot/2/aux sing/0/root now/2/advmod loud/3/x")
    b = file("s: can/3/aux not/3/neg sing/0/root now/3/advmod loud/3/x")
    with_deps = Treebank(
        b.data.replace(b"now\t_\t_\t_\t_\t3\tadvmod\t_", b"now\t_\t_\t_\t_\t3\tadvmod\t0:root|5:x")
    )
    assert b"3\tnow\t_\t_\t_\t_\t2\tadvmod\t0:root|4:x\t_" in adjudicated(
        a, with_deps, [Choice("b", 0, "3", "deps")]
    )
    unknown = Treebank(with_deps.data.replace(b"5:x", b"2:x"))
    with pytest.raises(
        InputError,
        match="deps: the other version refers to a word that this one lacks; take the whole sentence",
    ):
        adjudicated(a, unknown, [Choice("b", 0, "3", "deps")])


def test_comments_are_chosen_too() -> None:
    row = "1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    a = Treebank.from_string("# text = Hi\n# x = 1\n" + row)
    b = Treebank.from_string("# text = Hi!\n# y = 2\n" + row)
    chosen = adjudicated(a, b, [Choice("b", 0, "comment", key) for key in ("text", "x", "y")])
    assert chosen.decode() == "# text = Hi!\n# y = 2\n" + row
    assert adjudicated(a, b, [Choice("b", 0, "comment", "x"), Choice("a", 0, "comment", "x")]) == a.data
    assert b"# text = Ho\n" in adjudicated(a, b, [Choice("value", 0, "comment", "text", "Ho")])


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(seeds)
def test_choosing_b_everywhere_gives_b(random: Random) -> None:
    author = Person("b", random)
    named = random.random() < 0.7
    distinct = random.random() < 0.5
    base = [new_sentence(author, named=named, distinct=distinct) for _ in range(3)]
    newline, end = random.choice(["\n", "\r\n"]), random.choice(["", "\n", "\n\n"])
    a, b = (
        Treebank(
            written(
                worked_on(base, Person(letter, random), 4, whole=False, named=True), newline=newline, end=end
            )
        )
        for letter in "mt"
    )
    by_field: list[Choice] = []
    whole: list[Choice] = []
    for found in differences(a, b):
        same_rows = all(f.column != "id" for f in found.fields)  # else the whole sentence is chosen
        by_field += [Choice("b", found.a, f.row, f.column) for f in found.fields if same_rows]
        whole += [Choice("b", found.a)] if found.a is not None else [Choice("b", sentence_b=found.b)]
    chosen = adjudicated(a, b, whole)
    if not SideBySide(a, b).moved and SideBySide(a, b).order == [(i, i) for i in range(len(b))]:
        assert chosen == b.data
    # Of sentences without names it may be uncertain which is which, and A's order stays: but B's sentences
    # they are.
    assert sorted(block.body for block in FileBlocks.of(chosen)) == sorted(
        block.body for block in FileBlocks.of(b.data)
    )
    if named and distinct:
        left = differences(Treebank(adjudicated(a, b, by_field), strict=False), b)
        assert all(not found.fields for found in left)


@pytest.mark.parametrize(
    ("given_", "said"),
    [
        ({"take": "c", "sentence": 0}, "take: found 'c', expected a, b or value"),
        ({"take": "a"}, "sentence: expected a number in A"),
        ({"take": "a", "sentence": 0, "row": "1"}, "row, column: found '1', None"),
        ({"take": "value", "sentence": 0, "row": "1", "column": "head"}, "value: found None"),
        ({"take": "value", "sentence": 0, "value": "x"}, "value: expected a row and a column"),
        ({"take": "a", "sentence": 9}, "sentence: found 9, expected 0..0"),
        ({"take": "b", "sentence_b": 0}, "sentence_b: found 0, expected a whole sentence that only B has"),
        ({"take": "b", "sentence": 0, "row": "7", "column": "head"}, "row, column: found '7', 'head'"),
        ({"take": "b", "sentence": 0, "row": "1", "column": "id"}, "row, column: found '1', 'id'"),
        (
            {"take": "value", "sentence": 0, "row": "1", "column": "upos", "value": "a\tb"},
            "a tab or line break",
        ),
        ({"take": "value", "sentence": 0, "row": "comment", "column": "x", "value": "a\nb"}, "a line break"),
        ({"choose": "a"}, "choice: found choose, expected take, sentence, row"),
    ],
)
def test_choices_that_cannot_be(given_: dict[str, str | int], said: str) -> None:
    a = file("s: Tea/0/root")
    with pytest.raises(InputError, match=said):
        adjudicated(a, a, [Choice.from_json(given_)])


def test_a_choice_travels_as_json() -> None:
    choice = Choice("value", 0, "1", "upos", "X")
    assert Choice.from_json(choice.to_json()) == choice
