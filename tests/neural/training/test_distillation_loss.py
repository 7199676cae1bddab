"""A neural student: its loss against the definition, tree by tree, and its training against that without a
teacher."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from arcwise.distillation import Distillation, DistillationConfig
from arcwise.distillation.soft_targets import SoftTargets
from arcwise.distillation.tensor_targets import TensorTargets
from arcwise.errors import OptionError
from arcwise.graph import GraphConfig, GraphParser
from arcwise.neural import NeuralConfig, NeuralParser
from arcwise.neural.objectives import sentence_losses
from arcwise.torch import TreeCRF
from contracts.small_treebank import small_treebank
from neural.random_models import SMALL
from neural.training.tiny import Tiny, sentences
from reference.enumerate_trees import TREE_CLASSES, all_trees

Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
OPTIONS: dict[str, Any] = SMALL | {
    "epochs": 2,
    "dropout": 0.0,
    "word_dropout": 0.0,
    "affix_dropout": 0.0,
    "tag_dropout": 0.0,
    "device": "cpu",
}


def teacher_of(tiny: Tiny, seed: int = 3) -> list[tuple[list[float], list[Any], np.ndarray]]:
    """Of each sentence the probabilities of all trees by random scores, the trees, and P(label | arc) (n+1,
    n+1, L)."""
    draw = np.random.default_rng(seed)
    found = []
    for n in tiny.data.lengths.tolist():
        trees = list(all_trees(n, projective=tiny.config.projective, single_root=tiny.config.single_root))
        arcs = draw.normal(size=(n + 1, n + 1))
        weights = np.array([np.exp(sum(arcs[t[m], m] for m in range(1, n + 1))) for t in trees])
        labels = draw.dirichlet(np.ones(max(len(tiny.labels), 1)), size=(n + 1, n + 1))
        found.append(((weights / weights.sum()).tolist(), trees, labels))
    return found


def marginals_of(tiny: Tiny, teacher: list[tuple[list[float], list[Any], np.ndarray]]) -> SoftTargets:
    arrays = []
    for probabilities, trees, labels in teacher:
        n = len(trees[0]) - 1
        heads = np.zeros((n + 1, n + 1))
        for p, tree in zip(probabilities, trees, strict=True):
            for m in range(1, n + 1):
                heads[tree[m], m] += p
        arrays.append(heads * labels.transpose(2, 0, 1) if tiny.labels else heads)
    rows = [(label, h, m) for label in range(max(len(tiny.labels), 1)) for h in range(9) for m in range(9)]
    words, hs, ls, shares, done = [], [], [], [], 0
    for array in arrays:
        dense = array if tiny.labels else array[None]
        for label, h, m in rows:
            if m and h < dense.shape[1] and m < dense.shape[2] and dense[label, h, m] > 0:
                words.append(done + m - 1), hs.append(h), ls.append(label), shares.append(dense[label, h, m])
        done += dense.shape[2] - 1
    return SoftTargets.from_arcs(
        np.array(words), np.array(hs), np.array(ls) if tiny.labels else -np.ones(len(ls), np.int32),
        np.array(shares), done, tiny.labels,
    )  # fmt: skip


def taught(tiny: Tiny, seed: int = 3) -> Tiny:
    arcs = marginals_of(tiny, teacher_of(tiny, seed))
    weights = np.linspace(0.5, 2.0, len(tiny.treebank))
    found = TensorTargets(arcs, weights, tiny.treebank.sentence_words.astype(np.int64))
    return replace(tiny, data=replace(tiny.data, soft_targets=found))


def losses(tiny: Tiny) -> torch.Tensor:
    batch = tiny.data.batch(tiny.everything)
    hidden = tiny.network.hidden(tiny.data.rows[batch.positions], batch)
    found = sentence_losses(tiny.network, hidden, tiny.data, batch, tiny.config)
    return found[np.argsort(np.argsort(-tiny.data.lengths, kind="stable"), kind="stable")]


@Classes
@pytest.mark.parametrize(
    "options", [{}, {"labelled": False}, {"clusters": 2}], ids=["labels", "none", "clusters"]
)
def test_the_loss_is_the_cross_entropy_between_tree_distributions(
    projective: bool, single_root: bool, options: dict[str, Any]
) -> None:
    tiny = taught(
        Tiny.of(sentences("whole", "one word"), projective=projective, single_root=single_root, **options)
    )
    expected = []
    for (probabilities, trees, labels), (arcs, log_p), weight in zip(
        teacher_of(tiny), tiny.slow_scores(), np.linspace(0.5, 2.0, 2), strict=True
    ):
        n = len(trees[0]) - 1
        of_trees = [sum(arcs[t[m], m] for m in range(1, n + 1)) for t in trees]
        log_z = np.logaddexp.reduce(of_trees)
        total = 0.0
        for p, tree, score in zip(probabilities, trees, of_trees, strict=True):
            total += p * (log_z - score)
            for m in range(1, n + 1) if tiny.labels else ():
                states = log_p[tree[m], m].reshape(len(tiny.labels), tiny.config.clusters)
                total -= p * float(labels[tree[m], m] @ np.logaddexp.reduce(states, axis=1))
        expected.append(weight * total)
    assert losses(tiny).detach().numpy() == pytest.approx(np.array(expected), rel=1e-6)


def test_the_gradient_of_a_student() -> None:
    tiny = taught(Tiny.of(sentences("whole", "one word")))
    weight = tiny.network.arc_product
    losses(tiny).sum().backward()
    found = weight.grad.clone()
    with torch.no_grad():
        for at in ((0, 0), (1, 2), (2, 1)):
            steps = []
            for step in (1e-5, -1e-5):
                weight[at] += step
                steps.append(losses(tiny).sum().item())
                weight[at] -= step
            assert found[at].item() == pytest.approx((steps[0] - steps[1]) / 2e-5, abs=1e-6)


@pytest.mark.parametrize("clusters", [1, 2])
def test_labels_of_some_arcs_score_as_those_of_all_arcs(clusters: int) -> None:
    tiny = taught(Tiny.of(sentences("whole", "one word", "crossing"), clusters=clusters))
    assert tiny.data.soft_targets is not None
    batch = tiny.data.batch(tiny.everything)
    hidden = tiny.network.hidden(tiny.data.rows[batch.positions], batch)
    targets = tiny.data.soft_targets.targets.select_words(
        np.concatenate(
            [np.arange(*tiny.treebank.sentence_words[s : s + 2]) for s in batch.sentences.tolist()]
        )
    )
    lengths = batch.lengths.long()
    sentence = torch.repeat_interleave(lengths)
    place = torch.cat([torch.arange(1, n + 1) for n in lengths.tolist()])
    word, head = torch.from_numpy(targets.words), torch.from_numpy(targets.heads).long()
    label, share = torch.from_numpy(targets.labels).long(), torch.from_numpy(targets.probabilities)
    arc = sentence[word], head, place[word]
    scores = tiny.network.by_label(tiny.network.all_label_scores(hidden))
    scores = scores[(*arc, label)] + tiny.network.arcs(hidden)[arc]
    trees = TreeCRF(tiny.network.arcs(hidden), batch.lengths, projective=False, single_root=True)
    dense = trees.log_partition - torch.zeros(3).double().index_add(0, arc[0], share * scores)
    weights = torch.from_numpy(tiny.data.soft_targets.weights[batch.sentences])
    wanted = weights * dense
    found = sentence_losses(tiny.network, hidden, tiny.data, batch, tiny.config)
    torch.testing.assert_close(found, wanted)
    parameters = list(tiny.network.parameters())
    slopes = [torch.autograd.grad(loss.sum(), parameters, retain_graph=True) for loss in (found, wanted)]
    for slope, wanted_slope in zip(*slopes, strict=True):
        torch.testing.assert_close(slope, wanted_slope)


@pytest.fixture(scope="module")
def teacher() -> GraphParser:
    config = GraphConfig(trainer="log-linear", epochs=2, arc_bits=12, row_bits=12)
    return GraphParser.train(small_treebank(crossing=True), config=config)


def test_gold_trees_alone_are_learned_as_without_a_teacher(teacher: GraphParser) -> None:
    treebank = small_treebank(crossing=True)
    config = NeuralConfig(**OPTIONS)
    plain = NeuralParser.train(treebank, None, config=config).model.members[0]
    distillation = Distillation(teacher, config=DistillationConfig(gold_share=1.0))
    student = NeuralParser.train(treebank, None, config=config, distillation=distillation).model.members[0]
    for name, values in plain.items():
        assert np.abs(values - student[name]).max() < 1e-4, name


def test_text_of_a_teacher_is_learned_and_told(teacher: GraphParser) -> None:
    treebank, text = small_treebank(), small_treebank(crossing=True)
    distillation = Distillation(teacher, text, DistillationConfig(gold_share=0.5), name="teacher")
    config = NeuralConfig(**OPTIONS, learns=("upos",))
    parser = NeuralParser.train(treebank, None, config=config, distillation=distillation)
    assert parser.info["taught"]["text_sentences"] == len(text)
    assert parser.info["taught"]["teacher"] == "teacher"
    assert parser.info["train_sentences"] == len(treebank) + len(text)


def test_folds_of_a_student(teacher: GraphParser) -> None:
    distillation = Distillation(teacher, small_treebank(), DistillationConfig(gold_share=0.5))
    parser = NeuralParser.train(
        small_treebank(crossing=True), "2fold", config=NeuralConfig(**OPTIONS), distillation=distillation
    )
    assert parser.info["dev"] == "2fold"


def test_margins_do_not_learn_from_probabilities(teacher: GraphParser) -> None:
    config = NeuralConfig(**OPTIONS, objective="hinge")
    with pytest.raises(OptionError, match="objective: found 'hinge' with a teacher, expected likelihood"):
        NeuralParser.train(small_treebank(), None, config=config, distillation=Distillation(teacher))
