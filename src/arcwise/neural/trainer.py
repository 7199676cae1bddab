"""``NetworkTrainer``: training epochs with AdamW, EMA weights and parsing of the development data."""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from arcwise.inference.tree_class import TreeClass
from arcwise.learning.training import Advance, Weights, starts_by_likelihood
from arcwise.neural.batch import Dropout
from arcwise.neural.config import NeuralConfig
from arcwise.neural.data import Data
from arcwise.neural.inference import best_trees
from arcwise.neural.inputs import is_affix, is_word
from arcwise.neural.network import Encoder, Network
from arcwise.neural.objectives import sentence_losses, tag_losses
from arcwise.neural.second_order import arc_scores
from arcwise.neural.shape import TRANSFORMER, NetworkShape

_DETERMINISTIC: Any = torch.utils.deterministic  # a module with properties, which type checkers do not see
_FLOOR = 0.01
"""Final learning rate as a fraction of the peak."""
_BETAS = (0.9, 0.95)
_PARSED_WORDS = 20_000
"""Words per batch when parsing."""


class NetworkTrainer:
    """Trainer of a single network, driven by ``learning.training.fit``."""

    finished = False

    def __init__(
        self,
        config: NeuralConfig,
        shape: NetworkShape,
        data: Data,
        atoms: tuple[str, ...],
        encoder: Encoder | None = None,
    ) -> None:
        assert config.epochs is not None
        assert config.batch_words is not None
        assert config.dropout is not None
        self._config, self._data = config, data
        self.network = Network(shape, encoder).to(data.device)
        self.average = copy.deepcopy(self.network)
        self.average.encoder.flatten()
        self._parameters: list[Tensor] = list(self.network.parameters())
        self._averages: list[Tensor] = [p.requires_grad_(False) for p in self.average.parameters()]
        self._optimizer = torch.optim.AdamW(
            self._groups(),
            betas=_BETAS,
            weight_decay=config.weight_decay,
            fused=data.device.type == "cuda",
        )
        self._drops = Dropout(tuple(_input_dropout(config, atom) for atom in atoms), config.dropout)
        # These objectives score labels of gold arcs (see ``tree_loss``) or a teacher's: a batch needs memory
        # for one score per arc; the others need one per arc and label.
        gold_arcs_only = config.objective == "head-by-head" or (
            config.objective == "likelihood" and data.heads_with_labels
        )
        self._states = 1 if gold_arcs_only else max(shape.states, 1)
        self._states = max(self._states, self._sibling_scores(data))
        self._steps = config.epochs * sum(1 for _ in data.batches(config.batch_words, states=self._states))
        self.step = 0

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """Train for an epoch; return the mean loss per word."""
        self.network.train()
        config = self._config
        assert config.epochs is not None
        if config.objective == "risk" and starts_by_likelihood(number, config.epochs):
            config = replace(config, objective="likelihood")
        total, words = torch.zeros((), dtype=torch.float64, device=self._data.device), 0
        for sentences in self._data.batches(self._words, order, states=self._states):
            total += self._learn(sentences, config)
            words += int(self._data.lengths[sentences].sum())
            advance(len(sentences))
        return {"loss": total.item() / max(words, 1)}

    def _learn(self, sentences: npt.NDArray[np.int64], config: NeuralConfig) -> Tensor:
        loss = self._loss(sentences, config)
        mean = loss / int(self._data.lengths[sentences].sum())
        mean.backward()  # type: ignore[no-untyped-call]
        self._update()
        return loss.detach()

    def _loss(self, sentences: npt.NDArray[np.int64], config: NeuralConfig) -> Tensor:
        batch = self._data.batch(sentences)
        hidden = self.network.hidden(self._data.rows_of(batch), batch, self._drops)
        of_trees = sentence_losses(self.network, hidden, self._data, batch, config)
        # A partial annotation that no tree of the class satisfies has an infinite loss: skip the sentence.
        loss = torch.where(of_trees.isfinite(), of_trees, 0.0).sum()
        for of_tags in tag_losses(self.network, hidden, self._data, batch):
            loss = loss + of_tags
        return loss

    def _update(self) -> None:
        """Make a step of the optimiser and of the EMA."""
        torch.nn.utils.clip_grad_norm_(self._parameters, self._config.gradient_norm)
        for group in self._optimizer.param_groups:
            group["lr"] = group["peak_rate"] * self._schedule()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self.step += 1
        # A smaller decay in the first steps, so that the EMA forgets the initial weights quickly.
        decay = min(self._config.average, self.step / (self.step + 10))
        with torch.no_grad():
            torch._foreach_lerp_(self._averages, self._parameters, 1 - decay)

    def _sibling_scores(self, data: Data) -> int:
        """Scores of siblings per arc, at most; 0 at order 1."""
        return int(data.lengths.max(initial=0)) if self._config.order == 2 else 0

    def _groups(self) -> list[dict[str, Any]]:
        """Optimiser groups with their peak learning rates; pretrained weights have a separate rate."""
        named = self.network.encoder.parameter_of().items()
        pretrained = {p for name, parts in named if name.startswith(TRANSFORMER) for p in parts}
        rates = ((self._config.learning_rate, False), (self._config.encoder_rate, True))
        groups = [
            ([p for p in self._parameters if (p in pretrained) is inside], rate) for rate, inside in rates
        ]
        return [{"params": group, "peak_rate": rate} for group, rate in groups if group]

    def _schedule(self) -> float:
        """Learning rate as a fraction of the peak: linear warm-up, then cosine decay."""
        warm = min(self._config.warm_up, self._steps // 5)
        if self.step < warm:
            return (self.step + 1) / warm
        done = min((self.step - warm) / max(self._steps - warm, 1), 1.0)
        return _FLOOR + (1 - _FLOOR) * 0.5 * (1 + math.cos(math.pi * done))

    @property
    def _words(self) -> int:
        assert self._config.batch_words is not None
        return self._config.batch_words

    @property
    def weights(self) -> Weights:
        """The EMA weights, flat."""
        return self.average.shape.flat(self.average.arrays())

    @torch.no_grad()
    def parse(self, data: Data, *, minimum_risk: bool = True) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Predict heads and labels with the EMA weights, flat over the words of ``data``."""
        self.average.eval()
        heads = torch.full_like(data.heads, -1)
        labels = torch.full_like(data.heads, -1)
        trees = TreeClass(projective=self._config.projective, single_root=self._config.single_root)
        states = 1 if minimum_risk else max(self.average.shape.states, 1)
        memory = max(states, self._sibling_scores(data))
        for sentences in data.batches(_PARSED_WORDS, states=memory):
            batch = data.batch(sentences)
            hidden = self.average.hidden(data.rows_of(batch), batch)
            arcs = arc_scores(self.average, hidden, batch, single_root=trees.single_root)
            if states > 1:  # the score of an arc in the best tree includes that of its best label
                arcs = arcs + self.average.by_label(self.average.all_label_scores(hidden)).amax(-1)
            best = best_trees(arcs, batch, trees, minimum_risk=minimum_risk)
            heads[batch.positions] = best.flatten()[batch.places]
            if self.average.shape.states:
                scores = self.average.by_label(self.average.label_scores(hidden, best))
                labels[batch.positions] = scores.argmax(-1).flatten()[batch.places]
        is_word = np.ones(len(heads), np.bool_)
        is_word[data.starts[:-1]] = False
        return heads.cpu().numpy()[is_word].astype(np.int32), labels.cpu().numpy()[is_word].astype(np.int32)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything needed to resume: step, weights, EMA, AdamW moments, random states."""
        arrays: dict[str, npt.NDArray[Any]] = {"step": np.array([self.step])}
        moments = [self._moments(p) for p in self._parameters]
        for name, values in {
            "weights": self._parameters,
            "average": self._averages,
            "first_moment": [first for first, _ in moments],
            "second_moment": [second for _, second in moments],
        }.items():
            arrays[name] = torch.cat([v.detach().flatten().cpu() for v in values]).numpy()
        arrays["random.cpu"] = torch.get_rng_state().numpy()
        if self._data.device.type == "cuda":
            arrays["random.cuda"] = torch.cuda.get_rng_state(self._data.device).numpy()
        return arrays

    def _moments(self, parameter: Tensor) -> tuple[Tensor, Tensor]:
        """AdamW's first and second moments; zeros for a parameter that never had a gradient."""
        moments = self._optimizer.state.get(parameter)
        if not moments:
            return torch.zeros_like(parameter), torch.zeros_like(parameter)
        return moments["exp_avg"], moments["exp_avg_sq"]

    def load_state(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from the arrays that ``state`` returned."""
        self.step = int(state["step"].item())

        def spread(name: str, tensors: list[Tensor]) -> None:
            flat, start = torch.from_numpy(np.array(state[name])), 0
            for tensor in tensors:
                tensor.data.copy_(flat[start : start + tensor.numel()].view_as(tensor))
                start += tensor.numel()

        spread("weights", self._parameters)
        spread("average", self._averages)
        for name, key in (("first_moment", "exp_avg"), ("second_moment", "exp_avg_sq")):
            values = [torch.zeros_like(p) for p in self._parameters]
            spread(name, values)
            for parameter, value in zip(self._parameters, values, strict=True):
                moments = self._optimizer.state[parameter]
                moments[key] = value
                # The fused optimiser on a GPU expects its step counter there, the others on the CPU.
                device = value.device if value.is_cuda else "cpu"
                moments["step"] = torch.tensor(float(self.step), device=device)
        torch.set_rng_state(torch.from_numpy(np.array(state["random.cpu"])))
        if "random.cuda" in state:
            torch.cuda.set_rng_state(torch.from_numpy(np.array(state["random.cuda"])), self._data.device)


def _multiplies_bfloat16() -> bool:
    """Whether the CPU multiplies bfloat16 (AVX-512 BF16)."""
    # A private function of torch, which has no public one: without it, training is slower.
    return bool(getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)())


@contextmanager
def _fast_products() -> Iterator[None]:
    """Let torch multiply matrices in bfloat16, with sums in float32, on a CPU that has instructions for it.

    Training then takes half the time. On other CPUs torch would emulate them.
    """
    if not _multiplies_bfloat16():
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def repeatable(device: str, seed: int) -> Iterator[None]:
    """Make torch deterministic for a seed and device; restore its settings on exit.

    On a GPU this selects algorithms whose sums do not depend on the order in which threads finish.
    """
    # cuBLAS is deterministic only with a fixed workspace; it reads this when its handle is created.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:2")
    torch.manual_seed(seed % 2**63)
    if not device.startswith("cuda"):
        with _fast_products():
            yield
        return
    torch.cuda.manual_seed(seed % 2**63)
    matmul, memory = torch.backends.cuda.matmul, _DETERMINISTIC
    before = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
        memory.fill_uninitialized_memory,
        matmul.allow_tf32,
    )
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Filling fresh memory only helps to debug reads of uninitialised values, and costs time.
    memory.fill_uninitialized_memory = matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
        memory.fill_uninitialized_memory, matmul.allow_tf32 = before[2:]


def _input_dropout(config: NeuralConfig, atom: str) -> float:
    """Dropout rate of the values of an atom."""
    assert config.word_dropout is not None
    if is_word(atom):
        return config.word_dropout
    return config.affix_dropout if is_affix(atom) else config.tag_dropout
