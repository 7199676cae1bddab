"""What is chosen once the weights are there: temperatures by which what is said is right as often, the
decoder that does best."""

from dataclasses import replace

import numpy as np
import pytest

from arcwise.evaluation.attachment import GoldTrees
from arcwise.learning.progress import Progress
from arcwise.neural import NeuralParser
from arcwise.neural.model_selection import tune_decoding
from arcwise.neural.scorer import NeuralScorer
from arcwise.parsing import ParseOptions
from arcwise.parsing.calibration import _ParsesAt, reliability
from arcwise.parsing.scored import Decoding, Temperatures
from arcwise.treebanks import Treebank
from contracts.small_treebank import small_treebank
from neural.random_models import random_parser


@pytest.fixture(scope="module")
def gold() -> Treebank:
    """Trees drawn from a network with random weights; of every eighth sentence one of which it knows next to
    nothing."""
    parser = random_parser(seed=5)
    treebank = Treebank.from_sentences([*small_treebank(crossing=True)] * 12)
    sure, strange = (
        parser.with_temperatures(t, t).distributions(treebank).sample(1, seed=3) for t in (0.3, 100.0)
    )
    trees = [strange[s] if s % 8 == 0 else sure[s] for s in range(len(treebank))]
    heads = np.concatenate([one.heads[1:] for (one,) in trees]).astype(np.int32)
    labels = [label for (one,) in trees for label in one.labels[1:]]
    return treebank.annotate(heads=heads, deprel=labels)


def test_what_is_said_is_right_as_often_and_no_decoder_does_better(gold: Treebank) -> None:
    model = random_parser(seed=5).model
    found = NeuralParser(tune_decoding(model, gold, (), threads=1, progress=Progress(shown=False)))
    assert found.fitted != NeuralParser(model).fitted
    own = ParseOptions(confidence=True, decode=model.decoding.decode, projective=model.decoding.projective)
    parses = found.parses(gold, options=own)
    assert parses.probabilities is not None
    right = parses.heads == gold.heads
    assert parses.probabilities.head.mean() == pytest.approx(right.mean(), abs=0.01)
    both = right & (parses.label_strings == np.array(gold.column("deprel"), object))
    assert parses.probabilities.label.mean() == pytest.approx(both.mean(), abs=0.01)
    scorer = GoldTrees.of(gold, model.labels)
    reached = found.parses(gold)
    for decode in ("map", "mbr"):
        for projective in (True, False):
            other = found.parses(gold, options=ParseOptions(decode=decode, projective=projective))
            assert (
                scorer.score(other.heads, other.labels).las <= scorer.score(reached.heads, reached.labels).las
            )


def test_confidences_are_those_of_what_the_chosen_decoder_finds() -> None:
    """Projective trees, of a network that was trained for all trees: it parses projectively then, and is
    surer of less."""
    parser = random_parser(seed=8)
    treebank = Treebank.from_sentences([*small_treebank(crossing=True)] * 12)
    drawn = parser.with_temperatures(0.6, 0.6).distributions(treebank, projective=True).sample(1, seed=3)
    heads = np.concatenate([one.heads[1:] for (one,) in drawn]).astype(np.int32)
    gold = treebank.annotate(heads=heads, deprel=[label for (one,) in drawn for label in one.labels[1:]])
    found = NeuralParser(tune_decoding(parser.model, gold, (), threads=1, progress=Progress(shown=False)))
    assert not parser.decoding.projective
    assert found.decoding.projective
    said = found.parses(gold, options=ParseOptions(confidence=True))
    assert said.probabilities is not None
    assert said.probabilities.head.mean() == pytest.approx((said.heads == gold.heads).mean(), abs=0.01)
    assert found.model.report["calibration"]["error"] == pytest.approx(
        reliability(found, gold).heads.error,
        abs=1e-4,  # four digits are kept
    )


def test_the_network_runs_once_for_all_decoders(gold: Treebank, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apart from that twice for the temperatures before, once after and once for the calibration error."""
    calls = []
    original = NeuralScorer.scores
    monkeypatch.setattr(
        NeuralScorer, "scores", lambda *args, **options: calls.append(1) or original(*args, **options)
    )
    tune_decoding(random_parser(seed=5).model, gold, (), threads=1, progress=Progress(shown=False))
    assert len(calls) == 4  # the last run is fused with decoding


def test_head_temperatures_need_no_labels(gold: Treebank) -> None:
    parser = random_parser(seed=5)
    parser = parser.with_model(replace(parser.model, decoding=Decoding("mbr")))
    parses_at = _ParsesAt([(parser.with_temperatures, gold)], Temperatures(2.0, 0.5), 1, keep=True)
    assert parses_at.heads is not parses_at
    at = Temperatures(0.7, 0.5, 0.1)
    ((whole, _),), ((heads, _),) = parses_at(at), parses_at.heads(at)
    assert (heads.heads == whole.heads).all()
    assert not heads.label_names
    assert whole.probabilities is not None
    assert heads.probabilities is not None
    np.testing.assert_allclose(heads.probabilities.head, whole.probabilities.head, atol=1e-6)
