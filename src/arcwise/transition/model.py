"""``TransitionModel``: the components of a trained transition-based parser, and its model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError, ModelError
from arcwise.features.look_alikes import LookAlikes
from arcwise.learning.config import from_dict, to_dict
from arcwise.learning.model_file import Packable, Packed, Precision
from arcwise.learning.trained_model import (
    pack_weights,
    read_report,
    read_vocabulary,
    read_weights,
    vocabulary_arrays,
)
from arcwise.transition.config import TransitionConfig
from arcwise.transition.named_systems import dag, hybrid
from arcwise.transition.system import TransitionSystem, system_from_dict
from arcwise.transition.templates import atoms_in, resolve_names

KIND = "transition"
VERSION = 1
Weights = npt.NDArray[np.float32]


def make_scorer(
    config: TransitionConfig,
    system: TransitionSystem,
    labels: int,
    vocabulary: native.Vocabulary,
    *,
    root_label: int = -1,
) -> native.TransitionScorer:
    """A native scorer without weights.

    ``root_label``: the label of all arcs from the root and of no others; -1: none.
    """
    moves = resolve_names(config.move_templates, word=config.word, tag=config.tag)
    label = resolve_names(config.label_templates, word=config.word, tag=config.tag)
    atoms = atoms_in([*moves, *label], word=config.word, tag=config.tag)
    try:
        return native.TransitionScorer(
            system.native,
            atoms=atoms,
            word=config.word,
            tag=config.tag,
            vocabulary=vocabulary,
            move_templates=moves,
            label_templates=label,
            labels=labels,
            move_bits=config.move_bits,
            label_bits=config.label_bits,
            distance_in_labels=config.distance_in_labels,
            root_label=root_label,
        )
    except ValueError as error:
        raise InputError(f"templates: {error}") from error


@dataclass(frozen=True)
class TransitionModel(Packable):
    """Configuration, system, labels and weights; the training report."""

    config: TransitionConfig
    system: TransitionSystem
    labels: tuple[str, ...]
    vocabulary: native.Vocabulary
    weights: Weights
    scorer: native.TransitionScorer
    temperature: float = 1.0
    """Divides scores before they are normalised over the beam."""
    report: Mapping[str, Any] = field(default_factory=dict)
    look_alikes: LookAlikes = field(default_factory=LookAlikes)
    """Character substitutions applied to words before feature extraction."""
    root_label: int = -1
    """The label of all arcs from the root and of no others, as in the training data; -1 if there is none."""

    @property
    def summary(self) -> str:
        """System and sizes."""
        return f"{self.system!r}, beam {self.config.beam}, {len(self.labels)} labels"

    def __repr__(self) -> str:
        return f"<TransitionModel: {self.summary}>"

    @classmethod
    def build(
        cls,
        config: TransitionConfig,
        system: TransitionSystem,
        labels: tuple[str, ...],
        vocabulary: native.Vocabulary,
        weights: Weights,
        **others: Any,
    ) -> TransitionModel:
        """The model with its native scorer."""
        scorer = make_scorer(config, system, len(labels), vocabulary, root_label=others.get("root_label", -1))
        if len(weights) != scorer.weight_count:
            raise ModelError(f"weights: found {len(weights)}, expected {scorer.weight_count}")
        scorer.set_weights(np.ascontiguousarray(weights, np.float32))
        return cls(config, system, labels, vocabulary, weights, scorer, **others)

    def pack(self, precision: Precision = "float32") -> Packed:
        """The model as plain values."""
        header = {
            "config": to_dict(self.config),
            # The whole system, not its name: its TOML file need not exist any more.
            "system": self.system.as_dict(),
            "left_periphery": "leftmost active",
            "labels": self.labels,
            "root_label": self.root_label,
            "temperature": self.temperature,
            "precision": precision,
            "report": self.report,
            "look_alikes": self.look_alikes.pack(),
        }
        arrays: dict[str, npt.NDArray[Any]] = {
            **vocabulary_arrays(self.vocabulary),
            **pack_weights("weights", self.weights, precision),
        }
        return Packed(KIND, VERSION, header, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> TransitionModel:
        """Rebuild the model."""
        packed.expect(KIND, VERSION)
        try:
            header = packed.header
            config = from_dict(TransitionConfig, header["config"], where=packed.path)
            system = _stored_system(header, packed.path)
            labels = tuple(str(label) for label in header["labels"])
            vocabulary = read_vocabulary(packed)
            # The size follows from templates and bits; the file stores only non-zero weights.
            size = make_scorer(config, system, len(labels), vocabulary).weight_count
            return cls.build(
                config,
                system,
                labels,
                vocabulary,
                read_weights(packed, "weights", size),
                temperature=float(header["temperature"]),
                report=read_report(packed),
                look_alikes=LookAlikes.unpack(header.get("look_alikes")),  # models of 0.1 have none
                root_label=int(header.get("root_label", -1)),  # models of 0.3 have no such rule
            )
        except (KeyError, TypeError, ValueError, InputError) as error:
            raise ModelError(f"{packed.path}: damaged transition model ({error})") from error


def _stored_system(header: Mapping[str, Any], path: str) -> TransitionSystem:
    """The system of a model file.

    Before 0.4 the left periphery was empty while fewer than K tokens were operative, and files do not record
    what it means. What hybrid and dag wrote as ``left`` then is ``not-right`` now.
    """
    stored = system_from_dict(header["system"], where=path)
    if "left_periphery" in header:
        return stored
    for current in (hybrid(), dag()):
        former = tuple(
            replace(t, periphery="left") if t.periphery == "not-right" else t for t in current.transitions
        )
        if stored == replace(current, transitions=former):
            return replace(current, name=stored.name)
    return stored
