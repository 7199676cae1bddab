"""What log-linear trainers learn from a teacher, against enumeration: the cross-entropy between tree
distributions and its gradient."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from arcwise.distillation.soft_targets import SoftTargets
from arcwise.treebanks import Treebank
from graph.small_space import (
    Small,
    cells,
    climb,
    likelihood_trainer,
    objective,
    objective_of,
    part,
    small,
    taught,
    weights_of,
    with_treebank,
)
from graph.twins import Twin, log_sum, twins
from reference.enumerate_trees import TREE_CLASSES

Floats = npt.NDArray[np.float64]

KINDS = pytest.mark.parametrize("kind", ["whole", "latent"])
CLASSES = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
LABELLED = pytest.mark.parametrize("labelled", [True, False])


def short_case(kind: str, labelled: bool, projective: bool, single_root: bool, **options: object) -> Small:
    """Sentences of three words and less, so that every labelled tree can be looked at."""
    settings = {"labelled": labelled, "projective": projective, "single_root": single_root, **options}
    trainer = "latent" if kind == "latent" else "log-linear"
    return small(small("tiny").treebank[1:], trainer=trainer, clusters=2, **settings)


def random_weights(case: Small, seed: int) -> Floats:
    return np.random.default_rng(seed).normal(0, 0.4, cells(case))


class Teacher:
    """A distribution over the trees of a sentence, its labels included: ∝ exp of scores by chance."""

    def __init__(self, twin: Twin, seed: int) -> None:
        self.twin = twin
        values = twin.values(random_weights(twin.case, seed))
        self.p = np.exp(values - log_sum(values))
        """Of each tree with its clusters; what clusters a tree has is nothing that a teacher says."""

    @property
    def arcs(self) -> dict[tuple[int, int, int], float]:
        """(modifier, head, label) → probability."""
        found: dict[tuple[int, int, int], float] = {}
        for tree, p in zip(self.twin.trees, self.p, strict=True):
            for row in tree:
                h, m, label, _ = self.twin.rows[row]
                found[m, h, label] = found.get((m, h, label), 0.0) + p
        return found

    def cross_entropy(self, weights: Floats, costs: Floats | float = 0.0) -> float:
        """-Σ p(tree) log q(tree), clusters summed out of q; ``costs`` of trees are added to their scores in
        its Z."""
        values = self.twin.values(weights)
        log_z, total = log_sum(values + costs), 0.0
        for tree in range(len(values)):
            same = (self.twin.heads == self.twin.heads[tree]).all(1)
            same &= (self.twin.labels == self.twin.labels[tree]).all(1)
            total -= self.p[tree] * (log_sum(values[same]) - log_z)
        return total

    def expected_costs(self) -> Floats:
        """Of each tree: 1 for a wrong head and 1 for a wrong label of a word, on average over the teacher's
        trees."""
        twin = self.twin
        wrong = (twin.heads[:, None, :] != twin.heads[None]).sum(2)
        if twin.case.alphabets.labels:
            wrong = wrong + (twin.labels[:, None, :] != twin.labels[None]).sum(2)
        costs: Floats = wrong @ self.p
        return costs


def teach(case: Small, teachers: list[Teacher], weights: Floats | None = None) -> Small:
    """The case with what the teachers say."""
    starts = case.treebank.sentence_words.astype(int)
    rows = [
        (starts[teacher.twin.s] + m - 1, h, label, p)
        for teacher in teachers
        for (m, h, label), p in teacher.arcs.items()
    ]
    words, heads, labels, shares = (np.array(column) for column in zip(*rows, strict=True))
    names = case.alphabets.labels
    arcs = SoftTargets.from_arcs(words, heads, labels, shares, case.treebank.word_count, names)
    return taught(case, arcs, weights)


@KINDS
@CLASSES
@LABELLED
def test_the_loss_is_the_cross_entropy_between_tree_distributions(
    kind: str, labelled: bool, projective: bool, single_root: bool
) -> None:
    case = short_case(kind, labelled, projective, single_root)
    teachers = [Teacher(twin, 11) for twin in twins(case)]
    own = teach(case, teachers)
    weights = random_weights(case, 7)
    value, gradient = objective(own, weights)
    assert value == pytest.approx(sum(t.cross_entropy(weights) for t in teachers), rel=1e-9)
    numbers = np.random.default_rng(3).choice(np.flatnonzero(gradient), 12, replace=False)
    for place in numbers:
        step = np.zeros_like(weights)
        step[place] = 1e-5
        slope = (objective(own, weights + step)[0] - objective(own, weights - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, abs=1e-7)


@CLASSES
@LABELLED
def test_the_gradient_is_expected_counts_of_the_student_less_those_of_the_teacher(
    labelled: bool, projective: bool, single_root: bool
) -> None:
    case = short_case("whole", labelled, projective, single_root)
    teachers = [Teacher(twin, 11) for twin in twins(case)]
    weights = random_weights(case, 7)
    _, gradient = objective(teach(case, teachers), weights)
    wanted = np.zeros(cells(case))
    for teacher in teachers:
        twin = teacher.twin
        counts = np.bincount(
            twin.trees.ravel(), weights=np.repeat(teacher.p, twin.n), minlength=len(twin.rows)
        )
        wanted += (twin.expected(twin.values(weights)) - counts) @ twin.features
    assert np.allclose(gradient, wanted, atol=1e-10)


@LABELLED
def test_softmax_margin_adds_the_costs_that_the_teacher_expects(labelled: bool) -> None:
    case = short_case("whole", labelled, True, True)
    teachers = [Teacher(twin, 11) for twin in twins(case)]
    weights = random_weights(case, 7)
    value, _ = objective(teach(case, teachers), weights, loss="softmax-margin")
    wanted = sum(t.cross_entropy(weights, t.expected_costs()) for t in teachers)
    assert value == pytest.approx(wanted, rel=1e-9)


@CLASSES
@LABELLED
def test_risk_is_the_cost_that_student_and_teacher_expect(
    labelled: bool, projective: bool, single_root: bool
) -> None:
    case = short_case("whole", labelled, projective, single_root)
    teachers = [Teacher(twin, 11) for twin in twins(case)]
    weights = random_weights(case, 7)

    def by_enumeration(weights: Floats) -> float:
        values = [t.twin.values(weights) for t in teachers]
        return sum(np.exp(v - log_sum(v)) @ t.expected_costs() for v, t in zip(values, teachers, strict=True))

    value, gradient = objective(teach(case, teachers), weights, loss="risk")
    assert value == pytest.approx(by_enumeration(weights), rel=1e-9)
    direction = random_weights(case, 8)
    slope = (by_enumeration(weights + 1e-5 * direction) - by_enumeration(weights - 1e-5 * direction)) / 2e-5
    assert gradient @ direction == pytest.approx(slope, rel=1e-6)


@pytest.mark.parametrize("loss", ["likelihood", "softmax-margin", "risk"])
@CLASSES
@LABELLED
def test_a_teacher_who_is_sure_of_the_gold_trees_changes_nothing(
    loss: str, labelled: bool, projective: bool, single_root: bool
) -> None:
    case = short_case("whole", labelled, projective, single_root)
    gold = SoftTargets.from_trees(case.data.heads, case.data.labels, case.alphabets.labels)
    weights = random_weights(case, 7)
    value, gradient = objective(case, weights, loss=loss)
    own_value, own_gradient = objective(taught(case, gold), weights, loss=loss)
    assert own_value == pytest.approx(value, rel=1e-12)
    assert (own_gradient == gradient).all()


@pytest.mark.parametrize("adagrad", [False, True])
def test_a_step_is_as_large_as_the_sentence_weighs(adagrad: bool) -> None:
    case = short_case("whole", True, True, True)
    teachers = [Teacher(twin, 11) for twin in twins(case)]
    heavy = np.ones(len(case.treebank))
    heavy[2] = 2.5
    steps = []
    for weights in (None, heavy):
        trainer = likelihood_trainer(teach(case, teachers, weights), adagrad=adagrad)
        climb(case, trainer, [2], rate=0.1)
        steps.append(weights_of(trainer))
    assert np.abs(steps[0]).max() > 0
    assert np.allclose(steps[1], 2.5 * steps[0], atol=1e-7)


def test_an_online_step_is_rate_times_the_gradient() -> None:
    case = short_case("whole", True, False, True)
    teachers = [Teacher(twin, 11) for twin in twins(case)]
    own = teach(case, teachers)
    trainer = likelihood_trainer(own)
    loss = -climb(own, trainer, [1], rate=0.5)
    assert loss == pytest.approx(teachers[1].cross_entropy(np.zeros(cells(case))), rel=1e-6)
    one = part(case, 1, 2)
    _, gradient = objective(teach(one, [Teacher(twins(one)[0], 11)]), np.zeros(cells(case)))
    assert np.allclose(weights_of(trainer), -0.5 * gradient, atol=1e-6)


def test_the_objective_weighs_sentences_and_does_not_depend_on_threads() -> None:
    case = short_case("whole", True, True, True)
    teachers = [Teacher(twin, 11) for twin in twins(case)]
    weights, heavy = random_weights(case, 7), np.linspace(0.5, 2, len(case.treebank))
    own = teach(case, teachers, heavy)
    value, gradient = objective(own, weights)
    assert value == pytest.approx(
        sum(w * t.cross_entropy(weights) for w, t in zip(heavy, teachers, strict=True)), rel=1e-9
    )
    again, same = objective(own, weights, threads=3)
    assert again == value
    assert (same == gradient).all()


def test_the_gradient_of_a_sentence_weighs_as_much_as_its_value() -> None:
    case = short_case("whole", True, True, True)
    teachers = [Teacher(twin, 11) for twin in twins(case)]
    weights = random_weights(case, 7)
    _, plain = objective(teach(case, teachers), weights)
    _, heavy = objective(teach(case, teachers, np.full(len(case.treebank), 3.0)), weights)
    assert np.allclose(heavy, 3 * plain, atol=1e-12)


def test_the_objective_of_many_sentences_is_the_sum_of_theirs() -> None:
    """More sentences than are worked at together."""
    few = short_case("whole", True, False, True)
    three = "".join(own.to_conllu() for own in few.treebank if len(own) == 3)
    many = Treebank.from_string(three * 70)
    case = small(many, **vars(few.config))
    heads, labels, names = case.data.heads, case.data.labels, case.alphabets.labels
    last, first = len(many) - 1, int(many.sentence_words[-2])
    other, share = heads.copy(), np.zeros(len(heads))
    other[first:], share[first:] = np.arange(3), 0.5  # of the last sentence alone the teacher is not sure
    mixed = SoftTargets.from_trees(heads, labels, names).interpolate(
        SoftTargets.from_trees(other, labels, names), share
    )
    weights = random_weights(case, 7)
    total = objective(taught(case, mixed), weights)[0]
    wanted = objective(part(case, 0, last), weights)[0]
    one = taught(part(case, last, len(many)), mixed.select_words(np.arange(first, len(heads))))
    assert total == pytest.approx(wanted + objective(one, weights)[0], rel=1e-9)


def own_and_foreign(case: Small, share: float) -> SoftTargets:
    """Gold arcs with this share of their labels, the rest with a label that no arc of the student's can
    have."""
    heads, labels, names = case.data.heads, case.data.labels, case.alphabets.labels
    words, foreign = np.arange(len(heads)), np.full(len(heads), len(names), np.int32)
    shares = np.repeat([share, 1 - share], len(heads))
    rows = [np.concatenate(pair) for pair in ((words, words), (heads, heads), (labels, foreign))]
    kept = shares > 0
    return SoftTargets.from_arcs(*(row[kept] for row in rows), shares[kept], len(heads), names)


def test_labels_that_an_arc_cannot_have_leave_their_share_to_its_others() -> None:
    case = short_case("whole", True, False, True)
    weights = random_weights(case, 7)
    value, gradient = objective(taught(case, own_and_foreign(case, 0.3)), weights)
    wanted, slope = objective(case, weights)
    assert value == pytest.approx(wanted, rel=1e-12)
    assert np.allclose(gradient, slope, atol=1e-12)


@pytest.mark.parametrize("kind", ["whole", "latent"])
def test_an_arc_that_can_have_none_of_its_labels_is_taught_without(kind: str) -> None:
    """As a tree whose heads are known, and whose labels are not."""
    case = short_case(kind, True, False, True)
    bank = case.treebank.annotate(deprel=["_"] * case.treebank.word_count)
    unknown = with_treebank(case, bank)
    weights = random_weights(case, 7)
    value, gradient = objective(taught(case, own_and_foreign(case, 0.0)), weights)
    wanted, slope = objective(unknown, weights)
    assert value == pytest.approx(wanted, rel=1e-9)
    assert np.allclose(gradient, slope, atol=1e-9)


def test_a_sentence_of_which_the_teacher_says_nothing_is_learned_by_its_tree() -> None:
    case = short_case("whole", True, False, True)
    teachers = [Teacher(twin, 11) for twin in twins(case)]
    weights = random_weights(case, 7)
    value, gradient = objective(teach(case, teachers[1:]), weights)
    wanted, slope = objective(part(case, 0, 1), weights)
    for s in range(1, len(case.treebank)):
        one = part(case, s, s + 1)
        own = objective(teach(one, [Teacher(twins(one)[0], 11)]), weights)
        wanted, slope = wanted + own[0], slope + own[1]
    assert value == pytest.approx(wanted, rel=1e-9)
    assert np.allclose(gradient, slope, atol=1e-10)


@pytest.mark.parametrize("beyond", [False, True])
def test_arcs_beyond_reach_are_scored_where_the_teacher_says_something_of_them(beyond: bool) -> None:
    """Otherwise what it says could be the marginals of no distribution over the student's trees."""
    case = short_case("whole", True, False, True)
    reach = np.ones_like(case.table.reach)  # neighbours alone
    case.table.set_classes(
        case.table.label_starts, case.table.label_ids, reach, case.table.novelty, case.table.unseen
    )
    bank = Treebank.from_string("".join(case.treebank[1].to_conllu()))
    chain = np.array([2, 0, 2], np.int32)
    one = with_treebank(case, bank.annotate(heads=chain))
    other = np.array([3, 0, 2], np.int32) if beyond else np.array([2, 3, 0], np.int32)
    codes, names = one.data.labels, case.alphabets.labels
    arcs = SoftTargets.from_trees(chain, codes, names).interpolate(
        SoftTargets.from_trees(other, codes, names), np.full(3, 0.4)
    )
    own = taught(one, arcs)
    computed = objective_of(own)
    everywhere = len(computed.places)
    case.table.set_classes(
        case.table.label_starts, case.table.label_ids, 99 * reach, case.table.novelty, case.table.unseen
    )
    assert (len(objective_of(own).places) == everywhere) == beyond


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda a: {"starts": a.starts[:-1]}, "starts"),
        (lambda a: {"starts": a.starts[::-1].copy()}, "starts"),
        (lambda a: {"labels": a.labels[:-1]}, "starts"),
        (lambda a: {"heads": np.full_like(a.heads, 99)}, "leaves its sentence"),
        (lambda a: {"heads": np.full_like(a.heads, -1)}, "leaves its sentence"),
        (lambda a: {"shares": 0 * a.probabilities}, "above 0"),
        (lambda a: {"shares": a.probabilities * np.nan}, "above 0"),
        (lambda a: {"weights": np.ones(1)}, "one for each sentence"),
        (lambda a: {"weights": np.zeros(5)}, "above 0"),
    ],
)
def test_arrays_that_are_not_those_of_the_treebank_are_refused(change: object, message: str) -> None:
    case = short_case("whole", True, True, True)
    gold = SoftTargets.from_trees(case.data.heads, case.data.labels, case.alphabets.labels)
    values = {"starts": gold.starts, "heads": gold.heads, "labels": gold.labels, "shares": gold.probabilities}
    values |= {"weights": np.ones(len(case.treebank))} | change(gold)  # type: ignore[operator]
    with pytest.raises(ValueError, match=message):
        case.data.set_taught(**values)
