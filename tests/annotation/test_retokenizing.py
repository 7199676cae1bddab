"""A sentence cut again: random cuts of a text into words and multiword tokens become each other."""

from __future__ import annotations

import random

import pytest

from arcwise import InputError, Treebank
from arcwise.annotation.retokenizing import TextToken, retokenizing_edits, token_edits, tokens
from arcwise.models.registry import open_model
from arcwise.treebanks.edits import edited

LETTERS = "abcdefghijkl"


def random_tokens(rng: random.Random) -> list[TextToken]:
    cuts = sorted(rng.sample(range(1, len(LETTERS)), rng.randrange(0, 7)))
    forms = [LETTERS[a:b] for a, b in zip([0, *cuts], [*cuts, len(LETTERS)], strict=True)]
    made, first = [], 1
    for form in forms:
        words = (form,)
        if len(form) > 1 and rng.random() < 0.4:
            at = rng.randrange(1, len(form))
            words = (form[:at] + rng.choice(["", "x"]), form[at:])
        made.append(TextToken(form, words, first))
        first += len(words)
    return made


def conllu(made: list[TextToken]) -> bytes:
    """All words depend on the first; UPOS is the form."""
    lines = [f"# text = {LETTERS}"]
    for token in made:
        glued = "_" if token is made[-1] else "SpaceAfter=No"
        if len(token.words) > 1:
            span = f"{token.first}-{token.first + len(token.words) - 1}"
            lines.append("\t".join([span, token.form, *"_" * 7, glued]))
        for k, word in enumerate(token.words):
            n = token.first + k
            arc = ["0", "root"] if n == 1 else ["1", "dep"]
            misc = "_" if len(token.words) > 1 else glued
            lines.append("\t".join([str(n), word, "_", f"T{word}", "_", "_", *arc, "_", misc]))
    return ("\n".join(lines) + "\n\n").encode()


def pairs(found: list[TextToken]) -> list[tuple[str, tuple[str, ...]]]:
    return [(token.form, token.words) for token in found]


def test_random_cuts_become_each_other() -> None:
    rng = random.Random(3)
    for _ in range(400):
        old, new = random_tokens(rng), random_tokens(rng)
        edits = token_edits(old, new)
        after = Treebank(edited(conllu(old), edits))[0]
        assert pairs(tokens(after.rows)) == pairs(new)
        assert after.text == LETTERS
        assert bool(edits) == (pairs(old) != pairs(new))
        kept = {(t.form, t.words) for t in old} & {(t.form, t.words) for t in new}
        tags = {row[1]: row[3] for row in after.rows if row[0].isdecimal()}
        assert all(tags[word] == f"T{word}" for _, words in kept for word in words)


def test_the_tokenizer_of_a_model() -> None:
    tokenizer = open_model("en").tokenizer  # type: ignore[attr-defined]
    rows = ["1 It _ PRON _ _ 2 nsubj _ _", "2 didn't _ VERB _ _ 0 root _ _", "3 sleep. _ _ _ _ _ _ _ _"]
    sentence = Treebank.from_string("\n".join(rows).replace(" ", "\t") + "\n\n")[0]
    after = Treebank(edited(sentence.source_bytes, retokenizing_edits(sentence, tokenizer)))[0]
    assert after.forms == ["It", "did", "n't", "sleep", "."]
    assert [row[0] for row in after.rows if "-" in row[0]] == ["2-3"]
    assert after.upos[0] == "PRON"
    assert after.text == "It didn't sleep."
    assert retokenizing_edits(after, tokenizer) == []


def test_tokens_that_do_not_spell_the_text_are_refused() -> None:
    with pytest.raises(InputError, match="do not spell the text"):
        token_edits([TextToken("a", ("a",), 1)], [TextToken("b", ("b",), 1)])
