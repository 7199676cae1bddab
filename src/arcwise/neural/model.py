"""``NeuralModel``: a trained neural parser as values, and its model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import ArcwiseError, ModelError
from arcwise.features.look_alikes import LookAlikes
from arcwise.learning.config import from_dict, to_dict
from arcwise.learning.model_file import Packable, Packed, Precision, check_precision
from arcwise.learning.trained_model import read_report
from arcwise.neural.config import NeuralConfig
from arcwise.neural.inputs import Inputs
from arcwise.neural.shape import SCALE, NetworkShape, may_be_8_bit
from arcwise.neural.tags import TagAlphabets
from arcwise.neural.transformer import Transformer
from arcwise.parsing.parser import DECODERS
from arcwise.parsing.scored import Decoding, Temperatures

KIND = "neural"
VERSION = 1
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class NeuralModel(Packable):
    """Configuration, alphabets, weights of one or several networks, training report and calibration."""

    config: NeuralConfig
    inputs: Inputs
    labels: tuple[str, ...]
    tags: TagAlphabets
    members: tuple[Mapping[str, npt.NDArray[Any]], ...]
    """The arrays of each network: float32, or 8-bit with scales (``native.quantised``)."""
    decoding: Decoding
    temperatures: Temperatures = field(default_factory=Temperatures)
    """Temperatures of arc and label scores; loading a network applies them to its weights."""
    writes: tuple[str, ...] = ()
    """Tag columns that the network writes: those it predicts better than its input, on development data."""
    report: Mapping[str, Any] = field(default_factory=dict)
    """Training data, scores and history."""
    transformer: Transformer | None = None
    """The transformer encoder, if there is one."""
    look_alikes: LookAlikes = field(default_factory=LookAlikes)
    """Character substitutions applied before reading words."""
    root_label: int = -1
    """The label of all arcs from the root and of no others, as in the training data; -1 if there is none."""

    @property
    def summary(self) -> str:
        """Sizes in a few words."""
        shape = self.shape
        many = f"{len(self.members)} networks of " if len(self.members) > 1 else ""
        encoder = f"{shape.layers} layers of 2 × {shape.hidden} units"
        if self.transformer is not None:
            encoder = f"a transformer ({self.transformer.config['model_type']}) of {shape.width} units"
        return f"{many}{encoder}, {len(self.labels)} labels"

    def __repr__(self) -> str:
        return f"<NeuralModel: {self.summary}>"

    @property
    def shape(self) -> NetworkShape:
        """Sizes of its networks."""
        return network_shape(self.config, self.inputs, self.labels, self.tags, self.transformer)

    @property
    def is_8_bit(self) -> bool:
        """Whether the weights have 8 bits."""
        return any(name.endswith(SCALE) for name in self.members[0])

    def networks(self) -> list[native.NeuralNetwork]:
        """Load the networks into native code, with temperatures applied; not for transformers."""
        shape = self.shape
        return [
            native.NeuralNetwork(
                atoms=list(self.inputs.atoms),
                vocabularies=list(self.inputs.vocabularies),
                arrays=_tempered(member, self.temperatures, order=self.config.order),
                layers=shape.layers,
                labels=shape.labels,
                clusters=shape.clusters,
                tags=len(shape.tags),
                order=self.config.order,
                head_temperature=self.temperatures.heads if self.config.order == 2 else 1.0,
                precision="int8" if self.is_8_bit else "float32",
                root_label=self.root_label,
            )
            for member in self.members
        ]

    def pack(self, precision: Precision = "float32") -> Packed:
        """Pack the model; 8-bit weights stay as they are, whatever the precision."""
        check_precision(precision)
        header = {
            "config": to_dict(self.config),
            "atoms": self.inputs.atoms,
            "labels": self.labels,
            "root_label": self.root_label,
            "tags": asdict(self.tags),
            "members": len(self.members),
            "decoding": asdict(self.decoding),
            "temperatures": asdict(self.temperatures),
            "writes": self.writes,
            "precision": "int8" if self.is_8_bit else precision,
            "report": self.report,
            "look_alikes": self.look_alikes.pack(),
        }
        arrays = dict(self.inputs.arrays())
        if self.transformer is not None:
            header["transformer"] = self.transformer.header()
            arrays |= self.transformer.tokenizer_array()
        for number, member in enumerate(self.members):
            for name, values in _stored(member, precision).items():
                arrays[f"member.{number}.{name}"] = values
        return Packed(KIND, VERSION, header, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> NeuralModel:
        """Restore a model."""
        packed.expect(KIND, VERSION)
        try:
            header = packed.header
            config = from_dict(NeuralConfig, header["config"], where=packed.path)
            inputs = Inputs.read(packed, [str(atom) for atom in header["atoms"]])
            labels = tuple(str(label) for label in header["labels"])
            tags = TagAlphabets.read(header["tags"])
            transformer = Transformer.read(packed)
            shape = network_shape(config, inputs, labels, tags, transformer)
            return cls(
                config,
                inputs,
                labels,
                tags,
                tuple(_member(packed, number, shape) for number in range(_members(header))),
                _decoding(header["decoding"]),
                _temperatures(header["temperatures"]),
                _written(header["writes"], tags),
                read_report(packed),
                transformer,
                LookAlikes.unpack(header.get("look_alikes")),  # models of 0.1 have none
                _root_label(header, labels),
            )
        except ModelError:
            raise
        except (ArcwiseError, KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{packed.path}: is a damaged neural model ({error})") from error

    def with_temperatures(self, temperatures: Temperatures) -> NeuralModel:
        """Return this model with other temperatures."""
        return replace(self, temperatures=temperatures)

    def quantised(self) -> NeuralModel:
        """Return this model with 8-bit weights: smaller and faster, slightly less accurate."""
        return replace(self, members=tuple(_stored(member, "int8") for member in self.members))


def network_shape(
    config: NeuralConfig,
    inputs: Inputs,
    labels: tuple[str, ...],
    tags: TagAlphabets,
    transformer: Transformer | None = None,
) -> NetworkShape:
    """Return the network sizes for a resolved configuration and its alphabets."""
    layers, hidden, arc_size, label_size = config.sizes
    return NetworkShape(
        tuple(
            (rows, config.vector_size(atom))
            for atom, rows in zip(inputs.atoms, inputs.table_rows, strict=True)
        ),
        layers,
        hidden,
        arc_size,
        label_size if labels else 0,
        len(labels),
        config.clusters,
        tuple(len(values) for values in tags.values),
        config.sibling_size if config.order == 2 else 0,
        0 if transformer is None else transformer.width,
        () if transformer is None else transformer.arrays,
    )


def dequantised(member: Mapping[str, npt.NDArray[Any]]) -> dict[str, Floats]:
    """Convert the arrays of a network to float32."""
    return {
        name: (values * member[name + SCALE][..., None]).astype(np.float32)
        if name + SCALE in member
        else np.asarray(values, np.float32)
        for name, values in member.items()
        if not name.endswith(SCALE)
    }


def _stored(member: Mapping[str, npt.NDArray[Any]], precision: Precision) -> dict[str, npt.NDArray[Any]]:
    """Convert the arrays to the precision of a file."""
    if precision == "float32" or any(name.endswith(SCALE) for name in member):
        return dict(member)
    if precision == "float16":
        return {name: values.astype(np.float16) for name, values in member.items()}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, values in member.items():
        if values.ndim > 1 and may_be_8_bit(name):
            small, scales = native.quantised(np.ascontiguousarray(values, np.float32))
            arrays[name], arrays[name + SCALE] = np.asarray(small), np.asarray(scales)
        else:
            arrays[name] = values
    return arrays


def _tempered(
    member: Mapping[str, npt.NDArray[Any]], temperatures: Temperatures, *, order: int
) -> dict[str, object]:
    """Divide arc and label scores by the temperatures, by scaling the output weights.

    At order 2 those of arcs stay: the network divides the logarithms of their probabilities.
    """
    arrays: dict[str, object] = dict(member)
    heads = temperatures.heads if order == 1 else 1.0
    for start, temperature in (("arc.", heads), ("label.", temperatures.labels)):
        for name, values in member.items():
            # An 8-bit array is divided through its scales, which are float32 and have the same prefix.
            if name.startswith(start) and temperature != 1 and values.dtype != np.int8:
                arrays[name] = (values / np.float32(temperature)).astype(np.float32)
    return arrays


def _root_label(header: Mapping[str, Any], labels: tuple[str, ...]) -> int:
    code = int(header.get("root_label", -1))  # models of 0.3 have no such rule
    if not -1 <= code < len(labels) or (code >= 0 and len(labels) < 2):
        raise ValueError(f"root_label: found {code}, expected -1 or one of {len(labels)} labels")
    return code


def _members(header: Mapping[str, Any]) -> int:
    count = int(header["members"])
    if count < 1:
        raise ValueError(f"members: found {count}, expected at least 1")
    return count


def _decoding(header: Mapping[str, Any]) -> Decoding:
    decoding = Decoding(**header)
    if decoding.decode not in DECODERS:
        raise ValueError(f"decode: found {decoding.decode!r}, expected one of {', '.join(DECODERS)}")
    return decoding


def _temperatures(header: Mapping[str, Any]) -> Temperatures:
    values = Temperatures(**header)
    if not (0 < values.heads < np.inf and 0 < values.labels < np.inf and 0 <= values.smoothing < np.inf):
        raise ValueError(f"temperatures: found {values}, expected positive, finite numbers")
    return values


def _written(columns: Sequence[str], tags: TagAlphabets) -> tuple[str, ...]:
    names = tuple(str(column) for column in columns)
    if not set(names) <= set(tags.columns):
        raise ValueError(f"writes: found {', '.join(names)}, expected columns that the network predicts")
    return names


def _member(packed: Packed, number: int, shape: NetworkShape) -> dict[str, npt.NDArray[Any]]:
    """Read and check the arrays of one network."""
    start = f"member.{number}."
    arrays = {
        name.removeprefix(start): np.array(values)
        for name, values in packed.arrays.items()
        if name.startswith(start)
    }
    # Files may keep float16; the networks compute in float32.
    arrays = {name: a if a.dtype.kind != "f" else a.astype(np.float32) for name, a in arrays.items()}
    shape.check(arrays, packed.path)
    return arrays
