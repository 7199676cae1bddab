"""``Parser``: what every trained parser can do, whatever it is inside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from arcwise.errors import InputError
from arcwise.learning.model_file import Packed, Precision
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike

Decoder = Literal["map", "mbr", "max-z", "greedy"]
DECODERS: tuple[Decoder, ...] = ("map", "mbr", "max-z", "greedy")


def check_decoder(name: str | None) -> Decoder | None:
    """The decoder of that name; an error lists the known ones."""
    if name is not None and name not in DECODERS:
        raise InputError(f"--decode: found {name!r}, expected one of {', '.join(DECODERS)}")
    return name


@dataclass(frozen=True)
class ParseOptions:
    """What a user may ask of a parse. None means: as the model was trained.

    A parser that cannot do something asked for says so (``reject``); it never ignores an option silently.
    """

    decode: Decoder | None = None
    """map: the best tree; mbr: the tree with the most expected correct heads; max-z: the best tree with its best
    latent clusters; greedy: the best head of each word, tree or not."""
    projective: bool | None = None
    """Whether arcs may cross (False: they may)."""
    single_root: bool | None = None
    """Whether exactly one word hangs on the wall."""
    k_best: int = 1
    """How many trees per sentence (fewer where the model allows fewer); the others go after the sentence as further
    sentences."""
    confidence: bool = False
    """Write HeadProb and DeprelProb into MISC, and the tree's probability and entropy into comments."""
    keep_heads: bool = False
    """Keep the heads that the input has, and parse the rest around them."""
    beam: int | None = None
    """Width of the beam of a transition-based parser."""

    def reject(self, kind: str, *names: str) -> None:
        """Raise ``InputError`` if any of the named options is set: a parser of ``kind`` does not have it."""
        defaults = {field.name: field.default for field in fields(self)}
        for name in names:
            if getattr(self, name) != defaults[name]:
                raise InputError(
                    f"--{name.replace('_', '-')}: found {getattr(self, name)}, which a {kind} parser does not have"
                )


@runtime_checkable
class Parser(Protocol):
    """A trained parser. ``kind`` is the kind of its model file; ``arcwise.models`` opens a file of any kind."""

    kind: ClassVar[str]

    def pack(self, precision: Precision = "float32") -> Packed:
        """The parser as plain values: what its model file holds."""
        ...

    def save(self, path: PathLike, *, precision: Precision = "float32") -> None:
        """Write the model file; it appears whole or not at all."""
        ...

    def parse(
        self, treebank: Treebank, *, options: ParseOptions = ParseOptions(), threads: int = 1
    ) -> Treebank:
        """The treebank with HEAD and DEPREL replaced (and what the options ask for); nothing else changes."""
        ...

    @property
    def info(self) -> Mapping[str, Any]:
        """What the model is: configuration, data it was trained on, scores, sizes."""
        ...
