"""What is no question is refused by one sentence that names the argument: every method, every kind of wrong
argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arcwise import (
    ArcwiseError,
    Constraints,
    InputError,
    NoTreeError,
    Tree,
    TreeDistribution,
    TreeDistributionBatch,
    inference,
)
from arcwise.inference import Scores
from reference.enumerate_trees import TREE_CLASSES

CLASSES = pytest.mark.parametrize(("projective", "single_root"), TREE_CLASSES)
ZEROS = np.zeros((4, 4))
TREE = Tree.from_heads([2, 0, 2])


class RequiresGradient:
    """As a tensor of PyTorch behaves."""

    requires_grad = True
    ndim = 2
    shape = (4, 4)

    def __array__(self, *_: object, **__: object) -> None:
        raise RuntimeError("Can't call numpy() on Tensor that requires grad.")


NO_SCORES: list[tuple[Any, str]] = [
    ("abc", "scores"),
    ([["a", "b"], ["c", "d"]], "found text, expected real numbers"),
    ([[0.0, 1.0], [2.0]], "rows of different lengths"),
    (ZEROS + 1j, "found complex numbers, expected real numbers"),
    (np.array([[None] * 4] * 4), "found objects that are not numbers"),
    (RequiresGradient(), r"requires gradients, expected scores(\[0\])?\.detach\(\)"),
    (None, "scores"),
    (3.5, "scores"),
    (np.zeros((3, 4)), r"found shape \(3, 4\)"),
    (np.zeros((1, 1)), r"found shape \(1, 1\)"),
    (np.full((4, 4), np.nan), "found nan for the arc 0 → 1"),
    (np.full((4, 4), np.inf), r"found inf for the arc 0 → 1"),
    (np.full((4, 4), 1.7e308), r"found 1\.7e\+308 for the arc 0 → 1"),
]
NO_COUNTS: list[tuple[Any, str]] = [
    (2**31, "found 2147483648, expected a whole number"),
    (2**70, "expected a whole number"),
    (-1, "found -1, expected a whole number"),
    (1.5, r"found 1\.5, expected a whole number"),
    ("2", "found '2', expected a whole number"),
    (None, "found None, expected a whole number"),
]
NO_SEEDS: list[tuple[Any, str]] = [
    (1.5, r"seed: found 1\.5, expected a whole number"),
    ("1", "seed: found '1', expected a whole number"),
    (None, "seed: found None, expected a whole number"),
    (-1, "seed: found -1"),
    (2**64, "seed: found 18446744073709551616"),
]
NO_THREADS: list[tuple[Any, str]] = [
    (-1, "-1"),
    (0, "0"),
    (1.5, "1.5"),
    ("2", "'2'"),
    (2**31, "2147483648"),
    (None, "None"),
]
NO_TREES: list[tuple[Any, str]] = [
    ([2, 0, 2], r"tree: found list \[2, 0, 2\], expected a Tree, such as Tree.from_heads"),
    (None, "tree: found NoneType"),
    (np.array([-1, 2, 0, 2]), "tree: found ndarray"),
    (Tree.from_heads([0, 1]), "tree: found 2 words, expected 3"),
    (Tree.from_heads([2, 0, 2, 1]), "tree: found 4 words, expected 3"),
]

FUNCTIONS = {
    name: function
    for name, function in vars(inference).items()
    if name.startswith(("eisner_", "spanning_tree_", "matrix_tree_", "wilson_")) and callable(function)
}
"""All functions over arrays of scores."""


def arguments(function: Callable[..., Any], **changed: Any) -> dict[str, Any]:
    """Something that the function takes, but for what is changed."""
    names = inspect.signature(function).parameters
    usual = {"scores": ZEROS, "k": 2, "count": 2, "seed": 1, "single_root": True, "threads": 1, **changed}
    if function.__name__.endswith("_batch"):
        usual["scores"] = changed.get("scores", [ZEROS])
    return {name: value for name, value in usual.items() if name in names}


def refused(call: Callable[[], Any], what: str) -> None:
    with pytest.raises(InputError, match=what) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_every_function_takes_what_is_right() -> None:
    assert len(FUNCTIONS) >= 15
    for function in FUNCTIONS.values():
        function(**arguments(function))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_refuse_what_is_wrong(name: str) -> None:
    function = FUNCTIONS[name]
    batch = name.endswith("_batch")
    for scores, what in NO_SCORES:
        given = [scores] if batch and scores is not None and not isinstance(scores, str | float) else scores
        refused(lambda given=given: function(**arguments(function, scores=given)), what)  # type: ignore[misc]
    for argument, wrong in (
        ("k", NO_COUNTS),
        ("count", NO_COUNTS),
        ("seed", NO_SEEDS),
        ("threads", NO_THREADS),
    ):
        if argument not in inspect.signature(function).parameters:
            continue
        for value, what in wrong:
            refused(
                lambda a=argument, v=value: function(**arguments(function, **{a: v})),
                f"{argument}: .*{what}" if argument != "seed" else what,
            )  # type: ignore[misc]


def distribution(scores: Any = ZEROS, **others: Any) -> TreeDistribution:
    return TreeDistribution(scores, **{"projective": True, "single_root": True, **others})


def batch_of(scores: Any, **others: Any) -> TreeDistributionBatch:
    return TreeDistributionBatch(scores, **{"projective": True, "single_root": True, **others})


@CLASSES
def test_distributions_refuse_scores_that_are_none(projective: bool, single_root: bool) -> None:
    for scores, what in NO_SCORES:
        refused(lambda s=scores: distribution(s, projective=projective, single_root=single_root), what)  # type: ignore[misc]


@CLASSES
@pytest.mark.parametrize("labels", [None, ["a", "b"]])
def test_methods_refuse_what_is_wrong(projective: bool, single_root: bool, labels: list[str] | None) -> None:
    scores = ZEROS if labels is None else np.zeros((2, 4, 4))
    trees = distribution(scores, projective=projective, single_root=single_root, labels=labels)
    for value, what in NO_COUNTS:
        refused(lambda v=value: trees.k_best(v), f"k: .*{what}")  # type: ignore[misc]
        refused(lambda v=value: trees.k_best_labelled(v), f"k: .*{what}")  # type: ignore[misc]
        for replace in (True, False):
            refused(lambda v=value, r=replace: trees.sample(v, seed=1, replace=r), f"count: .*{what}")  # type: ignore[misc]
    for value, what in NO_SEEDS:
        for replace in (True, False):
            refused(lambda v=value, r=replace: trees.sample(2, seed=v, replace=r), what)  # type: ignore[misc]
    for value, what in NO_THREADS:
        refused(
            lambda v=value: distribution(scores, labels=labels, threads=v),  # type: ignore[misc]
            f"threads: found {what}, expected a whole number from 1",
        )
    for value, what in NO_TREES:
        for method in (trees.score, trees.log_prob, trees.prob, trees.expected_attachment):
            refused(lambda v=value, m=method: m(v), what)  # type: ignore[misc]
    nothing = Tree.from_heads([-1, -1, -1])
    refused(lambda: trees.expected_attachment(nothing), "tree: found no known head")
    refused(lambda: trees.score(nothing), "some heads are unknown")
    for wrong in ("x", ZEROS + 1j, [[1.0], [1.0, 2.0]], np.zeros((2, 2))):
        refused(lambda w=wrong: trees.expected(w), "values: found")  # type: ignore[misc]
    for wrong in (None, 1, TREE):
        refused(lambda w=wrong: trees.kl(w), "other: found")  # type: ignore[misc]
        refused(lambda w=wrong: trees.cross_entropy(w), "other: found")  # type: ignore[misc]
        refused(lambda w=wrong: trees.given([w]) if w else trees.given("x"), "constraints: found")  # type: ignore[misc]


@CLASSES
def test_without_a_tree_every_method_says_so(projective: bool, single_root: bool) -> None:
    trees = distribution(np.full((4, 4), -np.inf), projective=projective, single_root=single_root)
    other = distribution(projective=projective, single_root=single_root)
    questions: list[Callable[[], Any]] = [
        trees.best,
        lambda: trees.k_best(2),
        lambda: trees.k_best_labelled(2),
        trees.minimum_risk,
        trees.minimum_labelled_risk,
        trees.greedy_heads,
        lambda: trees.log_partition,
        lambda: trees.marginals,
        lambda: trees.log_prob(TREE),
        lambda: trees.prob(TREE),
        lambda: trees.expected(ZEROS),
        lambda: trees.expected_attachment(TREE),
        trees.entropy,
        trees.head_entropy,
        lambda: trees.kl(other),
        lambda: trees.cross_entropy(other),
        lambda: other.kl(trees),
        lambda: trees.sample(2, seed=1),
        lambda: trees.sample(2, seed=1, replace=False),
    ]
    for question in questions:
        with pytest.raises(NoTreeError, match="no tree of this class exists over the 3 words"):
            question()


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"scores": []}, "scores: found an empty list"),
        (
            {"scores": np.zeros((2, 4, 4))},
            r"found shape \(2, 4, 4\); expected one sentence; for several use TreeDistributionBatch",
        ),
        ({"labels": "ab"}, "labels: found"),
        ({"labels": ["a", "a"]}, "labels: found"),
        ({"labels": ["a", "b"]}, r"expected \(2, n\+1, n\+1\) for 2 labels"),
        ({"temperature": 0}, "temperature: found 0"),
        ({"temperature": "1"}, "temperature: found"),
        ({"temperature": None}, "temperature: found None"),
        ({"label_temperature": float("nan")}, "label_temperature: found nan"),
        ({"constraints": "x"}, "constraints: found 'x'"),
        ({"constraints": [None, None]}, "constraints: found 2, expected one for each of 1 sentences"),
        ({"constraints": [3]}, "constraints: found 3"),
    ],
)
def test_wrong_arguments_of_the_distribution(given: dict[str, Any], what: str) -> None:
    refused(lambda: distribution(**given), what)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"scores": []}, "scores: found an empty list"),
        ({"scores": ZEROS}, "scores: found one sentence, expected a list of sentences"),
        (
            {"scores": np.zeros((2, 4, 4))},
            r"found shape \(2, 4, 4\); expected a list .* or a padded batch with lengths=",
        ),
        ({"scores": np.zeros((2, 4, 4)), "lengths": [3]}, r"lengths: found shape \(1,\), expected \(2,\)"),
        (
            {"scores": np.zeros((2, 4, 4)), "lengths": [3, 4]},
            "lengths: found 4, expected a whole number from 1 to 3",
        ),
        ({"scores": np.zeros((2, 4, 4)), "lengths": [3, 1.5]}, "lengths: found"),
        ({"scores": ZEROS, "lengths": [3]}, r"scores: found shape \(4, 4\) with lengths="),
        ({"scores": Scores.dense([ZEROS]), "lengths": [3]}, "lengths: found beside Scores"),
    ],
)
def test_wrong_arguments_of_a_batch(given: dict[str, Any], what: str) -> None:
    refused(lambda: batch_of(**given), what)


def test_a_batch_made_by_the_class_of_one_sentence_is_deprecated() -> None:
    for scores, lengths in (
        ([ZEROS, ZEROS], None),
        (np.zeros((2, 4, 4)), [3, 3]),
        (Scores.dense([ZEROS, ZEROS]), None),
    ):
        with pytest.warns(DeprecationWarning, match="use TreeDistributionBatch for a batch"):
            batch = TreeDistribution(scores, lengths, projective=True, single_root=True)  # type: ignore[arg-type]
        assert isinstance(batch, TreeDistributionBatch)
        assert batch.best() == batch_of([ZEROS, ZEROS]).best()
        assert batch[:1].log_partition.tolist() == [batch[0].log_partition]


def test_wrong_arguments_of_losses() -> None:
    scores = Scores.dense([ZEROS])
    for tree, what in NO_TREES:
        refused(
            lambda t=tree: scores.loss("likelihood", [t], projective=True, single_root=True),  # type: ignore[misc]
            what,
        )
    refused(
        lambda: scores.loss("likelihood", [TREE], projective=True, single_root=True, threads=-1),
        "threads: found -1",
    )


def test_a_padded_batch_with_lengths() -> None:
    """Padding is not read, whatever is in it; the answers are those of a list of sentences."""
    rng = np.random.default_rng(1)
    sentences = [rng.normal(size=(n + 1, n + 1)) for n in (3, 1, 2)]
    padded = np.full((3, 4, 4), np.nan)
    for own, scores in zip(padded, sentences, strict=True):
        own[: len(scores), : len(scores)] = scores
    found = TreeDistributionBatch(padded, [3, 1, 2], projective=True, single_root=True)
    wanted = TreeDistributionBatch(sentences, projective=True, single_root=True)
    assert np.array_equal(found.log_partition, wanted.log_partition)
    assert found.best() == wanted.best()
    labelled = TreeDistributionBatch(
        np.stack([padded, padded], axis=1),
        np.array([3, 1, 2]),
        projective=True,
        single_root=True,
        labels=["a", "b"],
    )
    assert [len(own) for own in labelled.best()] == [3, 1, 2]


def test_a_numpy_generator_gives_the_seed() -> None:
    trees = distribution()
    first, second = (trees.sample(5, seed=np.random.default_rng(7)) for _ in range(2))
    assert first == second
    rng = np.random.default_rng(7)
    assert trees.sample(50, seed=rng) != trees.sample(50, seed=rng)


def test_representations_say_what_a_thing_is() -> None:
    assert repr(distribution()) == "<TreeDistribution over trees of 3 words: projective, one root>"
    batch = batch_of([ZEROS, ZEROS], projective=False, single_root=False)
    assert (
        repr(batch)
        == "<TreeDistributionBatch over trees of 2 sentences of 6 words: non-projective, any roots>"
    )
    assert repr(Scores.dense([ZEROS])) == "<Scores of 1 sentences, 3 words, 0 labels>"
    assert issubclass(InputError, ArcwiseError)
    assert repr(Constraints()) == "Constraints()"
