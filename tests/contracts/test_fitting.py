"""Temperatures and smoothing are those that make right trees most probable: on trees drawn with known ones,
and by the definition of the loss."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise import Tree, TreeDistributionBatch
from arcwise.parsing import ParseOptions, ScoredParser, Temperatures
from arcwise.parsing.calibration import (
    Parts,
    _mean_loss,
    calibrated,
    fit_common_temperatures,
    fit_temperatures,
    match_label_temperature,
    match_temperatures,
    reliability,
)
from arcwise.parsing.scorer import FunctionScorer
from arcwise.treebanks import Sentence, Treebank

WORDS, SENTENCES = 6, 600
CLASS = {"projective": False, "single_root": True}


def scores_of(sentence: Sentence) -> np.ndarray:
    """Scores that the number of the sentence, its first word, makes at random; the best heads are clear."""
    return np.random.default_rng(int(sentence.forms[0])).normal(0, 3, (WORDS + 1, WORDS + 1))


def treebank_of(trees: list[Tree], first: int = 0) -> Treebank:
    rows = []
    for number, tree in enumerate(trees, start=first):
        rows += [f"{m}\t{number}\t_\tX\t_\t_\t{tree.heads[m]}\tdep\t_\t_\n" for m in range(1, WORDS + 1)]
        rows.append("\n")
    return Treebank.from_string("".join(rows))


def drawn_with(temperatures: Temperatures, first: int = 0) -> Treebank:
    """One tree a sentence, from the distribution with these temperatures."""
    empty = treebank_of([Tree.from_heads([0] * WORDS)] * SENTENCES, first)
    trees = TreeDistributionBatch(
        [scores_of(sentence) for sentence in empty],
        temperature=temperatures.heads,
        smoothing=temperatures.smoothing,
        **CLASS,
    )
    return treebank_of([one for (one,) in trees.sample(1, seed=7)], first)


@pytest.mark.parametrize("heads, smoothing", [(0.8, 0.4), (0.5, 0.15), (1.3, 0.0)])
def test_what_was_planted_is_found(heads: float, smoothing: float) -> None:
    treebank = drawn_with(Temperatures(heads, 1.0, smoothing))
    fitted = fit_temperatures(ScoredParser(FunctionScorer(scores_of)), treebank)
    found = fitted.temperatures
    assert found.heads == pytest.approx(heads, rel=0.1)
    assert found.smoothing == pytest.approx(smoothing, rel=0.35, abs=0.03)
    after = reliability(fitted, treebank)
    assert after.heads.error < 0.03
    planted = reliability(fitted.with_temperatures(heads, 1.0, smoothing), treebank)
    assert after.head_loss < planted.head_loss + 1e-3
    if smoothing > 0:  # a temperature alone does not mend it
        alone = [fitted.with_temperatures(t, 1.0) for t in np.geomspace(0.3, 6, 20)]
        assert min(reliability(one, treebank).head_loss for one in alone) > after.head_loss + 0.01


@pytest.mark.slow
def test_the_loss_is_that_of_held_out_heads_and_no_neighbour_has_less() -> None:
    """Two treebanks, each parsed by its own parser, together."""
    parts = [drawn_with(Temperatures(0.8, 1.0, 0.4)), drawn_with(Temperatures(1.6, 1.0, 0.2), SENTENCES)]
    parsers = [ScoredParser(FunctionScorer(scores_of)) for _ in parts]
    found = fit_common_temperatures(
        [(one.with_temperatures, bank) for one, bank in zip(parsers, parts, strict=True)], steps=30
    )

    def loss(heads: float, smoothing: float) -> float:
        """By hand, from marginals."""
        losses = []
        for bank in parts:
            trees = TreeDistributionBatch(
                [scores_of(sentence) for sentence in bank], temperature=heads, smoothing=smoothing, **CLASS
            )
            for sentence, marginals in zip(bank, trees.marginals, strict=True):
                losses += [-np.log(marginals[sentence.tree.heads[m], m]) for m in range(1, WORDS + 1)]
        return float(np.mean(losses))

    least = loss(found.heads, found.smoothing)
    told = [
        reliability(one.with_temperatures(found.heads, 1.0, found.smoothing), bank).head_loss
        for one, bank in zip(parsers, parts, strict=True)
    ]
    assert np.mean(told) == pytest.approx(least, abs=1e-5)
    for heads in (0.9, 1.0, 1.1):
        for smoothing in (0.0, 0.7, 1.0, 1.4):
            assert loss(heads * found.heads, smoothing * found.smoothing) > least - 2e-4
    assert found.smoothing > 0


def test_smoothing_that_gains_nothing_is_left_out() -> None:
    """Gold heads are the best ones: the surer, the better."""
    empty = treebank_of([Tree.from_heads([0] * WORDS)] * 40)
    best = TreeDistributionBatch([scores_of(sentence) for sentence in empty], **CLASS).best()
    found = fit_temperatures(ScoredParser(FunctionScorer(scores_of)), treebank_of(best)).temperatures
    assert found.smoothing == 0


@pytest.mark.slow
@pytest.mark.parametrize("start", [0.03, 1.1, 40.0])
@pytest.mark.parametrize("heads", [0.6, 1.0, 1.7])
def test_what_is_said_on_the_whole_is_right_as_often(heads: float, start: float) -> None:
    """Wherever the search begins."""
    treebank = drawn_with(Temperatures(heads))
    parser = ScoredParser(FunctionScorer(scores_of))
    found = match_temperatures([(parser.with_temperatures, treebank)], Temperatures(start), steps=14)
    assert found.heads == pytest.approx(heads, rel=0.1)
    assert found.labels == 1
    fitted = parser.with_temperatures(found.heads, found.labels, found.smoothing)
    parses = fitted.parses(treebank, options=ParseOptions(confidence=True))
    assert parses.probabilities is not None
    right = (parses.heads == treebank.heads).mean()
    assert parses.probabilities.head.mean() == pytest.approx(right, abs=1e-3)


NAMES = ("a", "b", "c")


def labelled(sentence: Sentence) -> np.ndarray:
    own = np.random.default_rng([int(sentence.forms[0]), 1]).normal(0, 2, (len(NAMES), 1, 1))
    return scores_of(sentence) + own


def some_labels_as_wrong_as_can_be(heads: Treebank) -> Treebank:
    """A fifth of them; the others are the best ones."""
    best = ScoredParser(FunctionScorer(labelled, NAMES)).parse(heads)
    worst = [NAMES[int(np.argmin(labelled(sentence)[:, 0, 1]))] for sentence in best for _ in range(WORDS)]
    wrong = np.random.default_rng(3).random(best.word_count) < 0.2
    labels = [w if x else r for w, r, x in zip(worst, best.column("deprel"), wrong, strict=True)]
    return best.annotate(deprel=labels)


@pytest.mark.parametrize("start", [0.05, 1.0, 30.0])
def test_labels_are_right_as_often_as_is_said(start: float) -> None:
    """Whatever the likelihood says: here a fifth of the labels are as wrong as they can be, of which
    temperatures that make them likely would doubt all others."""
    treebank = some_labels_as_wrong_as_can_be(treebank_of([Tree.from_heads([0] * WORDS)] * SENTENCES))
    parser = ScoredParser(FunctionScorer(labelled, NAMES))
    given = Temperatures(0.7, start)
    found = match_label_temperature([(parser.with_temperatures, treebank)], given, steps=14)
    assert (found.heads, found.smoothing) == (given.heads, given.smoothing)
    parses = parser.with_temperatures(found.heads, found.labels).parses(
        treebank, options=ParseOptions(confidence=True)
    )
    assert parses.probabilities is not None
    right = (parses.heads == treebank.heads) & (
        parses.label_strings == np.array(treebank.column("deprel"), object)
    )
    assert parses.probabilities.label.mean() == pytest.approx(right.mean(), abs=2e-3)


@pytest.mark.slow
def test_what_calibrate_fits_is_right_as_often_as_it_says() -> None:
    """Heads and labels, where a fifth of the labels are as wrong as can be."""
    drawn = drawn_with(Temperatures(0.8))
    parser = ScoredParser(FunctionScorer(labelled, NAMES))
    treebank = some_labels_as_wrong_as_can_be(drawn).annotate(heads=drawn.heads)
    before, after = (fit(parser, treebank) for fit in (fit_temperatures, calibrated))
    errors = {}
    for name, own in (("likeliest", before), ("calibrated", after)):
        parses = own.parses(treebank, options=ParseOptions(confidence=True))
        assert parses.probabilities is not None
        head = parses.heads == treebank.heads
        label = head & (parses.label_strings == np.array(treebank.column("deprel"), object))
        errors[name] = [
            abs(float(said.mean() - right.mean()))
            for said, right in ((parses.probabilities.head, head), (parses.probabilities.label, label))
        ]
    assert max(errors["calibrated"]) < 0.01
    assert errors["calibrated"][1] < errors["likeliest"][1] / 2


@pytest.mark.slow
def test_matching_takes_the_smoothing_whose_probabilities_mean_most() -> None:
    """No temperature alone tells what was drawn with smoothing."""
    parser = ScoredParser(FunctionScorer(scores_of))
    parts: Parts = [(parser.with_temperatures, drawn_with(Temperatures(0.3, smoothing=0.4)))]
    found = match_temperatures(parts, Temperatures(0.5))
    assert found.smoothing > 0
    brier = {}
    for smoothing in (0.0, found.smoothing):
        tried = matched_temperatures_at(parts, smoothing)
        parses = parts[0][0](*tried).parses(parts[0][1], options=ParseOptions(confidence=True))
        assert parses.probabilities is not None
        right = parses.heads == parts[0][1].heads
        brier[smoothing] = ((parses.probabilities.head - right) ** 2).mean()
    assert brier[found.smoothing] < brier[0.0]


def matched_temperatures_at(parts: Parts, smoothing: float) -> tuple[float, float, float]:
    """Slowly: the temperature of a grid whose probabilities are nearest to the share that is right."""
    parser_at, treebank = parts[0]
    grid = np.geomspace(0.1, 3, 80)
    excess = [
        abs(reliability(parser_at(heads, 1.0, smoothing), treebank).heads.overconfidence) for heads in grid
    ]
    return float(grid[int(np.argmin(excess))]), 1.0, smoothing


def test_a_loss_of_nothing_has_no_minus() -> None:
    assert str(_mean_loss(np.ones(3, np.float32))) == "0.0"
    assert _mean_loss(np.array([0.5, 0.25], np.float32)) == pytest.approx(1.5 * np.log(2))
