"""``GraphModel``: the components of a trained graph-based parser, and its model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import ModelError
from arcwise.features.look_alikes import LookAlikes
from arcwise.graph.config import GraphConfig
from arcwise.graph.table import Alphabets, make_table
from arcwise.learning.config import from_dict, to_dict
from arcwise.learning.model_file import Packable, Packed, Precision
from arcwise.learning.trained_model import (
    pack_weights,
    read_report,
    read_vocabulary,
    read_weights,
    vocabulary_arrays,
)
from arcwise.parsing.scored import Decoding

KIND = "graph"
VERSION = 1


@dataclass(frozen=True)
class GraphModel(Packable):
    """Configuration, alphabets, hash table and weights; the training report; decoding and calibration."""

    config: GraphConfig
    alphabets: Alphabets
    table: native.ArcTable
    vocabulary: native.Vocabulary
    weights: npt.NDArray[np.float32]
    decoding: Decoding
    temperature: float = 1.0
    """Divides arc scores before normalisation; see ``arcwise calibrate``."""
    label_temperature: float = 1.0
    """Divides label scores given the head."""
    smoothing: float = 0.0
    """Fraction of a word's best arc weight that is spread over all its arcs."""
    report: Mapping[str, Any] = field(default_factory=dict)
    """Data, scores and history of training."""
    look_alikes: LookAlikes = field(default_factory=LookAlikes)
    """Character substitutions applied to words before feature extraction."""

    @property
    def summary(self) -> str:
        """Trainer and sizes."""
        names = self.alphabets
        return f"trained by {self.config.trainer}, {len(names.labels)} labels, {len(names.tags)} tags"

    def __repr__(self) -> str:
        return f"<GraphModel: {self.summary}>"

    def with_temperatures(self, heads: float, labels: float, smoothing: float = 0.0) -> GraphModel:
        """The same model with another calibration."""
        return replace(self, temperature=heads, label_temperature=labels, smoothing=smoothing)

    def pack(self, precision: Precision = "float32") -> Packed:
        """The model as plain values."""
        header = {
            "config": to_dict(self.config),
            "alphabets": asdict(self.alphabets),
            "decoding": asdict(self.decoding),
            "temperature": self.temperature,
            "label_temperature": self.label_temperature,
            "smoothing": self.smoothing,
            "unseen": self.table.unseen,
            "root_label": self.table.root_label,
            "precision": precision,
            "report": self.report,
            "look_alikes": self.look_alikes.pack(),
        }
        arrays: dict[str, npt.NDArray[Any]] = {
            **vocabulary_arrays(self.vocabulary),
            "classes.label_starts": self.table.label_starts,
            "classes.label_ids": self.table.label_ids,
            "classes.reach": self.table.reach,
            "classes.novelty": self.table.novelty,
            **pack_weights("weights", self.weights, precision),
        }
        return Packed(KIND, VERSION, header, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> GraphModel:
        """Rebuild the model."""
        packed.expect(KIND, VERSION)
        try:
            header = packed.header
            config = from_dict(GraphConfig, header["config"], where=packed.path)
            alphabets = from_dict(Alphabets, header["alphabets"], where=packed.path)
            vocabulary = read_vocabulary(packed)
            table = make_table(config, alphabets, vocabulary.hashes, vocabulary.counts)
            starts, labels, reach = (
                np.array(packed.array(f"classes.{name}")) for name in ("label_starts", "label_ids", "reach")
            )
            novelty = packed.arrays.get("classes.novelty")  # models of 0.1 have none
            table.set_classes(
                starts,
                labels,
                reach,
                novelty=None if novelty is None else np.array(novelty),
                unseen=float(header.get("unseen", native.ArcTable.UNTOLD)),
                root_label=int(header.get("root_label", -1)),  # models of 0.3 have no such rule
            )
            return cls(
                config,
                alphabets,
                table,
                vocabulary,
                read_weights(packed, "weights", table.cells),
                Decoding(**header["decoding"]),
                float(header["temperature"]),
                # Older files have one temperature for heads and labels.
                float(header.get("label_temperature", header["temperature"])),
                float(header.get("smoothing", 0.0)),  # older models have none
                read_report(packed),
                LookAlikes.unpack(header.get("look_alikes")),  # models of 0.1 have none
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{packed.path}: damaged graph model ({error})") from error
