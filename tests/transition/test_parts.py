"""Transition-based training in parts: one part is plain training, several are the slow twin, wherever they
are learned."""

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from arcwise.engine import Processes, ThisProcess
from arcwise.errors import OptionError
from arcwise.learning.parameter_mixing import MixingTrainer, PartTraining
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.transition.named_systems import system
from arcwise.transition.training import TransitionTrainer, TreeLearner
from contracts.small_treebank import small_treebank
from reference.mixing import mixed

SMALL = {"move_bits": 10, "label_bits": 8}
CASES = {
    "greedy": TransitionConfig(**SMALL),
    "mira": TransitionConfig(trainer="mira", **SMALL),
    "beam after a warm epoch": TransitionConfig(beam=4, warm_epochs=1, **SMALL),
    "beam from the start": TransitionConfig(beam=4, warm_epochs=0, update="early", **SMALL),
}
ORDERS = [np.random.default_rng(epoch).permutation(8).astype(np.int64) for epoch in range(3)]


def trainer(config: TransitionConfig) -> TransitionTrainer:
    return TreeLearner.of(small_treebank(), config, system(config.system), None).trainer()


def same_state(a: TransitionTrainer, b: TransitionTrainer) -> bool:
    return a.steps == b.steps and all((x == y).all() for x, y in zip(a.tables, b.tables, strict=True))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("afresh", [False, True])
def test_one_part_is_plain_training_to_the_bit(case: str, afresh: bool) -> None:
    """``afresh``: each epoch by a trainer that has learned nothing before, as where a worker died."""
    config = CASES[case]
    plain, own = trainer(config), trainer(config)
    for number, order in enumerate(ORDERS, start=1):
        plain.epoch(number, order, lambda _: None)
    work = PartTraining(partial(trainer, config))
    for number, order in enumerate(ORDERS, start=1):
        work = PartTraining(partial(trainer, config)) if afresh else work
        with ThisProcess().pool(work) as pool:
            MixingTrainer(own, pool, parts=1, threads=1).epoch(number, order, lambda _: None)
    assert same_state(plain, own)
    assert (plain.weights == own.weights).all()
    assert np.count_nonzero(own.weights)


@pytest.mark.parametrize("case", CASES)
def test_several_parts_are_the_slow_twin_to_the_bit(case: str) -> None:
    config = CASES[case]
    twin, told = mixed(partial(trainer, config), ORDERS, 3)
    own = trainer(config)
    with ThisProcess().pool(PartTraining(partial(trainer, config))) as pool:
        mixing = MixingTrainer(own, pool, parts=3, threads=1)
        assert [mixing.epoch(n, order, lambda _: None) for n, order in enumerate(ORDERS, start=1)] == told
    assert same_state(twin, own)  # type: ignore[arg-type]


@pytest.mark.slow
def test_the_model_does_not_depend_on_the_engine(tmp_path: Path) -> None:
    treebank = small_treebank()
    config = TransitionConfig(epochs=3, parts=2, **SMALL)
    for name, engine in {"one": ThisProcess(), "two": Processes(2)}.items():
        TransitionParser.train(treebank, "2fold", config=config, engine=engine).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_systems_of_graphs_are_not_learned_in_parts() -> None:
    with pytest.raises(OptionError, match=r"parts: found 2, expected 1, the default: .* builds graphs"):
        TransitionConfig(system="dag", parts=2).refuse_unread()
