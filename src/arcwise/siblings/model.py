"""``SiblingModel``: the components of a trained second-order parser, and its model file."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from arcwise.errors import ModelError
from arcwise.graph.model import KIND as ARC_KIND
from arcwise.graph.model import VERSION as ARC_VERSION
from arcwise.graph.model import GraphModel
from arcwise.learning.config import from_dict, to_dict
from arcwise.learning.model_file import Packed, Precision
from arcwise.learning.trained_model import pack_weights, read_weights
from arcwise.siblings.config import SiblingConfig

KIND = "siblings"
VERSION = 1


@dataclass(frozen=True)
class SiblingModel(GraphModel):
    """An arc-factored model with the weights of sibling features, trained together."""

    siblings: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros(0, np.float32))
    """2^sibling_bits weights."""

    @property
    def summary(self) -> str:
        """Trainer and sizes."""
        return f"second order, {super().summary}"

    def pack(self, precision: Precision = "float32") -> Packed:
        """The model as plain values."""
        arcs = super().pack(precision)
        header = {**arcs.header, "config": to_dict(self.config)}
        return Packed(
            KIND, VERSION, header, {**arcs.arrays, **pack_weights("siblings", self.siblings, precision)}
        )

    @classmethod
    def unpack(cls, packed: Packed) -> SiblingModel:
        """Rebuild the model."""
        packed.expect(KIND, VERSION)
        try:
            config = from_dict(SiblingConfig, packed.header["config"], where=packed.path)
            header = {**packed.header, "config": to_dict(config.arc_config)}
            arcs = GraphModel.unpack(replace(packed, kind=ARC_KIND, version=ARC_VERSION, header=header))
            siblings = read_weights(packed, "siblings", 1 << config.sibling_bits)
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{packed.path}: damaged siblings model ({error})") from error
        return cls(**(vars(arcs) | {"config": config, "siblings": siblings}))
