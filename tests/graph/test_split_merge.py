"""Split and merged clusters: groups are clusters of their own, and a merger is chosen by the likelihood."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise.errors import OptionError
from arcwise.graph import GraphConfig, GraphParser
from arcwise.graph.split_merge import SplitMergeTrainer
from contracts.small_treebank import small_treebank
from graph.small_space import Small, objective, small, trainer_of, weights_of


def case_of(clusters: int = 4, *, labelled: bool = True, **options: object) -> Small:
    return small("whole", trainer="split-merge", clusters=clusters, labelled=labelled, epochs=9, **options)


def columns(case: Small, weights: np.ndarray) -> np.ndarray:
    """Shape (clusters, rows): the weights of each cluster."""
    return weights[1 << case.config.arc_bits :].reshape(-1, case.config.clusters).T


def trained(case: Small, epochs: int) -> SplitMergeTrainer:
    trainer = trainer_of(SplitMergeTrainer, case)
    for number in range(1, epochs + 1):
        trainer.epoch(number, case.order(number), lambda done: None)
    return trainer


@pytest.mark.parametrize("labelled", [True, False])
def test_the_clusters_of_a_group_have_the_same_weights_and_groups_differ(labelled: bool) -> None:
    case = case_of(8, labelled=labelled)
    trainer = trainer_of(SplitMergeTrainer, case)
    counts = []
    for number in range(1, 10):
        metrics = trainer.epoch(number, case.order(number), lambda done: None)
        counts.append(int(metrics["clusters"]))
        own = columns(case, trainer._native.weights)
        assert sorted(cluster for group in trainer.groups for cluster in group) == list(range(8))
        for group in trainer.groups:
            assert all((own[cluster] == own[group[0]]).all() for cluster in group)
        firsts = [own[group[0]] for group in trainer.groups]
        assert len({first.tobytes() for first in firsts}) == len(trainer.groups)
    assert counts == [1, 1, 2, 2, 4, 3, 6, 5, 5]


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
def test_before_the_first_split_all_clusters_are_one(optimizer: str) -> None:
    case = case_of(4, labelled=False, optimizer=optimizer)
    trainer = trained(case, 2)
    own = columns(case, trainer._native.weights)
    assert np.abs(own[0]).max() > 0.01
    assert (own == own[0]).all()


def test_one_group_learns_as_fast_whatever_its_number_of_clusters() -> None:
    """Clusters share the gradient of their group, so that its steps must be longer by their number."""
    losses = []
    for clusters in (2, 4, 8):
        case = case_of(clusters, labelled=False, learning_rate=0.1)
        own = trainer_of(SplitMergeTrainer, case)
        losses.append([own.epoch(n, case.order(n), lambda done: None)["loss"] for n in (1, 2)])
        assert own.groups == [tuple(range(clusters))]
    assert losses[0] == pytest.approx(losses[1], rel=0.01)
    assert losses[0] == pytest.approx(losses[2], rel=0.01)
    assert losses[0][1] < 0.5 * losses[0][0]


def test_a_split_does_not_change_features_that_were_never_seen() -> None:
    case = case_of(2)
    trainer = trained(case, 3)
    before = columns(case, trainer._native.weights.copy())
    trainer.groups = [(0, 1)]
    for cluster in (0, 1):
        trainer._set(cluster, before[0])
    trainer.split()
    own = columns(case, trainer._native.weights)
    unseen = before[0] == 0
    assert unseen.any()
    assert (own[:, unseen] == 0).all()
    assert np.allclose(own.mean(axis=0), before[0], atol=1e-6)
    assert 0 < np.abs(own[0] - before[0]).max() < 0.1


def test_the_merger_undoes_the_splits_that_the_likelihood_loses_least_by() -> None:
    """The losses are those of the objective at the weights with both halves at their mean."""
    case = case_of(8, labelled=False)
    trainer = trained(case, 7)
    splits, order = list(trainer._splits), case.order(8)
    assert len(splits) == 3
    weights, expected = weights_of(trainer._native), []
    for first, second in splits:
        merged = weights.copy()
        own = columns(case, merged)
        own[[*first, *second]] = own[[*first, *second]].mean(axis=0)
        expected.append(objective(case, merged)[0])
        assert trainer.loss_of_merger((first, second), 8, order) == pytest.approx(expected[-1], rel=1e-4)
    assert (weights_of(trainer._native) == weights).all()
    trainer.merge(8, order)
    least = splits[int(np.argmin(expected))]
    assert (*least[0], *least[1]) in trainer.groups
    others = [part for split in splits if split != least for part in split]
    assert all(part in trainer.groups for part in others)


def test_a_change_of_weights_between_steps_keeps_the_average_an_average() -> None:
    """After a split, the average of the halves is still that of their common past."""
    case = case_of(2, labelled=False)
    trainer = trained(case, 3)
    trainer.groups = [(0, 1)]
    trainer._set(1, trainer._columns(0)[:, 0].copy())
    trainer._columns(1)[:, 1] = trainer._columns(1)[:, 0]
    before = columns(case, trainer.weights.copy())
    trainer.split()
    assert np.allclose(columns(case, trainer.weights), before, atol=1e-5)


@pytest.mark.parametrize("clusters", [3, 6, 16])
def test_other_numbers_of_clusters_are_refused(clusters: int) -> None:
    with pytest.raises(OptionError, match=f"clusters: found {clusters}, expected 1, 2, 4 or 8"):
        GraphConfig(trainer="split-merge", clusters=clusters)


def test_the_parser_learns_with_it_and_reports_its_clusters() -> None:
    config = GraphConfig(
        trainer="split-merge", clusters=4, epochs=12, learning_rate=0.1, arc_bits=12, row_bits=14
    )
    bank = small_treebank()
    parser = GraphParser.train(bank, config=config)
    assert {epoch["clusters"] for epoch in parser.model.report["history"]} == {1.0, 2.0, 4.0, 3.0}
    assert (parser.parse(bank).heads == bank.heads).mean() > 0.9
