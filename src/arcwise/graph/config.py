"""``GraphConfig``: everything that can be chosen when a graph-based parser is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from arcwise.errors import InputError
from arcwise.graph.templates import ARC_TEMPLATES, LABEL_TEMPLATES

Trainer = Literal["perceptron", "mira", "mira-factored", "log-linear", "log-linear-batch", "eg", "latent"]
TRAINERS: tuple[Trainer, ...] = (
    "perceptron",
    "mira",
    "mira-factored",
    "log-linear",
    "log-linear-batch",
    "eg",
    "latent",
)
ONLINE_WITH_DROPOUT = ("perceptron", "mira", "mira-factored", "log-linear", "latent")
_DEFAULT_C = {"mira": 0.01, "mira-factored": 0.01, "log-linear-batch": 1.0, "eg": 0.01}


@dataclass(frozen=True)
class GraphConfig:
    """Options of ``arcwise train --parser graph``; a TOML file may set any of them."""

    trainer: Trainer = "mira"
    epochs: int = 10
    """Passes over the training data (iterations of the solver for log-linear-batch)."""
    patience: int = 0
    """Stop after so many epochs without a better score on the development data; 0 never stops early."""
    labelled: bool = True
    """Whether arcs have labels (DEPREL)."""
    projective: bool = False
    """Whether the trees of training may have no crossing arcs; parsing uses the same unless told otherwise."""
    single_root: bool = True
    """Whether exactly one word hangs on the wall."""
    seed: int = 1

    k: int = 1
    """mira: how many best trees make constraints."""
    C: float | None = None
    """mira: the largest step; eg and log-linear-batch: the weight of the losses against |w|²/2. None: the trainer's own."""
    try_C: tuple[float, ...] = ()
    """Train with each of these values of C and keep the one that is best on the development data."""
    loss_augmented: bool = True
    """mira: look for trees that are wrong and score high, instead of those that score high."""
    minimum_risk: bool = False
    """perceptron and mira: learn from the tree of minimum risk under the present weights instead of from the best one."""
    optimizer: Literal["sgd", "adagrad"] = "sgd"
    """log-linear and latent."""
    learning_rate: float | None = None
    """log-linear and latent; None: 0.02."""
    prior: float = 0.0
    """log-linear and latent: the precision of a Gaussian prior, per sentence."""
    average: bool = True
    """Whether the weights are averaged over all steps (perceptron, mira, log-linear)."""
    solver: Literal["l-bfgs", "cg"] = "l-bfgs"
    """log-linear-batch."""
    beta: float = 9.0
    """eg: the start of the dual variables of gold arcs."""
    clusters: int = 4
    """latent: how many clusters an arc may be in."""

    word: Literal["form", "lower"] = "lower"
    """What ``word`` means in templates."""
    word_dropout: float = 0.5
    """a: a word of frequency f is taken for an unknown one with probability a/(a+f) (online trainers)."""
    frequent: int = 150
    """How many words count as frequent (``m<.word``)."""
    tag: Literal["upos", "xpos"] = "upos"
    """The column whose pairs decide which labels and lengths an arc may have, and what stands between."""
    restrict_labels: bool = True
    """Whether an arc may have only labels seen with its pair of tags and direction."""
    arc_bits: int = 22
    row_bits: int = 24
    """The table of weights has 2^arc_bits cells for arc templates and 2^row_bits for label templates."""
    arc_templates: tuple[str, ...] = ARC_TEMPLATES
    label_templates: tuple[str, ...] = LABEL_TEMPLATES
    feature_columns: tuple[str, ...] = ()
    """Columns of your own, e.g. ``MISC:Cluster``, that take part like any other."""

    def __post_init__(self) -> None:
        for name, low, high in (
            ("epochs", 1, 10_000),
            ("k", 1, 1000),
            ("arc_bits", 8, 28),
            ("row_bits", 10, 28),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise InputError(f"{name}: found {value}, expected {low}..{high}")
        if not 1 <= self.clusters <= 64:
            raise InputError(f"clusters: found {self.clusters}, expected 1..64")
        for name in ("C", "learning_rate"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"{name}: found {value}, expected a number above 0")

    @property
    def effective_C(self) -> float:
        """C, or what the trainer takes if none was given."""
        return self.C if self.C is not None else _DEFAULT_C.get(self.trainer, 1.0)

    @property
    def effective_rate(self) -> float:
        """The learning rate, or what the optimiser takes if none was given."""
        if self.learning_rate is not None:
            return self.learning_rate
        return 0.02

    @property
    def effective_dropout(self) -> float:
        """Word dropout, which trainers of a fixed objective do not use."""
        return self.word_dropout if self.trainer in ONLINE_WITH_DROPOUT else 0.0
