"""What every scorer gets from the engine, whatever it is inside: a plain Python function as well as hashed
weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from arcwise.errors import ArcwiseError, InputError, ModelError
from arcwise.evaluation import evaluate
from arcwise.graph import GraphConfig, GraphParser
from arcwise.inference import Scores, TreeClass, TreeDistributionBatch
from arcwise.parsing import FunctionScorer, ParseOptions, ScoredParser, Scorer, Temperatures
from arcwise.parsing.calibration import _ParsesAt, fit_temperatures, reliability
from arcwise.treebanks import Sentence, Treebank
from contracts.small_treebank import small_treebank
from neural.random_models import PARSERS as NEURAL
from neural.random_models import random_parser
from reference.enumerate_trees import Enumeration

LABELS = ("dep", "punct", "root")
TREE_CLASSES = [(p, s) for p in (True, False) for s in (True, False)]
Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)


def by_rule(sentence: Sentence) -> np.ndarray:
    """A few rules of thumb: short arcs, verbs are roots, punctuation governs nothing."""
    n = len(sentence)
    words = np.arange(n + 1)
    scores = -0.7 * np.abs(words[:, None] - words).astype(float)
    scores[0] = [0, *(1.5 if tag == "VERB" else -2.0 for tag in sentence.upos)]
    for m, tag in enumerate(sentence.upos, start=1):
        if tag == "PUNCT":
            scores[m] -= 3.0
    return scores


def by_rule_with_labels(sentence: Sentence) -> np.ndarray:
    """The same, and labels: root from word 0, punct for punctuation, else dep."""
    arcs = by_rule(sentence)
    scores = np.stack([arcs, arcs - 1.0, arcs - 2.0])
    scores[2, 0] = arcs[0] + 1.0
    for m, tag in enumerate(sentence.upos, start=1):
        scores[1, 1:, m] += 3.0 if tag == "PUNCT" else -1.0
    return scores


def graph() -> ScoredParser:
    config = GraphConfig(trainer="log-linear", epochs=4, arc_bits=14, row_bits=15)
    return GraphParser.train(small_treebank(crossing=True), config=config)


SCORERS: dict[str, Callable[[], ScoredParser]] = {
    "function": lambda: ScoredParser(FunctionScorer(by_rule)),
    "function-labelled": lambda: ScoredParser(FunctionScorer(by_rule_with_labels, LABELS)),
    "graph": graph,
    **{name: lambda options=options: random_parser(**options) for name, options in NEURAL.items()},
}


@pytest.fixture(params=SCORERS, scope="module")
def parser(request: pytest.FixtureRequest) -> ScoredParser:
    return SCORERS[request.param]()


def test_it_is_a_scorer(parser: ScoredParser) -> None:
    assert isinstance(parser.scorer, Scorer)
    scores = parser.scorer.scores(small_treebank(), trees=TreeClass(projective=True, single_root=True))
    assert scores.labels == parser.labels
    assert scores.lengths.tolist() == [len(s) for s in small_treebank()]


@Classes
@pytest.mark.parametrize("decode", ["map", "mbr", "mbr-labelled", "max-z", "greedy"])
def test_every_decoder_in_every_class_against_enumeration(
    parser: ScoredParser, decode: str, projective: bool, single_root: bool
) -> None:
    treebank = small_treebank()[:4]
    options = ParseOptions(decode=decode, projective=projective, single_root=single_root)  # type: ignore[arg-type]
    parses = parser.parses(treebank, options=options)
    trees = parser.distributions(treebank, projective=projective, single_root=single_root)
    found = parser.scorer.scores(treebank, trees=TreeClass(projective=projective, single_root=single_root))
    scores = found.dense_arrays()
    best_states = best_state_scores(found) if decode == "max-z" else scores
    for s, (one, matrix) in enumerate(zip(trees, scores, strict=True)):
        heads = parses.heads[slice(*treebank.sentence_words[s : s + 2])]
        arcs = matrix.max(axis=0) if parser.labels else matrix
        arcs = best_states[s] if decode == "max-z" else arcs
        labelled = one.label_marginals.max(axis=0) if parser.labels else one.marginals
        gains = {"mbr": one.marginals, "mbr-labelled": labelled}.get(decode, arcs)
        gains = np.where(arcs > -np.inf, gains, -np.inf)
        words = np.arange(1, len(heads) + 1)
        value = gains[heads, words].sum()
        if decode == "greedy":
            assert value == pytest.approx(gains[:, 1:].max(axis=0).sum())
            continue
        best = Enumeration(gains, projective=projective, single_root=single_root)
        assert value == pytest.approx(best.values.max(), abs=1e-5)
        assert tuple(heads) in {tuple(tree[1:]) for tree in best.trees}


def best_state_scores(scores: Scores) -> list[np.ndarray]:
    """Of each sentence the highest score of every arc among its labels and clusters, (n+1, n+1)."""
    labels, clusters, set_starts, _, lengths, starts, sets, values, _ = scores.batch.parts()
    found, arc, value = [], 0, 0
    for n in lengths:
        size = (int(n) + 1) ** 2
        counts = np.diff(set_starts)[sets[arc : arc + size]] * clusters if labels else np.ones(size, int)
        best, end = np.full(size, -np.inf), 0
        for place, (start, count) in enumerate(zip(starts[arc : arc + size], counts, strict=True)):
            if start >= 0:
                best[place] = values[value + start : value + start + count].max()
                end = max(end, int(start + count))
        found.append(best.reshape(int(n) + 1, -1))
        arc, value = arc + size, value + end
    return found


def test_confidences_are_those_of_its_distribution(parser: ScoredParser) -> None:
    treebank = small_treebank()
    tempered = parser.with_temperatures(1.5, 0.8, 0.1)
    found = tempered.parses(treebank, options=ParseOptions(confidence=True))
    assert found.probabilities is not None
    marginals = tempered.distributions(treebank).marginals
    lengths = np.diff(treebank.sentence_words)
    wanted = [
        marginals[s][head, m]
        for (s, m), head in zip(
            ((s, m) for s, n in enumerate(lengths) for m in range(1, n + 1)), found.heads, strict=True
        )
    ]
    assert found.probabilities.head == pytest.approx(wanted, abs=1e-6)
    parsed = tempered.parse(treebank, options=ParseOptions(confidence=True))
    assert all("HeadProb=" in misc for sentence in parsed for misc in sentence.misc)
    assert all(("DeprelProb=" in misc) == bool(parser.labels) for s in parsed for misc in s.misc)


def test_k_best(parser: ScoredParser) -> None:
    treebank = small_treebank()
    best = parser.parse(treebank, options=ParseOptions(k_best=3))
    assert "# parse_rank = 1" in best.text
    first = best[0]
    assert first.tree == parser.parse(treebank)[0].tree
    assert len({tuple(s.heads) for s in best if s.sent_id == first.sent_id}) > 1 or parser.kind == "graph"


def test_kept_heads_stay(parser: ScoredParser) -> None:
    treebank = small_treebank()
    wanted = np.full(treebank.word_count, -1, np.int32)
    wanted[[0, 4]] = 3, 1
    partial = treebank.annotate(heads=wanted)
    parsed = parser.parse(partial, options=ParseOptions(keep=("head",)))
    assert parsed.heads[[0, 4]].tolist() == [3, 1]
    assert all(sentence.tree.is_complete for sentence in parsed)


def test_it_can_be_evaluated_and_calibrated(parser: ScoredParser) -> None:
    treebank = small_treebank()
    assert 0 < evaluate(treebank, parser.parse(treebank)).conll18["UAS"].f1 <= 1
    before = reliability(parser, treebank)
    fitted = fit_temperatures(parser, treebank)
    after = reliability(fitted, treebank)
    assert after.head_loss <= before.head_loss + 1e-9
    assert (after.labels is not None) == bool(parser.labels)
    assert fitted.fitted.heads != parser.fitted.heads
    at = fitted.fitted
    for factor in (0.9, 1.1):
        other = fitted.with_temperatures(factor * at.heads, at.labels, at.smoothing)
        assert after.head_loss <= reliability(other, treebank).head_loss + 1e-6
    assert isinstance(fitted.distributions(treebank), TreeDistributionBatch)


def test_reliability_is_that_of_the_parser_as_it_is(parser: ScoredParser) -> None:
    treebank = small_treebank()
    tempered = parser.with_temperatures(2.5, 0.6, 0.1)
    assert (tempered.fitted.heads, tempered.fitted.smoothing) == (2.5, 0.1)
    marginals = tempered.distributions(treebank).marginals
    losses = [
        -np.log(marginals[s][head, m])
        for s, sentence in enumerate(treebank)
        for m, head in enumerate(sentence.tree.heads[1:], start=1)
    ]
    assert reliability(tempered, treebank).head_loss == pytest.approx(np.mean(losses), abs=1e-5)


def test_scores_that_are_kept_tell_the_losses_at_other_temperatures(parser: ScoredParser) -> None:
    """Also where temperatures are inside the scores."""
    if parser.kind == "graph":
        return  # its scores of what training never saw depend on temperatures
    parts = [(parser.with_temperatures, small_treebank())]
    kept, again = (_ParsesAt(parts, Temperatures(3.0, 0.5), 1, keep=keep) for keep in (True, False))
    for at in (Temperatures(), Temperatures(0.6, 2.0, 0.2), Temperatures(4.0, 0.3)):
        assert kept.losses(at) == pytest.approx(again.losses(at), abs=1e-4)
        assert kept.heads.losses(at)[0] == pytest.approx(again.losses(at)[0], abs=1e-4)


def test_an_option_of_another_parser_is_refused(parser: ScoredParser) -> None:
    with pytest.raises(InputError, match="beam"):
        parser.parse(small_treebank(), options=ParseOptions(beam=8))


def test_threads_change_nothing(parser: ScoredParser) -> None:
    options = ParseOptions(confidence=True)
    one, three = (parser.parse(small_treebank(), options=options, threads=t) for t in (1, 3))
    assert one.data == three.data


def test_a_function_is_not_saved(tmp_path) -> None:
    with pytest.raises(ModelError, match="Python function"):
        ScoredParser(FunctionScorer(by_rule)).save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    "function, labels, message",
    [
        (lambda s: np.zeros((2, 2)), (), "expected"),
        (lambda s: np.zeros((len(s) + 1,) * 2), ("a",), "expected"),
        (lambda s: np.full((len(s) + 1,) * 2, np.nan), (), "found nan"),
        (lambda s: np.full((len(s) + 1,) * 2, -np.inf), (), "no tree"),
    ],
)
def test_bad_scores_are_named(function, labels, message: str) -> None:
    with pytest.raises(ArcwiseError, match=message):
        ScoredParser(FunctionScorer(function, labels)).parse(small_treebank())


def test_arcs_that_a_function_forbids_are_never_chosen() -> None:
    def only_left_to_right(sentence: Sentence) -> np.ndarray:
        return np.triu(np.zeros((len(sentence) + 1,) * 2)) + np.tril(
            np.full((len(sentence) + 1,) * 2, -np.inf), -1
        )

    parsed = ScoredParser(FunctionScorer(only_left_to_right)).parse(small_treebank())
    heads = parsed.heads
    starts = np.repeat(parsed.sentence_words[:-1], np.diff(parsed.sentence_words))
    assert (heads < np.arange(len(heads)) - starts + 1).all()
    assert isinstance(parsed, Treebank)
