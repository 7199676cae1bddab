"""Faults planted in what learns or decides are caught: each by the check that is named beside it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FunctionType
from typing import Any

import pytest

import arcwise.neural
from arcwise.errors import ArcwiseError
from contracts.small_treebank import small_treebank
from faults.python_faults import planted
from neural import test_model_files
from neural.training import (
    test_data,
    test_network,
    test_objectives,
    test_packed_lstm,
    test_trainer,
    test_training,
)
from neural.training.tiny import WHOLE, Tiny

CLASS = {"projective": False, "single_root": True}


@dataclass(frozen=True)
class Fault:
    """In the one function of arcwise.neural that has ``old`` it is replaced by ``new``; the check must then
    fail."""

    old: str
    new: str
    check: Callable[[], object]


def losses(objective: str = "likelihood", **options: Any) -> Callable[[], object]:
    return lambda: test_objectives.test_losses_against_enumeration(options, objective, **CLASS)


def short(objective: str = "likelihood", **options: Any) -> Callable[[], object]:
    return lambda: test_objectives.test_losses_where_labels_have_heads(options, objective, WHOLE)


def native(**options: Any) -> Callable[[], object]:
    return lambda: test_network.test_scores_are_those_of_native_code(
        Tiny.of(small_treebank(crossing=True), seed=3, **options)
    )


def trainer(test: Callable[..., object], *more: Any, **options: Any) -> Callable[[], object]:
    return lambda: test(Tiny.of(small_treebank(crossing=True), **test_trainer.OPTIONS | options), *more)


def ended() -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        test_training.test_networks_that_ended_between_two_writings_are_not_lost(Path(folder), patch)


def refused(dev: Any = None, **options: Any) -> Callable[[], object]:
    def check() -> None:
        with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
            patch.setattr("arcwise.neural.checkpoint.MIN_INTERVAL", 0.0)
            path = Path(folder) / "m"
            test_training.train(checkpoint=path, progress=test_training.Stopped(epoch=3))
            test_training.test_the_checkpoint_of_another_training_is_refused(None, dev, options, path)

    return check


def folds() -> None:
    with pytest.MonkeyPatch.context() as patch:
        test_training.test_folds(patch)


def temperatures() -> None:
    test_model_files.test_temperatures_divide_arcs_and_labels_each_by_their_own({})


def byte_temperatures() -> None:
    test_model_files.test_temperatures_divide_arcs_and_labels_each_by_their_own({"bits": 8})


def sibling_temperatures() -> None:
    test_model_files.test_temperatures_divide_arcs_and_labels_each_by_their_own({"order": 2})


def sibling_losses() -> None:
    for names in (WHOLE, ("whole", "some heads", "labels without heads")):
        test_objectives.test_likelihood_with_siblings_against_enumeration({}, names, single_root=True)


def batches() -> None:
    test_data.test_every_sentence_is_in_one_batch(30, True)


def padding() -> None:
    test_objectives.test_the_loss_of_a_sentence_is_the_same_alone_and_in_a_batch({}, "head-by-head")


def best_trees() -> None:
    test_trainer.test_development_data_are_parsed_as_the_model_would({}, False)


def least_risk() -> None:
    test_trainer.test_development_data_are_parsed_as_the_model_would({}, True)


def chosen_heads() -> None:
    test_network.test_labels_of_chosen_heads_are_those_of_all_arcs(Tiny.of(small_treebank()))


def lstm() -> None:
    test_packed_lstm.test_values_and_gradients_are_those_of_torch([4, 3, 2, 2])


RESUMED = trainer(test_trainer.test_it_goes_on_from_its_state_to_the_bit, 1)
AVERAGES = trainer(test_trainer.test_the_averages_are_those_of_all_weights_so_far)
RATE = trainer(test_trainer.test_the_learning_rate_rises_and_falls)
DROPS = test_data.test_dropout_is_the_same_in_a_whole_sentence_and_keeps_the_mean
ROOTS = test_data.test_values_of_words_are_left_out_and_roots_never_are
ENSEMBLE = test_training.test_an_ensemble_is_its_members_with_seeds_one_after_the_other
SEEN = test_training.test_a_network_sees_other_tags_than_those_that_it_learns

FAULTS = [
    Fault("_label_loss(network, hidden, heads, "
        "labels)", "_label_loss(network, hidden, heads.roll(1, 1), labels)", short()),
    Fault("(labels >= 0) & (heads >= 0)", "labels >= 0", losses("head-by-head")),
    Fault("-torch.where(heads >= 0, of_words, 0.0)", "-torch.where(heads >= -1, of_words, 0.0)", losses("head-by-head")),
    Fault("outside[:, :, None] | torch.eye(", "outside[:, :, None] & torch.eye(", padding),
    Fault("or not data.heads_with_labels)", ")", losses()),
    Fault("// network.shape.clusters", "% network.shape.labels", losses("softmax-margin", clusters=2)),
    Fault("self.shape.labels, "
        "self.shape.clusters).logsumexp(-1)", "self.shape.labels, "
            "self.shape.clusters).amax(-1)", short(clusters=2)),
    Fault('"single_root": config.single_root', '"single_root": not config.single_root', losses("hinge")),
    Fault('"projective": config.projective', '"projective": not config.projective', losses("softmax-margin")),
    Fault("+ self.label_bias)[:, :, None]", ")[:, :, None]", native()),
    Fault("+ (hidden.arc_heads @ self.arc_head)[:, :, None]", "", native()),
    Fault("linear(hidden.arc_heads, "
        "self.arc_product.t())", "linear(hidden.arc_heads, self.arc_product)", native()),
    Fault("(dependents @ self.label_dependent.t())[:, None]", "0.0", native()),
    Fault("affine = heads @ self.label_head.t() + ", "affine = ", chosen_heads),
    Fault(" + dependents @ self.label_dependent.t()", "", chosen_heads),
    Fault("backwards=way == 1", "backwards=way == 0", lstm),
    Fault("forget - forget * forget", "forget * forget", lstm),
    Fault("of_cell.mul_(forget[place])", "pass", lstm),
    Fault("_product(slopes.t(), last)", "_product(slopes.t(), before)", lstm),
    Fault("sum(parts[1:], parts[0])", "parts[-1]", test_network.test_weights_are_loaded_and_told_as_they_were),
    Fault("& (codes != ROOT)", "", ROOTS),
    Fault("/ kept)[batch.sentence]", ")[batch.sentence]", DROPS),
    Fault("torch.rand(batch.size, rows.shape[-1], device=rows.device) < "
        "kept", "torch.rand(batch.size, 1, device=rows.device) < kept", DROPS),
    Fault("ignore_index=-1", "ignore_index=0", test_objectives.test_tag_losses_are_cross_entropies),
    Fault("self._averages, self._parameters, 1 - decay", "self._averages, self._parameters, decay", AVERAGES),
    Fault("self.step += 1", "pass", RATE),
    Fault("math.cos(math.pi * done)", "math.cos(0)", RATE),
    Fault("spread(name, values)", "pass", RESUMED),
    Fault('spread("average", self._averages)', "pass", RESUMED),
    Fault('moments["step"] = torch.tensor(float(self.step)', 'moments["step"] = torch.tensor(1.0', RESUMED),
    Fault('torch.set_rng_state(torch.from_numpy(np.array(state["random.cpu"])))', "pass", RESUMED),
    Fault("if states > 1:", "if False:", best_trees),
    Fault("(True, False) if minimum_risk else (False,)", "(False,)", least_risk),
    Fault("torch.where(of_trees.isfinite(), of_trees, "
        "0.0).sum()", "of_trees.sum()", test_trainer.test_sentences_that_no_tree_fits_do_not_spoil_the_others),
    Fault('("label.", temperatures.labels)', '("label.", temperatures.heads)', temperatures),
    Fault("temperatures.heads if order == 1 else 1.0", "temperatures.heads", sibling_temperatures),
    Fault("(heads * self.sibling_product)[:, :, None]", "heads[:, :, None]", native(order=2)),
    Fault("(labels >= 0) & (heads < 0)", "labels >= 0", sibling_losses),
    Fault("-trees_of(arcs).log_prob(heads)", "-trees_of(arcs).score(heads)", sibling_losses),
    Fault("and values.dtype != np.int8", "and not name.endswith('product.scale') and values.dtype != "
        "np.int8", byte_temperatures),
    Fault("first += taken", "first += taken + 1", batches),
    Fault("seed=self.config.seed + number", "seed=self.config.seed", ENSEMBLE),
    Fault("learner.run(None, progress, epochs=chosen.epoch, "
        "engine=engine)", "learner.run(None, progress, engine=engine)", folds),
    Fault("predicted_tags = predicted_tags or "
        "PredictedTags(train)", "predicted_tags = PredictedTags(train)", SEEN),
    Fault("[self.file.best[number] for number", "[self.file.best[self.member] for number", ended),
    Fault("dev_data = dev.data if isinstance(dev, Treebank) else "
        "str(dev).encode()", "dev_data = b''", refused(small_treebank())),
    Fault("repr(self._portable_config).encode()", "b''", refused(seed=2)),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.old[:50])
def test_a_fault_is_caught(fault: Fault) -> None:
    caught = (
        AssertionError,
        ArcwiseError,
        RuntimeError,
        ValueError,
        IndexError,
        TypeError,
        pytest.fail.Exception,
    )
    with planting(fault), pytest.raises(caught):
        fault.check()


def test_nothing_is_caught_without_a_fault() -> None:
    for check in {fault.check for fault in FAULTS}:
        check()


def functions() -> Iterator[FunctionType]:
    """Every function and method of arcwise.neural."""
    for path in Path(arcwise.neural.__file__).parent.glob("*.py"):
        module = import_module(f"arcwise.neural.{path.stem}")
        for value in list(vars(module).values()):
            for member in [value, *(vars(value).values() if inspect.isclass(value) else ())]:
                plain = getattr(member, "fget", None) or getattr(member, "__func__", member)
                plain = inspect.unwrap(plain) if callable(plain) else plain
                if isinstance(plain, FunctionType) and plain.__code__.co_filename == module.__file__:
                    yield plain


def planting(fault: Fault) -> AbstractContextManager[None]:
    """Plant the fault in the one function that has the text."""
    places = {function for function in functions() if fault.old in inspect.getsource(function)}
    assert len(places) == 1, f"{fault.old!r} is in {len(places)} functions of arcwise.neural"
    (function,) = places
    return planted(function.__module__, function.__qualname__, fault.old, fault.new)
