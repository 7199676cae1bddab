"""``GraphConfig``: everything that can be chosen when a graph-based parser is trained."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from arcwise.distillation import Distillation
from arcwise.features.atoms import feature_atom
from arcwise.features.templates import Template
from arcwise.graph.templates import ARC_TEMPLATES, LABEL_TEMPLATES
from arcwise.graph.trainer_table import TRAINERS, TrainerKind, own_options, readers
from arcwise.learning.options import SEEDS, check_options, declared, option, refuse_unread, short_repr
from arcwise.optional import require

__all__ = ["TRAINERS", "GraphConfig"]

_TEMPLATE = "a template such as 'h.upos m-1.word @ distance'"
_COLUMN = "MISC:KEY, FEATS:KEY, FORM, LEMMA, UPOS, XPOS or FEATS"


def _list_column(column: str) -> None:
    Template.parse(f"h.upos pairs.{feature_atom(column)}")


@dataclass(frozen=True)
class GraphConfig:
    """Options of ``arcwise train --parser graph``; a TOML file may set any of them."""

    trainer: str = option("mira", "How the weights are learned.", choices=tuple(TRAINERS))
    epochs: int = option(
        10,
        "Passes over the training data (for log-linear-batch: ten iterations of the solver each).",
        low=1,
        high=10_000,
    )
    patience: int = option(
        0,
        "Stop after so many epochs without a better score on the development data; 0 never stops early.",
        low=0,
        high=10_000,
    )
    labelled: bool = option(True, "Whether arcs have labels (DEPREL).")
    projective: bool = option(
        False,
        "Whether the trees of training may have no crossing arcs; parsing uses the same unless told otherwise.",
    )
    single_root: bool = option(True, "Whether exactly one word has the root as its head.")
    seed: int = option(1, "The same seed gives the same model.", low=0, high=SEEDS)

    k: int = option(1, "How many best trees make constraints.", low=1, high=1000)
    C: float | None = option(
        None,
        "mira: the largest step; eg and log-linear-batch: the weight of the losses against |w|²/2. None: the trainer's own.",
        above=0,
    )
    try_C: tuple[float, ...] = option(
        (),
        "Train with each of these values of C and keep the one that is best on the development data.",
        above=0,
    )
    loss_augmented: bool = option(
        True, "Look for trees that are wrong and score high, instead of those that score high."
    )
    minimum_risk: bool = option(
        False,
        "Learn from the tree of minimum risk under the present weights instead of from the best one.",
    )
    optimizer: Literal["sgd", "adagrad"] = option("sgd", "How a step follows from the gradient.")
    learning_rate: float | None = option(
        None, "The size of the optimiser's steps. None: the trainer's own.", above=0
    )
    prior: float = option(0.0, "The precision of a Gaussian prior, per sentence.", low=0)
    average: bool = option(True, "Whether the weights are averaged over all steps.")
    solver: Literal["l-bfgs", "cg"] = option("l-bfgs", "L-BFGS or conjugate gradient.")
    beta: float = option(9.0, "The start of the dual variables of gold arcs.", low=0)
    gap: float = option(
        1e-4,
        "Training ends when primal and dual are as near as this, as a share of the primal.",
        low=0,
        high=1,
    )
    parts: int = option(
        1,
        "In so many parts each epoch is learned at the same time, by as many workers as there are. Trainers that make a step per sentence "
        "are mixed after each epoch: more parts learn less per epoch. log-linear-batch adds up the gradients of the parts: the same model.",
        low=1,
        high=1024,
    )
    batch: int = option(
        1,
        "From so many sentences, of about the same length, it learns at the same time, by as many threads as there are; then their changes are "
        "made. The model depends on the batch and not on the threads.",
        low=1,
        high=10_000,
    )
    clusters: int = option(4, "How many clusters an arc may be in.", low=1, high=1024)

    word: Literal["form", "lower"] = option("lower", "What `word` means in templates.")
    word_dropout: float = option(
        0.5,
        "a: a word of frequency f is taken for an unknown one with probability a/(a+f). Without it, words seen once are unknown.",
        low=0,
    )
    frequent: int = option(150, "How many words count as frequent (`m<.word`).", low=0, high=1_000_000)
    tag: Literal["upos", "xpos"] = option(
        "upos",
        "The column whose pairs decide which labels and lengths an arc may have, and what stands between.",
    )
    restrict_labels: bool = option(
        True,
        "Whether an arc has weights only for labels seen with its pair of tags and direction; the others keep a low probability.",
    )
    filter_after: int = option(
        500,
        "Arcs between two tags (and a direction) that are longer than any seen in training are not scored by their features, if training had "
        "this many of them to choose from and none was right. They keep a low probability.",
        low=0,
        high=1_000_000_000,
    )
    arc_bits: int = option(22, "The table of weights has 2^arc_bits cells for arc templates.", low=8, high=28)
    row_bits: int = option(24, "And 2^row_bits cells for label templates.", low=10, high=28)
    arc_templates: tuple[str, ...] = option(
        ARC_TEMPLATES, "Templates with one weight, for the arc.", check=Template.parse, form=_TEMPLATE
    )
    label_templates: tuple[str, ...] = option(
        LABEL_TEMPLATES,
        "Templates with a weight for the arc and one for each label.",
        check=Template.parse,
        form=_TEMPLATE,
    )
    feature_columns: tuple[str, ...] = option(
        (),
        "Columns of your own, e.g. `MISC:Cluster`, that take part like any other.",
        check=feature_atom,
        form=_COLUMN,
    )
    list_columns: tuple[str, ...] = option(
        (),
        "Columns with several values for a word, e.g. `MISC:Clusters` with values between commas: each value of the head with each of the "
        "modifier is a feature.",
        check=_list_column,
        form="MISC:KEY or FEATS",
    )
    feats_pairs: bool = option(
        False, "Whether each single value of FEATS of the head with each of the modifier is a feature."
    )
    word_prefixes: bool = option(
        False,
        "Whether every template with the word of head or modifier is also there with its first five characters (McDonald et al. 2005).",
    )
    squeezed: bool = option(
        False,
        "Leave out templates of two words, of two lemmas or of four tags: clusters must carry what these tell (Smith & Smith 2007).",
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def trainer_kind(self) -> TrainerKind:
        """The entry of the table of trainers."""
        return TRAINERS[self.trainer]

    @property
    def effective_C(self) -> float:
        """C, or what the trainer takes if none was given."""
        return self.C if self.C is not None else self.trainer_kind.defaults.get("C", 1.0)

    @property
    def effective_rate(self) -> float:
        """The learning rate, or what the trainer takes if none was given."""
        own = self.trainer_kind.defaults.get("learning_rate", 0.02)
        return self.learning_rate if self.learning_rate is not None else own

    @property
    def effective_dropout(self) -> float:
        """Word dropout, which trainers of a fixed objective do not use."""
        return self.word_dropout if "word_dropout" in self.trainer_kind.reads else 0.0

    @property
    def effective_clusters(self) -> int:
        """Clusters of an arc, of which most trainers know one alone."""
        return self.clusters if "clusters" in self.trainer_kind.reads else 1

    def refuse_unread(self) -> None:
        """``OptionError`` if an option is set that the trainer does not read, ``MissingExtraError`` if the trainer needs a library that
        is not installed: asked before a parser is trained."""
        if self.trainer_kind.needs is not None:
            require(self.trainer_kind.needs)
        refuse_unread(
            self,
            {
                name: f"the trainer {self.trainer} does not read it ({', '.join(readers(name))} {'do' if len(readers(name)) > 1 else 'does'})"
                for name in own_options()
                if name not in self.trainer_kind.reads
            },
        )

    def check_distillation(self, distillation: Distillation) -> None:
        """``OptionError`` if the trainer cannot learn what is taught: asked before the teacher reads anything."""
        if self.trainer_kind.learns_distributions:
            return
        able = [name for name, kind in TRAINERS.items() if kind.learns_distributions]
        distillation.require_text(f"the trainer {self.trainer}", ", ".join(able))
        refuse_unread(
            distillation.config, {"text_weight": f"the trainer {self.trainer} does not weigh sentences"}
        )

    def for_trainer(self, trainer: str, **changes: Any) -> GraphConfig:
        """The same for another trainer, without the options that it does not read."""
        unread = [name for name in own_options() if name not in TRAINERS[trainer].reads]
        defaults = {name: declared(GraphConfig)[name].default for name in unread}
        return replace(self, trainer=trainer, **(defaults | changes))
