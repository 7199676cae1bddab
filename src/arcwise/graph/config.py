"""``GraphConfig``: the training options of the graph-based parser."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

from arcwise.distillation import Distillation
from arcwise.errors import OptionError
from arcwise.features.atoms import feature_atom
from arcwise.features.templates import Template
from arcwise.graph.split_merge import CLUSTERS
from arcwise.graph.templates import ARC_TEMPLATES, LABEL_TEMPLATES
from arcwise.graph.trainer_table import TRAINERS, TrainerKind, own_options, readers
from arcwise.learning.options import SEEDS, check_options, declared, option, refuse_unread, short_repr

__all__ = ["TRAINERS", "GraphConfig"]

_TEMPLATE = "a template such as 'h.upos m-1.word @ distance'"
_COLUMN = "MISC:KEY, FEATS:KEY, FORM, LEMMA, UPOS, XPOS or FEATS"


def _list_column(column: str) -> None:
    Template.parse(f"h.upos pairs.{feature_atom(column)}")


@dataclass(frozen=True)
class GraphConfig:
    """Options of ``arcwise train --parser graph``; a TOML file may set any of them."""

    trainer: str = option("mira", "Training algorithm.", choices=tuple(TRAINERS))
    epochs: int = option(
        10,
        "Training epochs (log-linear-batch: ten iterations of the solver each).",
        low=1,
        high=10_000,
    )
    patience: int = option(
        0,
        "Early stopping: epochs without improvement on the development data before training stops (0 "
        "disables it).",
        low=0,
        high=10_000,
    )
    labelled: bool = option(True, "Predict labels (DEPREL).")
    projective: bool = option(
        False,
        "Train on projective trees; parsing uses the same class unless overridden.",
    )
    single_root: bool = option(True, "Require exactly one word to be attached to the root.")
    seed: int = option(1, "Random seed; the same seed gives the same model.", low=0, high=SEEDS)

    k: int = option(1, "Number of best trees that contribute a margin constraint.", low=1, high=1000)
    C: float | None = option(
        None,
        "Aggressiveness (mira: the largest step) or inverse regularisation strength (eg, eg-log-linear, "
        "log-linear-batch: weight of the losses relative to |w|²/2). Default: the trainer's own.",
        above=0,
    )
    hard_margin: bool = option(
        False,
        "No limit on the size of a step (C = infinity): every update satisfies its margin constraints, if "
        "they can be satisfied.",
    )
    try_C: tuple[float, ...] = option(
        (),
        "Train with each of these values of C and keep the best on the development data.",
        above=0,
    )
    loss_augmented: bool = option(
        True,
        "Loss-augmented decoding: add the cost of wrong arcs to the scores while searching for violators.",
    )
    minimum_risk: bool = option(
        False,
        "Update against the minimum-risk tree instead of the highest-scoring one.",
    )
    risk_scores: Literal["model", "loss-augmented"] = option(
        "model",
        "Scores that `minimum_risk` takes its probabilities from: those of the current weights, or those "
        "plus the cost of wrong arcs. `loss_augmented` does not apply to minimum risk.",
    )
    optimizer: Literal["sgd", "adagrad"] = option("sgd", "Optimiser.")
    learning_rate: float | None = option(None, "Learning rate. Default: the trainer's own.", above=0)
    prior: float = option(0.0, "L2 regularisation: precision of a Gaussian prior, per sentence.", low=0)
    average: bool = option(True, "Average the weights over all updates.")
    solver: Literal["l-bfgs", "cg"] = option("l-bfgs", "Batch solver: L-BFGS or conjugate gradient.")
    violators: int = option(
        3,
        "Single trees that may enter a sentence's distribution at each visit, by Frank-Wolfe steps (0: the "
        "multiplicative steps of Koo et al. 2007 alone, which converge slowly).",
        low=0,
        high=1000,
    )
    beta: float = option(9.0, "Initial value of the dual variables of gold arcs.", low=0)
    gap: float = option(
        1e-4,
        "Stop when the duality gap is below this fraction of the primal.",
        low=0,
        high=1,
    )
    parts: int = option(
        1,
        "Data parallelism: split each epoch into this many parts, trained in parallel by the available "
        "workers. Online trainers mix their parameters after each epoch, so more parts learn less per epoch; "
        "log-linear-batch sums the gradients and gives the same model.",
        low=1,
        high=1024,
    )
    batch: int = option(
        1,
        "Minibatch size: sentences of similar length, decoded in parallel threads before their updates are "
        "applied. The model depends on the batch size, not on the number of threads.",
        low=1,
        high=10_000,
    )
    clusters: int = option(4, "Number of latent clusters per arc.", low=1, high=1024)

    word: Literal["form", "lower"] = option(
        "lower", "What `word` stands for in templates: the form or its lower case."
    )
    word_dropout: float = option(
        0.5,
        "Word dropout a: a word of frequency f is replaced by the unknown word with probability a/(a+f). "
        "With 0, words seen once are unknown.",
        low=0,
    )
    frequent: int = option(150, "Number of words that count as frequent (`m<.word`).", low=0, high=1_000_000)
    tag: Literal["upos", "xpos"] = option(
        "upos",
        "Tag column used to filter labels and arc lengths, and for the tags between head and modifier.",
    )
    restrict_labels: bool = option(
        True,
        "Score only labels seen in training with the same tag pair and direction; others keep a low "
        "probability.",
    )
    filter_after: int = option(
        500,
        "Arc-length filter: arcs longer than any seen for their tag pair and direction are not scored, if "
        "training had at least this many such candidates and none was correct. They keep a low probability.",
        low=0,
        high=1_000_000_000,
    )
    arc_bits: int = option(22, "Hash-table size for arc templates: 2^arc_bits weights.", low=8, high=28)
    row_bits: int = option(24, "Hash-table size for label templates: 2^row_bits weights.", low=10, high=28)
    features: Literal["standard", "mcdonald2005"] = option(
        "standard",
        "Feature set: `arc_templates` and `label_templates`, or instead of both the table of McDonald et al. "
        "(2005) with its prefixes (label templates if the model is labelled).",
    )
    arc_templates: tuple[str, ...] = option(
        ARC_TEMPLATES, "Feature templates that score the arc.", check=Template.parse, form=_TEMPLATE
    )
    label_templates: tuple[str, ...] = option(
        LABEL_TEMPLATES,
        "Feature templates that score the arc and each label.",
        check=Template.parse,
        form=_TEMPLATE,
    )
    feature_columns: tuple[str, ...] = option(
        (),
        "Additional feature columns, e.g. `MISC:Cluster`.",
        check=feature_atom,
        form=_COLUMN,
    )
    list_columns: tuple[str, ...] = option(
        (),
        "Multi-valued feature columns, e.g. `MISC:Clusters` with comma-separated values: each value of the "
        "head paired with each of the modifier is a feature.",
        check=_list_column,
        form="MISC:KEY or FEATS",
    )
    feats_pairs: bool = option(
        False, "Add a feature for each pair of single FEATS values of head and modifier."
    )
    word_prefixes: bool = option(
        False,
        "Repeat every word template of head or modifier with the first five characters (McDonald et al. "
        "2005).",
    )
    squeezed: bool = option(
        False,
        "Drop templates with two words, two lemmas or four tags, so that clusters have to represent their "
        "information (Smith & Smith 2007).",
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)
        if self.trainer == "split-merge" and self.clusters not in CLUSTERS:
            raise OptionError(
                "clusters",
                f"found {self.clusters}, expected 1, 2, 4 or 8: the trainer split-merge halves them",
            )

    @property
    def trainer_kind(self) -> TrainerKind:
        """The entry of the table of trainers."""
        return TRAINERS[self.trainer]

    @property
    def effective_C(self) -> float:
        """C, or the trainer's default; infinite with a hard margin."""
        if self.hard_margin:
            return math.inf
        return self.C if self.C is not None else self.trainer_kind.defaults.get("C", 1.0)

    @property
    def effective_rate(self) -> float:
        """The learning rate, or the trainer's default."""
        default = self.trainer_kind.defaults.get("learning_rate", 0.02)
        return self.learning_rate if self.learning_rate is not None else default

    @property
    def effective_dropout(self) -> float:
        """Word dropout; 0 for trainers with a fixed objective."""
        return self.word_dropout if "word_dropout" in self.trainer_kind.reads else 0.0

    @property
    def effective_clusters(self) -> int:
        """Latent clusters per arc; 1 for trainers without them."""
        return self.clusters if "clusters" in self.trainer_kind.reads else 1

    def refuse_unread(self) -> None:
        """Raise ``OptionError`` for ignored options, before training starts."""
        refuse_unread(
            self,
            {
                name: f"the trainer {self.trainer} ignores it (used by {', '.join(readers(name))})"
                for name in own_options()
                if name not in self.trainer_kind.reads
            }
            | dict.fromkeys(self._replaced_templates, f"features = {self.features!r} replaces it")
            | (dict.fromkeys(("C", "try_C"), "hard_margin sets no limit") if self.hard_margin else {}),
        )

    @property
    def _replaced_templates(self) -> tuple[str, ...]:
        return () if self.features == "standard" else ("arc_templates", "label_templates", "word_prefixes")

    def check_distillation(self, distillation: Distillation) -> None:
        """Raise ``OptionError`` if the trainer cannot use soft targets and there is no text."""
        if self.trainer_kind.learns_distributions:
            return
        able = [name for name, kind in TRAINERS.items() if kind.learns_distributions]
        distillation.require_text(f"the trainer {self.trainer}", ", ".join(able))
        refuse_unread(
            distillation.config, {"text_weight": f"the trainer {self.trainer} does not weight sentences"}
        )

    def for_trainer(self, trainer: str, **changes: Any) -> GraphConfig:
        """The configuration for another trainer, without the options that it ignores."""
        unread = [name for name in own_options() if name not in TRAINERS[trainer].reads]
        defaults = {name: declared(GraphConfig)[name].default for name in unread}
        return replace(self, trainer=trainer, **(defaults | changes))
