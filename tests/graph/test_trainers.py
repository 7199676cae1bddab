"""The mathematics of the trainers: gradients, optima, duality, margins."""

import tracemalloc
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.graph.config import GraphConfig
from arcwise.graph.templates import ARC_TEMPLATES
from arcwise.graph.trainers import (
    BatchTrainer,
    ExponentiatedGradientTrainer,
    LossTrainer,
    MarginTrainer,
)
from arcwise.inference import LOSSES, TreeDistribution
from arcwise.inference.eisner import eisner_decode
from arcwise.treebanks import Treebank
from graph.small_space import (
    ONE_SIDED,
    Small,
    averaged_of,
    cells,
    feature_counts,
    feature_places,
    labelled_scores,
    learn,
    margin_trainer,
    objective,
    objective_of,
    small,
    states,
    trainer_of,
    weights_of,
)

TREE_CLASSES = [(p, s) for p in (True, False) for s in (True, False)]


def no_advance(done: int) -> None:
    pass


def treebank_of(projective: bool, single_root: bool) -> str:
    return ("projective" if single_root else "two roots") if projective else "whole"


@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("kind", ["whole", "partial", "latent"])
def test_the_gradient_is_that_of_finite_differences(
    projective: bool, single_root: bool, labelled: bool, kind: str
) -> None:
    treebank = "partial" if kind == "partial" else treebank_of(projective, single_root)
    trainer = "latent" if kind == "latent" else "log-linear-batch"
    case = small(
        treebank,
        projective=projective,
        single_root=single_root,
        labelled=labelled,
        trainer=trainer,
        clusters=3,
    )
    random = np.random.default_rng(5)
    weights = random.normal(0, 0.3, cells(case))
    _, gradient = objective(case, weights)
    moved = np.flatnonzero(gradient)
    for place in random.choice(moved, 12, replace=False):
        step = np.zeros(cells(case))
        step[place] = 1e-5
        numeric = (objective(case, weights + step)[0] - objective(case, weights - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(numeric, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("kind", ["whole", "partial", "latent"])
def test_the_gradient_of_every_loss_is_that_of_finite_differences(
    loss: str, projective: bool, kind: str
) -> None:
    treebank = "partial" if kind == "partial" else treebank_of(projective, True)
    trainer = "latent" if kind == "latent" else "log-linear-batch"
    case = small(treebank, projective=projective, trainer=trainer, clusters=3)
    random = np.random.default_rng(5)
    weights = random.normal(0, 0.3, cells(case))
    _, gradient = objective(case, weights, loss=loss)
    for place in random.choice(np.flatnonzero(gradient), 8, replace=False):
        step = np.zeros(cells(case))
        step[place] = 1e-5
        values = [objective(case, weights + sign * step, loss=loss)[0] for sign in (1, -1)]
        assert gradient[place] == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-4, abs=1e-5)


def test_the_batch_objective_does_not_depend_on_threads() -> None:
    case = small()
    weights = np.random.default_rng(0).normal(0, 1, cells(case))
    one, two = objective(case, weights, 1), objective(case, weights, 3)
    assert one[0] == two[0]
    assert np.array_equal(one[1], two[1])


@pytest.mark.slow
@pytest.mark.parametrize("labelled", [True, False])
def test_the_batch_objective_knows_the_features_that_occur_and_no_others(labelled: bool) -> None:
    """In a table of many cells most are nobody's: the solver does not see them, and they stay 0."""
    case = small("whole", trainer="log-linear-batch", labelled=labelled, arc_bits=16, row_bits=19)
    occur = {
        place
        for s, sentence in enumerate(case.treebank)
        for m in range(1, len(sentence) + 1)
        for h in range(len(sentence) + 1)
        if h != m
        for state in range(len(states(case, s, h, m)))
        for place in feature_places(case, s, h, m, state)
    }
    trainer = trainer_of(BatchTrainer, case)
    assert set(objective_of(case).places.tolist()) == occur
    assert len(occur) < 0.2 * cells(case)
    trainer.epoch(1, case.order(), no_advance)
    assert set(np.flatnonzero(trainer.weights).tolist()) <= occur


@pytest.mark.parametrize("projective", [True, False])
def test_l_bfgs_and_conjugate_gradient_reach_the_same_optimum(projective: bool) -> None:
    optima = []
    for solver in ("l-bfgs", "cg"):
        case = small(
            "projective",
            projective=projective,
            trainer="log-linear-batch",
            solver=solver,
            C=1.0,
            labelled=True,
        )
        trainer = trainer_of(BatchTrainer, case)
        for number in range(40):
            metrics = trainer.epoch(number, case.order(), no_advance)
            if trainer.finished:
                break
        assert trainer.finished
        assert metrics["|gradient|"] < 1e-2
        optima.append((trainer.objective_value, trainer.weights))
    (one, w), (two, v) = optima
    assert one == pytest.approx(two, rel=1e-5)
    assert np.abs(w - v).max() < 1e-2


@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
@pytest.mark.parametrize("labelled", [True, False])
def test_exponentiated_gradient_closes_the_gap(projective: bool, single_root: bool, labelled: bool) -> None:
    case = small(
        treebank_of(projective, single_root),
        projective=projective,
        single_root=single_root,
        labelled=labelled,
        trainer="eg",
        C=0.01,
    )
    trainer = trainer_of(ExponentiatedGradientTrainer, case)
    duals = []
    for number in range(150):
        told = trainer.epoch(number, case.order(number), no_advance)
        assert told["dual"] <= told["primal"] + 1e-9
        duals.append(told["dual"])
        if trainer.gap < 0.01:
            break
    assert trainer.gap < 0.01
    assert duals[-1] > duals[0]


@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
def test_no_pass_of_exponentiated_gradient_lowers_the_dual(projective: bool, single_root: bool) -> None:
    """A large C makes weights large, and with them steps too long: each sentence has to find its own."""
    case = small(
        treebank_of(projective, single_root),
        projective=projective,
        single_root=single_root,
        trainer="eg",
        C=1.0,
    )
    trainer = trainer_of(ExponentiatedGradientTrainer, case)
    duals = [trainer.epoch(number, case.order(number), no_advance)["dual"] for number in range(30)]
    assert np.all(np.diff(duals) >= -1e-9)


@pytest.mark.slow
def test_exponentiated_gradient_agrees_with_a_primal_solver() -> None:
    case = small("projective", projective=True, trainer="eg", C=0.01, labelled=False)
    trainer = trainer_of(ExponentiatedGradientTrainer, case)
    for number in range(400):
        told = trainer.epoch(number, case.order(number), no_advance)
        if trainer.gap < 1e-3:
            break
    w = subgradient_descent(case, 0.01, steps=600)
    assert np.linalg.norm(trainer.weights - w) < 0.1 * np.linalg.norm(w)
    assert primal(case, w, 0.01) == pytest.approx(told["primal"], rel=0.01)


def features(case: Small, s: int) -> dict[tuple[int, int], np.ndarray]:
    """The places of the features of every arc of a sentence."""
    n = len(case.treebank[s])
    arcs = [(h, m) for m in range(1, n + 1) for h in range(n + 1) if h != m]
    return {(h, m): np.array(feature_places(case, s, h, m, 0)) for h, m in arcs}


def hinge(
    case: Small, arcs: list[dict[tuple[int, int], np.ndarray]], weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """Σ max_y [cost - w·(f(y_i) - f(y))] and a subgradient, by the slow way: features one arc at a time."""
    total, gradient = 0.0, np.zeros(cells(case))
    starts = case.treebank.sentence_words
    for s in range(len(case.treebank)):
        gold = case.treebank.heads[starts[s] : starts[s + 1]]
        n = len(gold)
        places = arcs[s]
        scores = np.full((n + 1, n + 1), -np.inf)
        for (h, m), own in places.items():
            scores[h, m] = weights[own].sum() + (h != gold[m - 1])
        heads, value = eisner_decode(scores, single_root=True)
        for m in range(1, n + 1):
            right, found = places[int(gold[m - 1]), m], places[int(heads[m]), m]
            value -= weights[right].sum()
            np.add.at(gradient, right, -1)
            np.add.at(gradient, found, 1)
        total += value
    return total, gradient


def primal(case: Small, weights: np.ndarray, C: float) -> float:
    arcs = [features(case, s) for s in range(len(case.treebank))]
    return 0.5 * float(weights @ weights) + C * hinge(case, arcs, weights)[0]


def subgradient_descent(case: Small, C: float, steps: int) -> np.ndarray:
    """Minimises the primal; the average of the later iterates (Lacoste-Julien et al. 2012: weights growing
    with t)."""
    w = np.zeros(cells(case))
    average = w.copy()
    arcs = [features(case, s) for s in range(len(case.treebank))]
    for t in range(steps):
        _, gradient = hinge(case, arcs, w)
        w = w - 2 / (t + 2) * (w + C * gradient)
        average += 2 / (t + 2) * (w - average)
    return average


@pytest.mark.parametrize("update", ["mira", "mira-factored"])
@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("labelled", [True, False])
def test_after_some_mira_updates_the_margins_hold(update: str, projective: bool, labelled: bool) -> None:
    case = small(treebank_of(projective, True), projective=projective, labelled=labelled)
    trainer = margin_trainer(case, update=update, k=5, C=1e6)
    changed = [learn(case, trainer, [1], epoch=epoch)[1] for epoch in range(30)]
    assert changed[0] == 1
    # Every wrong tree is now as far from the gold one as its loss: the trees that come nearest ask for no
    # more change.
    assert changed[-1] == 0


@pytest.mark.parametrize("projective", [True, False])
def test_with_minimum_risk_mira_learns_from_the_tree_of_minimum_risk(projective: bool) -> None:
    """Two updates by hand: the second one's loss is that of the minimum-risk tree under the weights of the
    first."""
    case = small(treebank_of(projective, True), projective=projective, labelled=False)
    trainer = margin_trainer(case, C=0.01, loss_augmented=False, minimum_risk=True)
    losses = []
    for s in range(len(case.treebank)):
        arcs, (first, last) = features(case, s), case.treebank.sentence_words[s : s + 2]
        gold = case.treebank.heads[first:last]
        scores = np.full((len(gold) + 1,) * 2, -np.inf)
        for (h, m), places in arcs.items():
            scores[h, m] = weights_of(trainer)[places].sum()
        risky = TreeDistribution(scores, projective=projective, single_root=True).minimum_risk()
        loss, _ = learn(case, trainer, [s])
        losses.append((loss, sum(risky.heads[1:] != gold)))
    assert [a for a, _ in losses] == [b for _, b in losses]


def test_the_configuration_asks_for_minimum_risk() -> None:
    case = small(treebank_of(False, True), projective=False, labelled=False)
    plain = replace(case.config, trainer="mira", loss_augmented=False, k=1)
    order = np.arange(len(case.treebank))
    weights = []
    risky = replace(plain, minimum_risk=True)
    for config in (plain, risky, replace(risky, risk_scores="loss-augmented")):
        trainer = trainer_of(MarginTrainer, case, config=config)
        for epoch in range(5):
            trainer.epoch(epoch, order, no_advance)
        weights.append(trainer.weights)
    assert (weights[0] != weights[1]).any()
    assert (weights[1] != weights[2]).any()


def test_latent_with_one_cluster_is_log_linear() -> None:
    plain = small("projective", labelled=False, trainer="log-linear")
    latent = small("projective", labelled=False, trainer="latent", clusters=1)
    runs = [trainer_of(LossTrainer, case) for case in (plain, latent)]
    for number in range(3):
        told = [run.epoch(number, plain.order(number), no_advance) for run in runs]
        assert told[0] == told[1]
    assert np.array_equal(runs[0].weights, runs[1].weights)


@pytest.mark.parametrize("clusters", [1, 3])
@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("share", [1.0, 0.03])
def test_a_score_is_the_sum_of_the_weights_of_its_features(
    share: float, labelled: bool, clusters: int
) -> None:
    """Whether all weights are there, or a share alone: blocks of zeros are passed over."""
    case = small(
        "whole",
        labelled=labelled,
        trainer="latent" if clusters > 1 else "mira",
        clusters=clusters,
        arc_templates=(*ARC_TEMPLATES, *ONE_SIDED),
    )
    check_sums(case, share, clusters, ((0, 3), (3, 2), (2, 1)))


def test_a_score_of_many_labels_is_the_sum_of_its_weights_too() -> None:
    """Rows of labels are added eight blocks of eight at a time."""
    rows = "1\ta\t_\tX\t_\t_\t2\tlabel{0}\t_\t_\n2\tb\t_\tY\t_\t_\t0\troot\t_\t_\n\n"
    many = Treebank.from_string("".join(rows.format(number) for number in range(150)))
    case = small(many, labelled=True, trainer="mira", restrict_labels=False)
    check_sums(case, 1.0, 1, ((2, 1), (0, 2), (1, 2)))


def check_sums(case: Small, share: float, clusters: int, arcs: Sequence[tuple[int, int]]) -> None:
    """That the scores of these arcs of the first sentence are sums of weights, of which so many are not
    zero."""
    random = np.random.default_rng(2)
    weights = random.normal(0, 1, cells(case)).astype(np.float32)
    weights[random.random(cells(case)) >= share] = 0
    scores = labelled_scores(case, weights, 0)
    for h, m in arcs:
        by_label: dict[int, list[float]] = {}
        for number, (label, _) in enumerate(states(case, 0, h, m)):
            places = feature_places(case, 0, h, m, number)
            by_label.setdefault(max(label, 0), []).append(weights[places].sum(dtype=np.float64))
        assert sorted(by_label) == np.flatnonzero(np.isfinite(scores[:, h, m])).tolist()
        for label, own in by_label.items():
            assert len(own) == clusters
            assert scores[label, h, m] == pytest.approx(np.logaddexp.reduce(own), abs=1e-4)


def test_averaged_weights_are_the_average_of_all_steps() -> None:
    case = small("projective")
    trainer = margin_trainer(case, update="perceptron")
    seen = [np.zeros(cells(case))]
    for sentence in (0, 1, 2, 3, 0, 1):
        learn(case, trainer, [sentence])
        seen.append(weights_of(trainer))
    assert np.allclose(averaged_of(trainer), np.mean(seen, axis=0), atol=1e-5)


def test_adagrad_and_a_prior_learn_too() -> None:
    case = small("projective", trainer="log-linear", optimizer="adagrad", prior=1e-4, learning_rate=0.1)
    trainer = trainer_of(LossTrainer, case)
    losses = [trainer.epoch(n, case.order(n), no_advance)["loss"] for n in range(8)]
    assert losses[-1] < 0.3 * losses[0]


def test_collisions_are_counted() -> None:
    roomy, crowded = small(arc_bits=20, row_bits=22), small(arc_bits=9, row_bits=10)
    (features, places), (same, fewer) = (feature_counts(c) for c in (roomy, crowded))
    assert feature_counts(roomy, threads=3) == (features, places)
    assert features == same
    assert 0.97 * features < places <= features
    assert fewer < 0.7 * features


class Quadratic:
    """Σ a (x - 1)² / 2 as the loss of a treebank, with the points where it was asked for."""

    skipped = 0

    def __init__(self, size: int) -> None:
        self.places = np.arange(size, dtype=np.uint32)
        self.scales = np.linspace(1, 100, size)
        self.points: list[bytes] = []
        self.remember = True

    def __call__(self, x: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        if self.remember:
            self.points.append(x.tobytes())
        slope = (x - 1) * self.scales
        return float(slope @ (x - 1)) / 2, slope


@pytest.mark.parametrize("solver", ["l-bfgs", "cg"])
def test_batch_training_asks_for_no_point_twice(solver: str) -> None:
    """An epoch goes on where the last one ended, with what the solver knows."""
    quadratic = Quadratic(50)
    config = GraphConfig(trainer="log-linear-batch", solver=solver)  # type: ignore[arg-type]
    trainer = BatchTrainer(config, 50, quadratic)
    for epoch in range(3):
        trainer.epoch(epoch, np.arange(1), no_advance)
    assert len(quadratic.points) > 20
    assert len(set(quadratic.points)) == len(quadratic.points)


def test_batch_training_needs_a_hundred_bytes_per_feature() -> None:
    quadratic = Quadratic(100_000)
    quadratic.remember = False
    tracemalloc.start()
    try:
        trainer = BatchTrainer(GraphConfig(trainer="log-linear-batch"), 100_000, quadratic)
        trainer.epoch(0, np.arange(1), no_advance)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 125 * 100_000  # the quadratic itself takes 16 of them
