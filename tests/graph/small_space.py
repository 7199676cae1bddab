"""A small table and its data, for tests of trainers below the parser.

Every use of the native graph kernels in the tests of trainers and decoders goes through this file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.distillation.soft_targets import SoftTargets
from arcwise.graph import GraphParser
from arcwise.graph.config import GraphConfig
from arcwise.graph.model import GraphModel
from arcwise.graph.table import Alphabets, arc_data, learn_alphabets, make_table, word_counts
from arcwise.graph.trainer_table import TRAINERS
from arcwise.inference import LOSSES, Scores
from arcwise.learning.preparation import prepare_trees
from arcwise.parsing import Decoding, ParseOptions
from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu, partial, small_treebank, two_rooted

Floats = npt.NDArray[np.float64]


@dataclass
class Small:
    """A configuration, a treebank, and the table and data made of both."""

    config: GraphConfig
    treebank: Treebank
    alphabets: Alphabets
    table: native.ArcTable
    data: native.ArcData

    def order(self, seed: int = 0) -> npt.NDArray[np.int64]:
        return np.random.default_rng(seed).permutation(len(self.treebank)).astype(np.int64)


TINY = [
    "what/N/3/obj the/D/4/det saw/V/0/root cat/N/3/nsubj",  # crossing arcs
    "the/D/2/det cat/N/3/nsubj sleeps/V/0/root",
    "dogs/N/2/nsubj see/V/0/root cats/N/2/obj",
    "mice/N/2/obj see/V/0/root",
    "go/V/0/root run/V/1/obj now/N/2/nsubj",
    "run/V/2/nsubj go/V/0/root cats/N/1/obj",
]
"""Sentences short enough to enumerate every labelled tree, with several labels for most arcs."""


ONE_SIDED = ("m.word", "h.word @ direction")
"""Templates of one word of an arc; there are none among the arc templates of every day."""


def _tiny() -> Treebank:
    return Treebank.from_string(conllu(TINY), source="tiny.conllu")


def _tiny_partial() -> Treebank:
    """The first, second and last two sentences without one of their heads."""
    whole = _tiny()
    heads, labels = whole.heads.copy(), whole.column("deprel")
    for word in (1, 4, 13, 17):
        heads[word], labels[word] = -1, "_"
    labels[6] = "_"  # its head is known
    return whole.annotate(heads=heads, deprel=labels)


TREEBANKS = {
    "whole": lambda: small_treebank(crossing=True),
    "projective": small_treebank,
    "two roots": two_rooted,
    "partial": partial,
    "tiny": _tiny,
    "tiny partial": _tiny_partial,
    "tiny two roots": lambda: Treebank.from_string(conllu([*TINY, "go/V/0/root dogs/N/0/obj"])),
}


def small(treebank: str | Treebank = "whole", **options: object) -> Small:
    """A small table over one of ``TREEBANKS`` (or a treebank of one's own), prepared as the parser does."""
    bank = treebank if isinstance(treebank, Treebank) else TREEBANKS[treebank]()
    settings = {"arc_bits": 9, "row_bits": 10, "word_dropout": 0.0} | options
    config = GraphConfig(**settings)  # type: ignore[arg-type]
    prepared = prepare_trees(bank, projective=config.projective, single_root=config.single_root)
    alphabets = learn_alphabets(config, bank)
    words = word_counts(config, bank)
    table = make_table(config, alphabets, words.hashes, words.counts)
    data = arc_data(table, bank, alphabets, config.tag, prepared.heads, prepared.labels)
    table.learn_classes(data, restricted=config.restrict_labels, enough=config.filter_after)
    everywhere = np.full_like(table.reach, 99)  # no arc is left out: trees to choose from, even here
    table.set_classes(table.label_starts, table.label_ids, everywhere, table.novelty, table.unseen)
    return Small(config, bank, alphabets, table, data)


def part(case: Small, first: int, last: int) -> Small:
    """Some of the sentences of a case, with the table of all."""
    return with_treebank(case, case.treebank[first:last])


def with_treebank(case: Small, bank: Treebank) -> Small:
    """Another treebank with the table of a case; its trees must be trees of the configuration."""
    data = arc_data(case.table, bank, case.alphabets, case.config.tag, bank.heads)
    return replace(case, treebank=bank, data=data)


def taught(case: Small, arcs: SoftTargets, weights: Floats | None = None) -> Small:
    """The case with what a teacher says of its words, and how much each sentence counts."""
    data = arc_data(case.table, case.treebank, case.alphabets, case.config.tag, case.data.heads)
    sentences = np.ones(len(case.treebank)) if weights is None else weights
    data.set_taught(arcs.starts, arcs.heads, arcs.labels, arcs.probabilities, sentences)
    return replace(case, data=data)


# ---- what the table says


def learned_classes(case: Small, enough: int = 0) -> tuple[list[list[int]], list[int]]:
    """The labels and the longest arc of each class of arcs (tag of the head, tag of the modifier, direction),
    as learned."""
    case.table.learn_classes(case.data, restricted=case.config.restrict_labels, enough=enough)
    starts = case.table.label_starts
    labels = [case.table.label_ids[a:b].tolist() for a, b in pairwise(starts)]
    return labels, case.table.reach.tolist()


def arc_class(case: Small, s: int, h: int, m: int) -> int:
    """The number of the class of an arc. After the tags come that of unknown words and that of the root."""
    tags = list(case.alphabets.tags)
    own = [len(tags) + 1, *(tags.index(tag) if tag in tags else len(tags) for tag in case.treebank[s].upos)]
    return (own[h] * (len(tags) + 2) + own[m]) * 2 + int(m > h)


def cells(case: Small) -> int:
    """How many weights there are."""
    return case.table.cells


def gold(case: Small, s: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Heads and labels of a sentence as the trainers see them, -1 where unknown."""
    first, last = case.treebank.sentence_words[s : s + 2]
    return case.data.heads[first:last], case.data.labels[first:last]


def feature_places(case: Small, s: int, h: int, m: int, state: int) -> list[int]:
    """The places of the weights whose sum is the score of a state of an arc; a place may come twice."""
    return case.table.feature_places(data=case.data, sentence=s, head=h, modifier=m, state=state)


def states(case: Small, s: int, h: int, m: int) -> list[tuple[int, int]]:
    """(label, cluster) of each state of an arc; the label is -1 in an unlabelled model."""
    clusters = case.config.clusters if case.config.trainer == "latent" else 1
    if not case.alphabets.labels:
        return [(-1, z) for z in range(clusters)]
    own = arc_class(case, s, h, m)
    first, last = case.table.label_starts[own : own + 2]
    return [(int(label), z) for label in case.table.label_ids[first:last] for z in range(clusters)]


def feature_counts(case: Small, threads: int = 1) -> tuple[int, int]:
    """How many different features the gold arcs have, and how many places these take."""
    return case.table.count_features(data=case.data, threads=threads)


def parsing_scores(case: Small, weights: npt.NDArray[np.float32], s: int, temperature: float = 1.0) -> Floats:
    """Shape (labels, n+1, n+1): the scores of a sentence, clusters summed out, as the parser has them: of
    every arc and label."""
    margins = not case.config.trainer_kind.probabilistic
    scorer = native.GraphScorer(case.table, weights, temperature, temperature, margins=margins)
    batch = scorer.scores(case.data, threads=1)
    scores = Scores(batch, case.alphabets.labels).dense_arrays(temperature=temperature)[s]
    return scores if case.alphabets.labels else scores[None]


def labelled_scores(case: Small, weights: npt.NDArray[np.float32], s: int) -> Floats:
    """The same as the trainers have them: without labels that the class of an arc was never seen with."""
    batch = native.GraphScorer(case.table, weights).scores(case.data, threads=1)
    scores = Scores(batch, case.alphabets.labels).dense_arrays()[s]
    scores = scores if case.alphabets.labels else scores[None]
    if not case.alphabets.labels:
        return scores
    known = np.full_like(scores, -np.inf)
    for h in range(scores.shape[1]):
        for m in range(1, scores.shape[1]):
            if h != m:
                own = sorted({label for label, _ in states(case, s, h, m)})
                known[own, h, m] = scores[own, h, m]
    return known


# ---- trainers

T = TypeVar("T")


def trainer_of(kind: Callable[..., T], case: Small, *, config: GraphConfig | None = None) -> T:
    """A trainer of ``arcwise.graph.trainers`` (or another configuration of it) over the case."""
    chosen = config or case.config
    made = TRAINERS[chosen.trainer].make(chosen, case.table, case.data, 1)
    assert isinstance(made, kind)  # type: ignore[arg-type]
    return made


UPDATES = {
    "perceptron": native.MarginUpdate.perceptron,
    "mira": native.MarginUpdate.mira,
    "mira-factored": native.MarginUpdate.mira_factored,
}


def margin_trainer(
    case: Small,
    *,
    update: str = "mira",
    k: int = 1,
    C: float = 1.0,
    loss_augmented: bool = True,
    minimum_risk: bool = False,
    risk_augmented: bool = False,
    dropout: float = 0.0,
    seed: int = 1,
) -> native.MarginTrainer:
    """Perceptron or MIRA over the trees of the configuration."""
    return native.MarginTrainer(
        table=case.table,
        data=case.data,
        update=UPDATES[update],
        projective=case.config.projective,
        single_root=case.config.single_root,
        k=k,
        C=C,
        loss_augmented=loss_augmented,
        minimum_risk=minimum_risk,
        risk_augmented=risk_augmented,
        dropout=dropout,
        seed=seed,
    )


def likelihood_trainer(
    case: Small,
    *,
    adagrad: bool = False,
    prior: float = 0.0,
    floor: float = 0.0,
    noise: float = 0.0,
    dropout: float = 0.0,
    seed: int = 1,
) -> native.LossTrainer:
    """The online log-linear trainer over the trees of the configuration."""
    return native.LossTrainer(
        table=case.table,
        data=case.data,
        loss=native.TreeLoss.likelihood,
        projective=case.config.projective,
        single_root=case.config.single_root,
        adagrad=adagrad,
        prior=prior,
        floor=floor,
        noise=noise,
        dropout=dropout,
        seed=seed,
    )


def dual_trainer(
    case: Small, *, C: float, beta: float = 9.0, violators: int = 3, log_linear: bool = False
) -> native.ExponentiatedGradientTrainer:
    """Exponentiated gradient over the trees of the configuration; without violators the paper's steps
    alone."""
    return native.ExponentiatedGradientTrainer(
        table=case.table,
        data=case.data,
        projective=case.config.projective,
        single_root=case.config.single_root,
        C=C,
        beta=beta,
        violators=0 if log_linear else violators,
        log_linear=log_linear,
    )


def learn(
    case: Small, trainer: native.MarginTrainer, sentences: Sequence[int], *, epoch: int = 0
) -> tuple[float, int]:
    """One pass of a margin trainer: (loss, sentences that changed the weights). None may be left out."""
    report = trainer.run(sentences=np.array(sentences, np.int64), epoch=epoch)
    assert report.skipped == 0
    return report.loss, report.updates


def climb(
    case: Small, trainer: native.LossTrainer, sentences: Sequence[int], *, rate: float, epoch: int = 0
) -> float:
    """One pass of a log-linear trainer: the log likelihood on the way. No sentence may be left out."""
    report = trainer.run(sentences=np.array(sentences, np.int64), epoch=epoch, rate=rate)
    assert report.skipped == 0
    return -report.loss


def raise_dual(case: Small, trainer: native.ExponentiatedGradientTrainer, sentences: Sequence[int]) -> float:
    """One pass of exponentiated gradient: the terms of these sentences in the dual."""
    return trainer.run(sentences=np.array(sentences, np.int64))


Trainer = native.MarginTrainer | native.LossTrainer | native.ExponentiatedGradientTrainer


def weights_of(trainer: Trainer) -> Floats:
    """The present weights."""
    return np.asarray(trainer.weights, np.float64)


def averaged_of(trainer: native.MarginTrainer | native.LossTrainer) -> Floats:
    """The average of the weights over all steps."""
    return np.asarray(trainer.averaged, np.float64)


def objective(
    case: Small, weights: Floats, threads: int = 1, *, loss: str = "likelihood"
) -> tuple[float, Floats]:
    """A loss of the treebank (minus the log likelihood), and its gradient by the weights. No sentence may be
    left out."""
    computed = objective_of(case, threads, loss=loss)
    value, slope = computed(np.ascontiguousarray(weights[computed.places]))
    assert computed.skipped == 0
    gradient = np.zeros(cells(case))
    gradient[computed.places] = slope
    return value, gradient


def objective_of(case: Small, threads: int = 1, *, loss: str = "likelihood") -> native.LossObjective:
    """A loss of the treebank by the weights of the features that occur."""
    return native.LossObjective(
        table=case.table,
        data=case.data,
        loss=LOSSES[loss],
        projective=case.config.projective,
        single_root=case.config.single_root,
        threads=threads,
    )


# ---- the parser


def parser_of(case: Small, weights: npt.NDArray[np.float32], *, temperature: float = 1.0) -> GraphParser:
    """A parser with these weights, over the trees of the configuration."""
    decoding = Decoding(projective=case.config.projective, single_root=case.config.single_root)
    words = word_counts(case.config, case.treebank)
    model = GraphModel(case.config, case.alphabets, case.table, words, weights, decoding)
    return GraphParser(model.with_temperatures(temperature, temperature))


def decoded(
    case: Small, weights: npt.NDArray[np.float32], decode: str
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Heads and labels (numbers, -1 in an unlabelled model) of all words, tree or not."""
    options = ParseOptions(decode=decode)  # type: ignore[arg-type]
    result = parser_of(case, weights).parses(case.treebank, options=options)
    return result.heads, result.labels
