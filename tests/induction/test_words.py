"""Which words a grammar sees, and where the others hang."""

import numpy as np
import pytest

from arcwise.errors import InputError
from arcwise.induction import DMV, TagSentences
from arcwise.induction.corpus import VisibleWords
from arcwise.treebanks import Treebank
from reference.enumerate_trees import all_trees


def treebank(sentences: list[list[tuple[str, str]]]) -> Treebank:
    """(form, tag) words without heads."""
    rows = [
        "".join(f"{i}\t{form}\t_\t{tag}\t_\t_\t_\t_\t_\t_\n" for i, (form, tag) in enumerate(s, 1)) + "\n"
        for s in sentences
    ]
    return Treebank.from_string("".join(rows))


def test_punctuation_is_told_by_its_tag_or_without_one_by_its_form() -> None:
    words = treebank([[("a", "DET"), ("!", "PUNCT"), (",", "."), ("?", "_"), ("b", "_"), ("%", "SYM")]])
    seen = VisibleWords.of(words, without_punctuation=True)
    assert seen.mask.tolist() == [True, False, False, False, True, True]
    assert seen.lengths.tolist() == [3]
    assert VisibleWords.of(words).mask.all()


def test_lengths_are_counted_without_punctuation_and_sentences_of_it_alone_left_out() -> None:
    words = treebank(
        [
            [("a", "A"), (".", "PUNCT"), ("b", "B")],
            [(".", "PUNCT")],
            [("a", "A"), ("b", "B"), ("a", "A"), (".", "PUNCT")],
        ]
    )
    two = TagSentences.from_treebank(words, max_length=2, without_punctuation=True)
    assert two.strings == [["A", "B"]]
    everything = TagSentences.from_treebank(words, without_punctuation=True)
    assert everything.strings == [["A", "B"], ["A", "B", "A"]]
    assert TagSentences.from_treebank(words, max_length=2).strings == [["PUNCT"]]


def test_a_column_without_a_tag_is_refused() -> None:
    words = treebank([[("a", "A"), ("b", "B")]])
    with pytest.raises(InputError, match="the column xpos has no tags"):
        TagSentences.from_treebank(words, column="xpos")
    with pytest.raises(InputError, match="the column xpos has no tags"):
        DMV.uniform(("A", "B")).parse_treebank(words, column="xpos")


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_whole_trees_are_projective_and_keep_the_arcs(n: int) -> None:
    trees = all_trees(n, projective=True, single_root=True)
    for extra in range(4):
        for seed in range(6):
            seen = np.random.default_rng(seed).permutation([True] * n + [False] * extra)
            words = VisibleWords(seen, np.array([0, n + extra]))
            places = np.flatnonzero(seen) + 1
            whole_trees = (
                {t.tobytes() for t in all_trees(n + extra, projective=True, single_root=True)}
                if n + extra < 7
                else None
            )
            for tree in trees:
                whole = words.expand(tree[1:].astype(np.int32))
                expected = [0 if h == 0 else places[h - 1] for h in tree[1:]]
                assert whole[places - 1].tolist() == expected
                assert seen[whole[~seen] - 1].all()
                if whole_trees is not None:
                    assert np.array([tree[0], *whole], tree.dtype).tobytes() in whole_trees


def test_a_sentence_of_punctuation_alone_has_a_tree() -> None:
    words = treebank([[("(", "PUNCT"), (")", "PUNCT"), (".", "PUNCT")]])
    parsed = DMV.uniform(("A",)).parse_treebank(words, without_punctuation=True)
    assert parsed.heads.tolist() == [0, 1, 1]
    assert parsed.column("deprel") == ["root", "punct", "punct"]
