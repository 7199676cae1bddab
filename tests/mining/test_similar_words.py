"""Queries for words annotated like a suspect, and the mass edits that correct them."""

from __future__ import annotations

import pytest

from arcwise.mining.similar_words import SimilarWords
from arcwise.treebanks import Treebank
from arcwise.treebanks.search import MassEdit, Query


def bank(*sentences: str) -> Treebank:
    """Sentences of words such as ``dog/NOUN/2/nsubj``; the lemma is the form in lower case."""
    blocks = []
    for text in sentences:
        rows = [word.rsplit("/", 3) for word in text.split()]
        lines = [
            f"{i}\t{form}\t{form.lower()}\t{upos}\t_\t_\t{head}\t{label}\t_\t_"
            for i, (form, upos, head, label) in enumerate(rows, 1)
        ]
        blocks.append("\n".join(lines) + "\n\n")
    return Treebank.from_string("".join(blocks))


SLEEPS = "the/DET/2/det dog/NOUN/3/obj sleeps/VERB/0/root"
RUNS = "a/DET/2/det Dog/NOUN/3/obj runs/VERB/0/root here/ADV/3/advmod"
OTHERS = ("the/DET/2/det dog/NOUN/3/nsubj runs/VERB/0/root", "cat/NOUN/2/obj runs/VERB/0/root")


def corrected(words: SimilarWords, treebank: Treebank) -> list[list[tuple[int, str]]]:
    edited = MassEdit.parse(words.query, words.changes).apply(treebank)
    return [list(zip(s.heads.tolist()[1:], s.deprels, strict=True)) for s in edited]


def test_words_with_the_same_lemma_tag_label_and_tag_of_the_head_are_alike() -> None:
    treebank = bank(SLEEPS, RUNS, *OTHERS)
    words = SimilarWords.of(treebank[0], 2, 3, "nsubj")
    assert words == SimilarWords(
        "@word[lemma=dog upos=NOUN deprel=obj] < @head[upos=VERB]", "word.deprel=nsubj"
    )
    hits = [(hit.sentence, hit.words["word"]) for hit in Query.parse(words.query).hits(treebank)]
    assert hits == [(0, 2), (1, 2)]
    changed = corrected(words, treebank)
    assert [arcs[1] for arcs in changed[:2]] == [(3, "nsubj")] * 2
    assert changed[2:] == corrected(SimilarWords(words.query, "word.deprel=obj"), treebank)[2:]


@pytest.mark.parametrize(
    ("sentence", "word", "head", "expected"),
    [
        # The head of the head, a sibling on either side, the root.
        ("old/ADJ/2/amod dog/NOUN/3/nsubj runs/VERB/0/root", 1, 3, "word.head=@new; word.deprel=advmod"),
        ("dog/NOUN/2/nsubj runs/VERB/0/root here/ADV/2/advmod", 3, 1, "word.head=@new"),
        ("here/ADV/2/advmod runs/VERB/0/root dog/NOUN/2/nsubj", 1, 3, "word.head=@new"),
        ("runs/VERB/2/dep dog/NOUN/0/root", 1, 0, "word.head=0"),
    ],
)
def test_a_proposed_head_is_described_by_its_relation(
    sentence: str, word: int, head: int, expected: str
) -> None:
    treebank = bank(sentence)
    words = SimilarWords.of(treebank[0], word, head, "advmod" if head else "dep")
    assert words.changes == expected
    assert corrected(words, treebank)[0][word - 1][0] == head


def test_a_sibling_is_looked_for_on_the_side_of_the_proposed_head() -> None:
    treebank = bank("now/ADV/3/advmod it/PRON/3/nsubj runs/VERB/0/root here/ADV/3/advmod")
    words = SimilarWords.of(treebank[0], 2, 4, "nsubj")
    assert [hit.words["new"] for hit in Query.parse(words.query).hits(treebank)] == [4]


@pytest.mark.parametrize("head", [1, 5, -1])
def test_without_a_close_relative_only_the_query_remains(head: int) -> None:
    # A dependent of the word, a word elsewhere in the tree, no proposal.
    treebank = bank(
        "old/ADJ/2/amod dog/NOUN/3/obj runs/VERB/0/root the/DET/5/det way/NOUN/6/obl home/ADV/3/advmod"
    )
    words = SimilarWords.of(treebank[0], 2, head, "nsubj")
    assert words.changes == ""
    assert words.query == "@word[lemma=dog upos=NOUN deprel=obj] < @head[upos=VERB]"
    assert len(list(Query.parse(words.query).hits(treebank))) == 1


@pytest.mark.parametrize("form", ["it's", '"', "a*b", "x,", "\\", '\\"', "[@]", "|"])
def test_special_characters_find_their_word(form: str) -> None:
    treebank = bank(f"{form}/NOUN/2/obj runs/VERB/0/root")
    words = SimilarWords.of(treebank[0], 1, 2, "nsubj")
    assert corrected(words, treebank)[0][0] == (2, "nsubj")


def test_words_without_a_lemma_are_compared_by_form_and_roots_have_no_head() -> None:
    treebank = bank("Runs/VERB/0/root").annotate(lemma=["_"])
    assert SimilarWords.of(treebank[0], 1, -1, "_").query == "@word[form=Runs upos=VERB deprel=root head=0]"
