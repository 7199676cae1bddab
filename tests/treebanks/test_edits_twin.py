"""Edits that change which rows there are, against a twin of objects that is numbered only when written."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import Treebank
from arcwise.treebanks.edits import (
    AddEmptyNode,
    Edit,
    JoinWords,
    MakeMultiword,
    RemoveEmptyNode,
    RemoveMultiword,
    SplitWord,
    edit_from_json,
    edit_to_json,
    edited,
)
from treebanks.plain_sentence import ROOT, Plain, random_sentence


def random_edit(plain: Plain, rng: random.Random) -> Edit | None:
    """An edit, which the twin has done already; None if there is nothing to do of the kind that was drawn."""
    ids, words = plain.ids(), plain.words()
    start = rng.randrange(len(words))
    run = words[start : start + rng.randint(2, 4)]
    match rng.choice(["split", "join", "make", "remove", "add-empty", "remove-empty"]):
        case "split":
            word = words[start]
            cut = [word.form[:1], word.form[1:] or "z", *["y"] * rng.randint(0, 1)]
            if "".join(cut) != word.form:
                cut = [*word.form, "q"]
            keep, multiword = rng.randint(1, len(cut)), rng.random() < 0.5 and plain.token_of(word) is None
            # Parts that do not spell the form make a multiword token, asked for or not.
            plain.split(word, cut, keep, multiword or "".join(cut) != word.form)
            return SplitWord(ids[word], tuple(cut), keep, multiword)
        case "join" if len(run) > 1:
            cut_through = [
                t
                for t in plain.tokens
                if set(t.words) & set(run) and not set(t.words) <= set(run) and not set(run) < set(t.words)
            ]
            if cut_through:
                return None
            plain.join(run)
            return JoinWords(ids[run[0]], ids[run[-1]])
        case "make" if len(run) > 1 and not any(plain.token_of(word) for word in run):
            plain.make_multiword(run, "mwt")
            return MakeMultiword(ids[run[0]], ids[run[-1]], "mwt")
        case "remove" if plain.tokens:
            token = rng.choice(plain.tokens)
            plain.remove_multiword(token)
            return RemoveMultiword(ids[token])
        case "add-empty":
            after = rng.choice([*plain.nodes, None])
            heads = rng.sample([*plain.nodes, ROOT], 1)
            plain.add_empty(after, "new", [(h, "conj") for h in heads])
            return AddEmptyNode(
                "0" if after is None else ids[after], "new", tuple((ids[h], "conj") for h in heads)
            )
        case "remove-empty" if any(node.empty for node in plain.nodes):
            node = rng.choice([node for node in plain.nodes if node.empty])
            plain.remove_empty(node)
            return RemoveEmptyNode(ids[node])
    return None


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["\n", "\r\n"]))
def test_rows_are_renumbered_as_by_the_twin(seed: int, newline: str) -> None:
    rng = random.Random(seed)
    plain = random_sentence(rng)
    block = plain.write(newline)
    assert not Treebank(block, strict=False).problems
    together: list[Edit] = []
    start = block
    for _ in range(rng.randint(1, 6)):
        edit = random_edit(plain, rng)
        if edit is None:
            continue
        assert edit_from_json(edit_to_json(edit)) == edit
        block = edited(block, [edit])
        assert block.decode() == plain.write(newline).decode(), edit
        together.append(edit)
    assert edited(start, together) == block


def test_the_twin_makes_every_kind_of_edit() -> None:
    kinds = set()
    for seed in range(60):
        rng = random.Random(seed)
        edit = random_edit(random_sentence(rng), rng)
        kinds.add(type(edit))
    assert kinds == {
        SplitWord,
        JoinWords,
        MakeMultiword,
        RemoveMultiword,
        AddEmptyNode,
        RemoveEmptyNode,
        type(None),
    }
