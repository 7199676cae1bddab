"""``SiblingConfig``: the training options of the second-order parser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from arcwise import native
from arcwise.errors import OptionError
from arcwise.graph.config import GraphConfig
from arcwise.graph.trainer_table import TRAINERS, TrainerKind, own_options
from arcwise.learning.options import option, refuse_unread, short_repr
from arcwise.learning.preparation import prepare_trees
from arcwise.treebanks import Treebank


@dataclass(frozen=True)
class SiblingTrainerKind:
    """A training algorithm of the second-order parser."""

    update: native.SiblingUpdate
    reads: tuple[str, ...]
    """The options of ``GraphConfig`` that it uses in addition to those that all trainers use."""
    defaults: Mapping[str, float] = field(default_factory=dict)
    probabilistic: bool = False

    @property
    def decoders(self) -> tuple[str, ...]:
        """The candidates for decoder selection on development data."""
        return ("map", "mbr") if self.probabilistic else ("map",)


_ONLINE = ("average", "word_dropout")

SIBLING_TRAINERS: Mapping[str, SiblingTrainerKind] = {
    "perceptron": SiblingTrainerKind(native.SiblingUpdate.perceptron, _ONLINE),
    "mira": SiblingTrainerKind(native.SiblingUpdate.mira, ("C", *_ONLINE), {"C": 0.01}),
    "log-linear": SiblingTrainerKind(
        native.SiblingUpdate.log_linear, ("learning_rate", *_ONLINE), {"learning_rate": 0.02}, True
    ),
    "softmax-margin": SiblingTrainerKind(
        native.SiblingUpdate.softmax_margin, ("learning_rate", *_ONLINE), {"learning_rate": 0.02}, True
    ),
}
"""The trainers by name, all of them trainers of the arc-factored parser as well."""
MANY_CROSSING = 0.15
"""Share of training sentences with crossing arcs from which training on projective trees costs accuracy."""


@dataclass(frozen=True)
class SiblingConfig(GraphConfig):
    """Options of ``arcwise train --order 2``; a TOML file may set any of them.

    >>> SiblingConfig(trainer="eg")
    Traceback (most recent call last):
        ...
    arcwise.errors.OptionError: trainer: found 'eg', expected one of perceptron, mira, ...
    """

    trainer: str = option("mira", "Training algorithm.", choices=tuple(SIBLING_TRAINERS))
    projective: bool | None = option(  # type: ignore[assignment]
        None,
        "Train on projective trees. Otherwise the trainers perceptron and mira look for trees with crossing "
        f"arcs by dual decomposition. Default: projective, unless {MANY_CROSSING:.0%} of the training "
        "sentences have crossing arcs and the trainer is one of these two.",
    )
    sibling_bits: int = option(
        21, "Hash-table size for sibling features: 2^sibling_bits weights.", low=8, high=28
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.is_projective and self.sibling_trainer.probabilistic:
            raise OptionError(
                "projective", f"found False, expected True: {self.trainer} sums over projective trees only"
            )

    @property
    def trainer_kind(self) -> TrainerKind:
        """The entry of the arc-factored trainer of the same name."""
        return TRAINERS[self.trainer]

    @property
    def sibling_trainer(self) -> SiblingTrainerKind:
        """The entry of the table of trainers."""
        return SIBLING_TRAINERS[self.trainer]

    @property
    def is_projective(self) -> bool:
        """Whether training looks for projective trees only."""
        return self.projective is not False

    @property
    def arc_config(self) -> GraphConfig:
        """The configuration of the arc features only."""
        values = {f.name: getattr(self, f.name) for f in fields(GraphConfig)}
        return GraphConfig(**values | {"projective": self.is_projective})

    def resolved(self, train: Treebank) -> SiblingConfig:
        """The configuration with ``projective`` chosen for the training data, unless it is set."""
        if self.projective is not None:
            return self
        prepared = prepare_trees(train, projective=True, single_root=self.single_root)
        few = prepared.projectivised < MANY_CROSSING * len(train)
        return replace(self, projective=few or self.sibling_trainer.probabilistic)

    def refuse_unread(self) -> None:
        """Raise ``OptionError`` for ignored options, before training starts."""
        ignored = (name for name in own_options() if name not in self.sibling_trainer.reads)
        refuse_unread(
            self,
            dict.fromkeys(ignored, f"the trainer {self.trainer} of order 2 ignores it")
            | dict.fromkeys(self._replaced_templates, f"features = {self.features!r} replaces it"),
        )
