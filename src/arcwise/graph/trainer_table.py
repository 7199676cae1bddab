"""The trainers of the graph-based parser, one table entry each.

Configuration, help, reference page and contract tests are generated from the table. Every trainer works with
each of the four tree classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from arcwise import native
from arcwise.graph.split_merge import SplitMergeTrainer
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
    """A training algorithm: its factory, the options it uses, and its properties."""

    make: Maker
    text: str
    """Description for help and the reference page."""
    paper: str
    reads: tuple[str, ...]
    """The options of ``GraphConfig`` that it uses in addition to those that all trainers use."""
    defaults: Mapping[str, float] = field(default_factory=dict)
    """Its defaults for options whose general default is None."""
    probabilistic: bool = False
    """Whether its scores are log-probabilities, so that minimum-risk decoding is a candidate."""
    whole_trees: bool = False
    """Whether it needs complete trees; a perceptron trained on the known heads then fills in the others."""
    learns_distributions: bool = False
    """Whether it learns from soft targets; others learn from the teacher's trees of the text."""
    batch: bool = False
    """Whether it updates once per pass, so that gradients of ``parts`` are summed, not mixed."""

    @property
    def decoders(self) -> tuple[str, ...]:
        """The candidates for decoder selection on development data."""
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
        "margin-infused updates against the `k` best trees (Hildreth's algorithm), averaged",
        "McDonald et al. 2005, 2.3",
        reads=(
            "k",
            "C",
            "hard_margin",
            "try_C",
            "loss_augmented",
            "minimum_risk",
            "risk_scores",
            "batch",
            *_ONLINE,
        ),
        defaults={"C": 0.01},
    ),
    "mira-factored": TrainerKind(
        lambda config, table, data, threads: MarginTrainer(
            config, table, data, threads, update=native.MarginUpdate.mira_factored
        ),
        "one margin constraint per wrong head of each word, averaged",
        "McDonald et al. 2005, 2.3",
        reads=("C", "hard_margin", "try_C", "batch", *_ONLINE),
        defaults={"C": 0.01},
    ),
    "log-linear": TrainerKind(
        lambda config, table, data, threads: LossTrainer(
            config, table, data, loss=native.TreeLoss.likelihood
        ),
        "conditional log-likelihood, one step of SGD or AdaGrad per sentence",
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
        "log-linear with cost-augmented scores: wrong heads and labels cost 1 during training",
        "Gimpel & Smith 2010",
        reads=_LIKELIHOOD,
        defaults={"learning_rate": 0.02},
        probabilistic=True,
        learns_distributions=True,
    ),
    "minimum-risk": TrainerKind(
        lambda config, table, data, threads: LossTrainer(config, table, data, loss=native.TreeLoss.risk),
        "the expected number of wrong heads and labels of a log-linear model, one step of SGD or AdaGrad per "
        "sentence, after half the epochs of log-linear training",
        "Smith & Eisner 2006; Li & Eisner 2009",
        reads=_LIKELIHOOD,
        defaults={"learning_rate": 0.02},
        probabilistic=True,
        learns_distributions=True,
    ),
    "log-linear-batch": TrainerKind(
        lambda config, table, data, threads: BatchTrainer(
            config, table.cells, likelihood_objective(config, table, data, threads=threads)
        ),
        "log-linear with a Gaussian prior, by L-BFGS or conjugate gradient",
        "Koo et al. 2007, 4.1",
        reads=("C", "try_C", "solver", "parts"),
        defaults={"C": 1.0},
        probabilistic=True,
        learns_distributions=True,
        batch=True,
    ),
    "eg": TrainerKind(
        lambda config, table, data, threads: ExponentiatedGradientTrainer(config, table, data),
        "max-margin by exponentiated gradient with a step size per sentence that never lowers the dual, and "
        "Frank-Wolfe steps towards the worst violator (Lacoste-Julien et al. 2013); reports primal, dual and "
        "duality gap",
        "Koo et al. 2007, figure 2",
        reads=("C", "try_C", "violators", "beta", "gap"),
        defaults={"C": 0.01},
        whole_trees=True,
    ),
    "eg-log-linear": TrainerKind(
        lambda config, table, data, threads: ExponentiatedGradientTrainer(
            config, table, data, log_linear=True
        ),
        "the objective of log-linear-batch by exponentiated gradient in its dual, one step per sentence; "
        "reports primal, dual and duality gap",
        "Globerson et al. 2007; Collins et al. 2008",
        reads=("C", "try_C", "beta", "gap"),
        defaults={"C": 1.0},
        probabilistic=True,
        whole_trees=True,
    ),
    "latent": TrainerKind(
        lambda config, table, data, threads: LossTrainer(
            config, table, data, loss=native.TreeLoss.likelihood
        ),
        "log-linear with latent clusters per arc, marginalised",
        "Smith & Smith 2007, 5",
        reads=("clusters", *_LIKELIHOOD),
        defaults={"learning_rate": 0.02},
        probabilistic=True,
        learns_distributions=True,
    ),
    "split-merge": TrainerKind(
        lambda config, table, data, threads: SplitMergeTrainer(config, table, data),
        "latent, with clusters that are split in two, trained and merged by half, in rounds up to `clusters` "
        "(1, 2, 4 or 8)",
        "Petrov et al. 2006; Smith & Smith 2007, 6",
        reads=("clusters", *(option for option in _LIKELIHOOD if option != "parts")),
        defaults={"learning_rate": 0.02},
        probabilistic=True,
        learns_distributions=True,
    ),
}
"""Name → trainer."""


def readers(option: str) -> list[str]:
    """The trainers that use an option; empty for an option that all use."""
    return [name for name, kind in TRAINERS.items() if option in kind.reads]


def own_options() -> list[str]:
    """The options that only some trainers use."""
    return list(dict.fromkeys(option for kind in TRAINERS.values() for option in kind.reads))


def trainer_markdown() -> str:
    """The table of trainers for the reference page."""
    lines = ["| trainer | algorithm | options |", "|---|---|---|"]
    for name, kind in TRAINERS.items():
        options = [
            f"`{option}`" + (f" ({kind.defaults[option]:g})" if option in kind.defaults else "")
            for option in kind.reads
        ]
        lines.append(f"| `{name}` | {kind.text} ({kind.paper}) | {', '.join(options)} |")
    return "\n".join(lines)
