"""Word dropout of the online trainers: a word of frequency f is unknown with probability a / (a + f), seen in
what is learned."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu
from graph.small_space import (
    Small,
    climb,
    feature_places,
    learn,
    likelihood_trainer,
    margin_trainer,
    small,
    weights_of,
)

FREQUENCIES = (1, 3, 10)  # of the first three words of both long sentences
DROPOUT = 2.0
EPOCHS = 1500
LONG = "rare{0}/N/4/x some{0}/N/4/x often{0}/N/4/x go{0}/V/0/root"


def words_of_known_frequency() -> Small:
    """One feature an arc, the modifier's word with the head's tag: where its weight changes, the word was not
    dropped."""
    rows = [LONG.format(0), LONG.format(1)]
    for number in (0, 1):
        rows += [f"some{number}/N/2/x runs/V/0/root"] * 2 + [f"often{number}/N/2/x runs/V/0/root"] * 9
    return small(
        Treebank.from_string(conllu(rows)),
        labelled=False,
        word_dropout=DROPOUT,
        trainer="log-linear",
        arc_bits=12,
        row_bits=10,
        arc_templates=("h.upos m.word @ direction",),
        label_templates=(),
    )


def kept_words(case: Small, kind: str, *, seed: int = 1, epochs: int = EPOCHS) -> npt.NDArray[np.bool_]:
    """Shape (epochs, 2, 3): whether each word of each long sentence was seen for what it is."""
    places = np.array([[feature_places(case, s, 4, m, 0)[0] for m in (1, 2, 3)] for s in (0, 1)])
    assert len(set(places.ravel())) == 6
    if kind == "log-linear":
        likelihood = likelihood_trainer(case, dropout=DROPOUT, seed=seed)
    else:
        margin = margin_trainer(case, update=kind, k=30, C=1e-5, dropout=DROPOUT, seed=seed)
    kept, before = [], np.zeros_like(places, dtype=float)
    for epoch in range(epochs):
        if kind == "log-linear":
            climb(case, likelihood, [0, 1], rate=1e-5, epoch=epoch)
            after = weights_of(likelihood)[places]
        else:
            learn(case, margin, [0, 1], epoch=epoch)
            after = weights_of(margin)[places]
        kept.append(after != before)
        before = after
    return np.array(kept)


@pytest.mark.parametrize("kind", ["log-linear", "mira", "mira-factored"])
def test_a_word_of_frequency_f_is_dropped_with_probability_a_of_a_plus_f(kind: str) -> None:
    dropped = 1 - kept_words(words_of_known_frequency(), kind).mean(axis=0)
    for word, f in enumerate(FREQUENCIES):
        p = DROPOUT / (DROPOUT + f)
        assert dropped[:, word] == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / EPOCHS))


def test_draws_of_different_words_sentences_and_epochs_are_independent() -> None:
    kept = kept_words(words_of_known_frequency(), "log-linear").astype(float)
    draws = kept.reshape(len(kept), 6)
    bound = 4 / np.sqrt(len(draws))
    together = np.corrcoef(draws.T) - np.eye(6)
    assert np.abs(together).max() < bound
    one_after_the_other = [np.corrcoef(draws[:-1, i], draws[1:, i])[0, 1] for i in range(6)]
    assert np.abs(one_after_the_other).max() < bound


def test_draws_depend_on_the_seed_alone() -> None:
    case = words_of_known_frequency()
    one, again, other = (kept_words(case, "log-linear", seed=seed, epochs=60) for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_without_dropout_every_word_is_seen() -> None:
    case = words_of_known_frequency()
    places = [feature_places(case, 0, 4, m, 0)[0] for m in (1, 2, 3)]
    for epoch in range(20):
        trainer = likelihood_trainer(case, dropout=0.0)
        climb(case, trainer, [0], rate=0.1, epoch=epoch)
        assert (weights_of(trainer)[places] != 0).all()
