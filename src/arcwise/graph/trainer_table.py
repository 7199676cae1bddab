"""The table of trainers of the graph-based parser: one entry each, from which configuration, help, reference page and contract tests are made.

A new trainer is a new entry. It runs over each of the four tree classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from arcwise import native
from arcwise.graph.trainers import (
    BatchTrainer,
    ExponentiatedGradientTrainer,
    LossTrainer,
    MarginTrainer,
    likelihood_objective,
)

if TYPE_CHECKING:
    from arcwise.graph.config import GraphConfig
    from arcwise.learning.training import EpochTrainer

Maker = Callable[["GraphConfig", native.ArcTable, native.ArcData, int], "EpochTrainer"]
"""(configuration, table, data, threads) → trainer."""


@dataclass(frozen=True)
class TrainerKind:
    """A way to train: how it is made, what it reads and what it gives."""

    make: Maker
    text: str
    """What it does."""
    paper: str
    reads: tuple[str, ...]
    """The options of ``GraphConfig`` that it reads, beside those that every trainer reads."""
    defaults: Mapping[str, float] = field(default_factory=dict)
    """Its own values of options whose default is None."""
    probabilistic: bool = False
    """Whether its scores are log-probabilities, so that minimum risk may be chosen for parsing."""
    whole_trees: bool = False
    """Whether it needs all heads; unknown ones are then filled in by a perceptron trained on the known ones."""
    learns_distributions: bool = False
    """Whether it learns from a teacher's probabilities; others learn from trees: those of the treebank, and the teacher's of the text."""
    batch: bool = False
    """Whether it makes a step after all sentences: ``parts`` are then summed, and not mixed."""
    needs: str | None = None
    """A library beyond the plain install; that it is there is asked before training starts."""

    @property
    def decoders(self) -> tuple[str, ...]:
        """The decoders among which the development data choose."""
        latent = "clusters" in self.reads
        return ("map", *(("mbr",) if self.probabilistic else ()), *(("max-z",) if latent else ()))


_ONLINE = ("average", "word_dropout", "parts")
_LIKELIHOOD = ("optimizer", "learning_rate", "prior", *_ONLINE)

TRAINERS: Mapping[str, TrainerKind] = {
    "perceptron": TrainerKind(
        lambda config, table, data, threads: MarginTrainer(
            config, table, data, threads, update=native.MarginUpdate.perceptron
        ),
        "averaged perceptron",
        "Collins 2002",
        reads=("minimum_risk", "batch", *_ONLINE),
    ),
    "mira": TrainerKind(
        lambda config, table, data, threads: MarginTrainer(
            config, table, data, threads, update=native.MarginUpdate.mira
        ),
        "a margin as large as the loss against the `k` best trees; Hildreth's algorithm; averaged",
        "McDonald et al. 2005, 2.3",
        reads=("k", "C", "try_C", "loss_augmented", "minimum_risk", "batch", *_ONLINE),
        defaults={"C": 0.01},
    ),
    "mira-factored": TrainerKind(
        lambda config, table, data, threads: MarginTrainer(
            config, table, data, threads, update=native.MarginUpdate.mira_factored
        ),
        "a margin for every wrong head of every word; averaged",
        "McDonald et al. 2005, 2.3",
        reads=("C", "try_C", "batch", *_ONLINE),
        defaults={"C": 0.01},
    ),
    "log-linear": TrainerKind(
        lambda config, table, data, threads: LossTrainer(
            config, table, data, loss=native.TreeLoss.likelihood
        ),
        "likelihood of the gold tree, one step of SGD or AdaGrad per sentence",
        "Koo et al. 2007, 4",
        reads=_LIKELIHOOD,
        defaults={"learning_rate": 0.02},
        probabilistic=True,
        learns_distributions=True,
    ),
    "softmax-margin": TrainerKind(
        lambda config, table, data, threads: LossTrainer(
            config, table, data, loss=native.TreeLoss.softmax_margin
        ),
        "log-linear, with the costs of wrong heads and labels added to the scores while it learns, so that costly trees lose most",
        "Gimpel & Smith 2010",
        reads=_LIKELIHOOD,
        defaults={"learning_rate": 0.02},
        probabilistic=True,
        learns_distributions=True,
    ),
    "log-linear-batch": TrainerKind(
        lambda config, table, data, threads: BatchTrainer(
            config, table.cells, likelihood_objective(config, table, data, threads=threads)
        ),
        "the same with a Gaussian prior, by L-BFGS or conjugate gradient (needs scipy)",
        "Koo et al. 2007, 4.1",
        reads=("C", "try_C", "solver", "parts"),
        defaults={"C": 1.0},
        probabilistic=True,
        learns_distributions=True,
        batch=True,
        needs="scipy",
    ),
    "eg": TrainerKind(
        lambda config, table, data, threads: ExponentiatedGradientTrainer(config, table, data),
        "max-margin by exponentiated gradient, each sentence with a step of its own that never lowers the dual, and with moves of "
        "probability to the worst violator (Lacoste-Julien et al. 2013); primal, dual and the gap between them are told",
        "Koo et al. 2007, figure 2",
        reads=("C", "try_C", "beta", "gap"),
        defaults={"C": 0.01},
        whole_trees=True,
    ),
    "latent": TrainerKind(
        lambda config, table, data, threads: LossTrainer(
            config, table, data, loss=native.TreeLoss.likelihood
        ),
        "log-linear, arcs in one of some clusters that nobody told it, which are summed out",
        "Smith & Smith 2007, 5",
        reads=("clusters", *_LIKELIHOOD),
        defaults={"learning_rate": 0.02},
        probabilistic=True,
        learns_distributions=True,
    ),
}
"""Name → trainer."""


def readers(option: str) -> list[str]:
    """The trainers that read an option; none for an option that every trainer reads."""
    return [name for name, kind in TRAINERS.items() if option in kind.reads]


def own_options() -> list[str]:
    """The options that some trainers read and others do not."""
    return list(dict.fromkeys(option for kind in TRAINERS.values() for option in kind.reads))


def trainer_markdown() -> str:
    """The table of the reference page."""
    lines = ["| trainer | what it does | options that it reads |", "|---|---|---|"]
    for name, kind in TRAINERS.items():
        options = [
            f"`{option}`" + (f" ({kind.defaults[option]:g})" if option in kind.defaults else "")
            for option in kind.reads
        ]
        lines.append(f"| `{name}` | {kind.text} ({kind.paper}) | {', '.join(options)} |")
    return "\n".join(lines)
