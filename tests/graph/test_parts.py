"""Graph-based trainers in parts: one part is plain training, several are the slow twin, wherever they are
learned; gradients add up."""

import os
import signal
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from arcwise.engine import Engine, Processes, ThisProcess
from arcwise.errors import OptionError
from arcwise.graph import TRAINERS, GraphConfig, GraphParser
from arcwise.graph.parts import PartObjective, SummedObjective, trainer_of
from arcwise.graph.trainers import likelihood_objective
from arcwise.graph.training import GraphLearner
from arcwise.learning.parameter_mixing import MixableTrainer, MixingTrainer, PartTraining
from arcwise.learning.progress import Progress
from contracts.small_treebank import small_treebank
from reference.mixing import mixed

SMALL = GraphConfig(epochs=3, arc_bits=12, row_bits=12)
ONLINE = [name for name, kind in TRAINERS.items() if "parts" in kind.reads and not kind.batch]
CASES = [SMALL.for_trainer(name) for name in ONLINE] + [
    SMALL.for_trainer("log-linear", optimizer="adagrad"),
    SMALL.for_trainer("softmax-margin", prior=0.1, average=False),
]
ORDERS = [np.random.default_rng(epoch).permutation(8).astype(np.int64) for epoch in range(3)]


def learner_of(config: GraphConfig) -> GraphLearner:
    return GraphLearner.of(small_treebank(), config, 1, Progress(shown=False))


def trainer(config: GraphConfig) -> MixableTrainer:
    learner = learner_of(config)
    return config.trainer_kind.make(config, learner.table, learner.data, 1)  # type: ignore[return-value]


def same_state(a: MixableTrainer, b: MixableTrainer) -> bool:
    return a.steps == b.steps and all((x == y).all() for x, y in zip(a.tables, b.tables, strict=True))


@pytest.mark.parametrize("config", CASES, ids=lambda config: f"{config.trainer}-{config.optimizer}")
def test_one_part_is_plain_training_to_the_bit(config: GraphConfig) -> None:
    plain, own = trainer(config), trainer(config)
    with ThisProcess().pool(PartTraining(partial(trainer, config))) as pool:
        mixing = MixingTrainer(own, pool, parts=1, threads=1)
        for number, order in enumerate(ORDERS, start=1):
            assert plain.epoch(number, order, lambda _: None) == mixing.epoch(number, order, lambda _: None)
    assert same_state(plain, own)
    assert np.count_nonzero(own.weights)
    assert (plain.weights == mixing.weights).all()


@pytest.mark.parametrize("config", CASES, ids=lambda config: f"{config.trainer}-{config.optimizer}")
def test_several_parts_are_the_slow_twin_to_the_bit(config: GraphConfig) -> None:
    twin, told = mixed(partial(trainer, config), ORDERS, 3)
    own = trainer(config)
    with ThisProcess().pool(PartTraining(partial(trainer, config))) as pool:
        mixing = MixingTrainer(own, pool, parts=3, threads=2)
        assert [mixing.epoch(n, order, lambda _: None) for n, order in enumerate(ORDERS, start=1)] == told
    assert same_state(twin, own)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mira", "latent", "log-linear-batch"])
def test_the_model_does_not_depend_on_the_engine(name: str, tmp_path: Path) -> None:
    config, treebank = SMALL.for_trainer(name, parts=3), small_treebank()
    for where, engine in {"one": ThisProcess(), "two": Processes(2)}.items():
        GraphParser.train(treebank, treebank, config=config, engine=engine).save(tmp_path / where)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


class Dying(PartTraining):
    """Workers that are killed in each epoch, the first time that its second part is learned."""

    def __init__(self, config: GraphConfig, notes: Path) -> None:
        super().__init__(partial(trainer, config))
        self.notes = notes

    def __call__(self, given):  # type: ignore[no-untyped-def]
        note = self.notes / f"{given[1].epoch}-{given[1].order[0]}"
        if not note.exists():
            note.touch()
            if given[1].order[0] == ORDERS[given[1].epoch - 1][1]:
                os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(given)


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(tmp_path: Path) -> None:
    config = SMALL.for_trainer("mira")
    twin, _ = mixed(partial(trainer, config), ORDERS, 2)
    own = trainer(config)
    with Processes(2).pool(Dying(config, tmp_path)) as pool:
        mixing = MixingTrainer(own, pool, parts=2, threads=1)
        for number, order in enumerate(ORDERS, start=1):
            mixing.epoch(number, order, lambda _: None)
    assert same_state(twin, own)
    assert len(list(tmp_path.iterdir())) == 6


# ---- sums of gradients


@pytest.fixture
def batch() -> GraphLearner:
    return learner_of(SMALL.for_trainer("log-linear-batch"))


@pytest.mark.slow
@pytest.mark.parametrize("engine", [ThisProcess(), Processes(2)], ids=str)
@pytest.mark.parametrize("parts", [2, 8, 50])
def test_gradients_of_parts_add_up_to_that_of_one_process(
    batch: GraphLearner, engine: Engine, parts: int
) -> None:
    whole = likelihood_objective(batch.config, batch.table, batch.data, threads=1)
    with engine.pool(PartObjective(batch.source)) as pool:
        summed = SummedObjective(pool, batch, parts)
        assert (summed.places == whole.places).all()
        for seed in range(3):
            x = np.random.default_rng(seed).normal(size=len(whole.places))
            (loss, gradient), (found, found_gradient) = whole(x), summed(x)
            assert found == pytest.approx(loss, rel=1e-13)
            assert np.abs(found_gradient - gradient).max() <= 1e-12 * np.abs(gradient).max()


def test_sentences_that_fit_no_tree_are_counted_over_all_parts() -> None:
    bank = small_treebank(crossing=True)
    heads = bank.heads.copy()
    config = SMALL.for_trainer("log-linear-batch", projective=True)
    learner = GraphLearner.of(bank.annotate(heads=heads), config, 1, Progress(shown=False))
    whole = likelihood_objective(config, learner.table, learner.data, threads=1)
    with ThisProcess().pool(PartObjective(learner.source)) as pool:
        summed = SummedObjective(pool, learner, 4)
        x = np.zeros(len(summed.places))
        assert summed(x)[0] == pytest.approx(whole(x)[0])
        assert summed.skipped == whole.skipped


def test_batch_training_in_parts_reaches_the_same_point(batch: GraphLearner) -> None:
    found = []
    for parts in (1, 3):
        learner = replace(batch, config=replace(batch.config, parts=parts))
        with trainer_of(learner, ThisProcess(), 1) as solver:
            solver.epoch(1, ORDERS[0], lambda _: None)
            found.append(solver.weights)
    assert np.abs(found[0] - found[1]).max() < 1e-4
    assert np.abs(found[0]).max() > 0.1


def test_a_trainer_that_cannot_be_mixed_says_so() -> None:
    with pytest.raises(
        OptionError, match="parts: found 2, expected 1, the default: the trainer eg ignores it"
    ):
        GraphParser.train(small_treebank(), config=replace(SMALL, trainer="eg", parts=2))


@pytest.mark.slow
def test_folds_are_the_same_in_processes(tmp_path: Path) -> None:
    treebank = small_treebank()
    for name, engine in {"one": ThisProcess(), "two": Processes(2)}.items():
        GraphParser.train(treebank, "4fold", config=replace(SMALL, parts=2), engine=engine).save(
            tmp_path / name
        )
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
