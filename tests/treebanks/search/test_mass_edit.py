"""Mass edits against a direct reading of their rules, and their edges."""

from __future__ import annotations

from copy import deepcopy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import Treebank
from arcwise.treebanks.edits import edited
from arcwise.treebanks.search import MassEdit, Query
from treebanks.samples import ALL, RICH
from treebanks.search import random_queries
from treebanks.search.slow_search import Row, Slow, get
from treebanks.search.test_against_slow_search import treebank_of

QUERIES = ("[]", "[] > []", "[] .. []", "upos=NOUN $ []", "[] << []", "[] > [] > []")
Slot = tuple[int, str, str | None]


def has_cycle(rows: list[Row]) -> bool:
    for start in range(1, len(rows) + 1):
        at, steps = start, 0
        while at > 0 and rows[at - 1]["head"] != "_" and steps <= len(rows):
            at, steps = int(rows[at - 1]["head"]), steps + 1
        if steps > len(rows):
            return True
    return False


def set_field(row: Row, column: str, key: str | None, value: str) -> None:
    """One field, or one key of it; features in order of the alphabet where they were."""
    if key is None:
        row[column] = value
        return
    pairs = dict(p.split("=") for p in row[column].split("|") if p != "_")
    if value == "_":
        pairs.pop(key, None)
    else:
        pairs[key] = value
    order = sorted(pairs, key=str.lower) if column == "feats" else list(pairs)
    row[column] = "|".join(f"{k}={pairs[k]}" for k in order) or "_"


def slow_apply(sentence: Slow, hits: list[dict[str, int]], changes: list[str]) -> tuple[list[Row], int]:
    """The rows after the changes, and how many hits were left out."""
    rows, taken, left_out = deepcopy(sentence.rows), dict[Slot, str](), 0
    for words in hits:
        new, slots = deepcopy(rows), dict[Slot, str]()
        for change in changes:
            path, value = change.replace('"', "").split("=", 1)
            word, column, *key = path.split(".")
            if value.startswith("@"):
                other, _, name = value[1:].partition(".")
                found = get(sentence, words[other], name or "id")
                value = "_" if found is None else str(found)
            slots[words[word], column, key[0] if key else None] = value
        clash = any(
            w == w2 and c == c2 and ((k == k2 and v != v2) or ((k is None) != (k2 is None)))
            for (w, c, k), v in slots.items()
            for (w2, c2, k2), v2 in taken.items()
        )
        for (word_id, column, name_of_key), value in slots.items():
            set_field(new[word_id - 1], column, name_of_key, value)
        too_large = any(r["head"] != "_" and int(r["head"]) > len(rows) for r in new)
        if clash or too_large or has_cycle(new):
            left_out += 1
        else:
            rows, taken = new, {**taken, **slots}
    return rows, left_out


@st.composite
def changes(draw: st.DrawFn, names: tuple[str, ...]) -> list[str]:
    values = {
        "upos": ["X", "@1.upos", "@1.lemma", "_"],
        "head": ["0", "_", "2", "4", *(f"@{n}" for n in names), *(f"@{n}.head" for n in names)],
        "deprel": ["obl", "@1.deprel", "@1.udeprel"],
        "feats.Case": ["_", "Dat", "@1.feats.Case"],
        "feats.Gender": ["Fem"],
        "feats": ["_", '"Z=Z"'],
        "misc.P": ["_", "1", "@1.misc.P"],
        "misc.Q": ["r"],
    }
    fields = draw(
        st.lists(
            st.tuples(st.sampled_from(names), st.sampled_from([*values])), min_size=1, max_size=3, unique=True
        )
    )
    fields = [
        (n, f)
        for n, f in fields
        if f != "feats" or not any(g.startswith("feats.") and n == m for m, g in fields)
    ]
    return [f"{n}.{f}={draw(st.sampled_from(values[f]))}" for n, f in fields]


@pytest.mark.slow
@settings(max_examples=250, deadline=None)
@given(random_queries.treebanks, st.sampled_from(QUERIES), st.data())
def test_any_edit(sentences: list[Slow], query: str, data: st.DataObject) -> None:
    chosen = data.draw(changes(Query.parse(query).names))
    treebank = treebank_of(sentences)
    edit = MassEdit.parse(query, "; ".join(chosen))
    hits = list(Query.parse(query).hits(treebank))
    expected, left_out = [], 0
    for number, sentence in enumerate(sentences):
        rows, refused = slow_apply(sentence, [h.words for h in hits if h.sentence == number], chosen)
        expected.append(Slow(sentence.comments, rows))
        left_out += refused
    assert edit.apply(treebank).data == treebank_of(expected).data
    assert sum(len(plan.refused) for plan in edit.plan(treebank)) == left_out


def test_preview_gives_the_edits_and_changes_nothing() -> None:
    treebank = Treebank.from_string(ALL)
    edit = MassEdit.parse("upos=VERB > nsubj", "2.deprel=subj; misc.Seen=Yes")
    found = dict(edit.preview(treebank))
    assert [(e.row, e.column, e.value) for e in found[0]] == [
        ("1", "deprel", "subj"),
        ("2", "misc", "SpaceAfter=No|Seen=Yes"),
    ]
    assert treebank.text == ALL
    after = edit.apply(treebank)
    assert after[0].source_bytes == edited(treebank[0].source_bytes, found[0])
    assert after[1].source_bytes == treebank[1].source_bytes


def test_what_is_so_already_is_no_edit() -> None:
    treebank = Treebank.from_string(ALL)
    edit = MassEdit.parse("upos=VERB", "upos=VERB; misc.None=_; feats.None=_")
    assert list(edit.preview(treebank)) == []
    assert edit.apply(treebank).data == treebank.data


def test_multiword_tokens_empty_nodes_and_line_ends_stay() -> None:
    for text in (RICH, RICH.replace("\n", "\r\n"), "\ufeff" + RICH, RICH.rstrip("\n")):
        treebank = Treebank.from_string(text)
        after = MassEdit.parse("[]", "xpos=X").apply(treebank)
        assert after.text == treebank.annotate(xpos=["X"] * treebank.word_count).text


def test_an_edit_of_the_first_line_after_a_byte_order_mark() -> None:
    treebank = Treebank.from_string("\ufeff1\tHi\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    after = MassEdit.parse("upos=X", "upos=INTJ").apply(treebank)
    assert after.text == "\ufeff1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n"


def test_hits_that_clash_are_told_and_the_first_stands() -> None:
    rows = ["1 a _ A _ _ 0 root _ _", "2 b _ B _ _ 1 x _ _", "3 c _ B _ _ 1 x _ _"]
    treebank = Treebank.from_string("\n".join(rows).replace(" ", "\t") + "\n\n")
    plans = list(MassEdit.parse("upos=A > x", "lemma=@2.form").plan(treebank))
    assert [(e.row, e.value) for e in plans[0].edits] == [("1", "b")]
    assert [(r.hit.words, r.reason) for r in plans[0].refused] == [
        ({"1": 1, "2": 3}, "an earlier hit sets lemma of word 1 to b, this one to c")
    ]


@pytest.mark.parametrize(
    "change, reason",
    [
        ("1.head=@2", "words 1 -> 2 -> 1 would form a cycle"),
        ("1.head=@1", "word 1 would be its own head"),
        ("1.head=7", "HEAD 7 is outside the sentence (3 words)"),
    ],
)
def test_heads_that_make_no_tree_are_refused(change: str, reason: str) -> None:
    rows = ["1 a _ A _ _ 0 root _ _", "2 b _ B _ _ 1 x _ _", "3 c _ C _ _ 1 x _ _"]
    treebank = Treebank.from_string("\n".join(rows).replace(" ", "\t") + "\n\n")
    edit = MassEdit.parse("upos=A > [upos=B]", change)
    assert [r.reason for plan in edit.plan(treebank) for r in plan.refused] == [reason]
    assert list(edit.preview(treebank)) == []


def test_a_name_that_is_a_column_is_written_with_its_sign() -> None:
    treebank = Treebank.from_string(ALL)
    edit = MassEdit.parse("@feats[upos=VERB] > @misc[deprel=nsubj]", "@misc.deprel=subj; feats.Case=Nom")
    assert [(e.row, e.column) for _, edits in edit.preview(treebank) for e in edits] == [
        ("1", "deprel"),
        ("2", "feats"),
        ("1", "deprel"),
        ("3", "feats"),
    ]
