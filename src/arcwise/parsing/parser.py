"""``Parser``: the interface of every trained parser, and the options of a parse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np

from arcwise.errors import OptionError
from arcwise.inference import Constraints
from arcwise.learning.model_file import Packed, Precision
from arcwise.learning.options import changed, check_options, option, short_repr
from arcwise.parsing.parses import Analysis
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike

Decoder = Literal["map", "mbr", "mbr-labelled", "max-z", "greedy"]
DECODERS: tuple[Decoder, ...] = ("map", "mbr", "mbr-labelled", "max-z", "greedy")
Device = Literal["auto", "cpu", "cuda"]
MAX_BEAM = 64
MAX_K_BEST = 1_000_000
MAX_ALTERNATIVES = 1000
MAX_WORDS = 10_000_000

Kept = Literal["lemma", "upos", "xpos", "feats", "head", "deprel", "deps"]
KEPT: tuple[Kept, ...] = ("lemma", "upos", "xpos", "feats", "head", "deprel", "deps")
"""The columns whose values can be kept: all that parsers and pipelines write."""
TAGS: tuple[Kept, ...] = ("lemma", "upos", "xpos", "feats")
"""The columns that a tagger writes."""
SentenceConstraints = Sequence[Constraints | None] | None
"""Constraints on the tree of each sentence of a treebank, or None."""


@dataclass(frozen=True)
class Capabilities:
    """The parse options, outputs and kinds of training data that a parser supports; it rejects all others."""

    decoders: tuple[Decoder, ...] = ()
    """The supported values of ``decode``; empty if there is only one way to decode."""
    projective: tuple[bool, ...] = ()
    """The supported values of ``projective``."""
    single_root: tuple[bool, ...] = ()
    """The supported values of ``single_root``."""
    k_best: bool = False
    confidence: bool = False
    keep: tuple[Kept, ...] = TAGS
    """The columns whose values it can keep."""
    constraints: bool = False
    """Whether it supports ``Constraints`` from Python and ``misc_constraints``."""
    alternatives: bool = False
    """Whether it gives alternative heads and labels for each word."""
    legal: bool = False
    """Whether it parses under rules (``LegalRules``)."""
    beam: bool = False
    device: bool = False
    """Whether it runs in torch, on a selectable device."""
    distributions: bool = False
    """Whether ``distributions(treebank)`` gives the distribution over all trees of each sentence."""
    supervised: bool = True
    """Whether it is trained on trees or graphs; otherwise on tags alone (grammar induction)."""
    partial_trees: bool = False
    """Whether it can be trained on sentences with unknown heads."""
    writes: Literal["trees", "graphs"] = "trees"
    """Trees go to HEAD and DEPREL, graphs to DEPS."""

    @property
    def keep_heads(self) -> bool:
        """Whether it can keep heads and labels."""
        return {"head", "deprel"} <= set(self.keep)


def _check_legal(value: object) -> None:
    from arcwise.parsing.legal import check_legal

    check_legal(value)


@dataclass(frozen=True)
class ParseOptions:
    """Options of a parse. None means: as chosen in training.

    A parser rejects options that it does not support (``check``); it never ignores one silently.
    """

    decode: Decoder | None = option(
        None,
        "Decoder: map, the highest-scoring tree; mbr, minimum Bayes risk for heads; mbr-labelled, minimum "
        "Bayes risk for heads and labels; max-z, the best tree with its best latent clusters; greedy, the "
        "best head of each word, which need not be a tree.",
    )
    projective: bool | None = option(None, "Require projective trees (no crossing arcs).")
    single_root: bool | None = option(None, "Require exactly one root.")
    k_best: int = option(
        1,
        "Number of best trees per sentence, written as separate sentences, best first.",
        low=1,
        high=MAX_K_BEST,
    )
    confidence: bool = option(
        False,
        "Write confidences: HeadProb and DeprelProb in MISC, tree_prob and tree_entropy in comments.",
    )
    keep: tuple[Kept, ...] = option(
        (),
        "Columns whose values (other than _) are kept; tagger and parser predict the rest given them.",
    )
    keep_heads: bool = option(False, "Keep the heads and labels of the input; same as keep = head, deprel.")
    misc_constraints: bool = option(
        False, "Obey constraints in the MISC column: Head=3, NotHead=2,5 or Deprel=obj."
    )
    alternatives: int = option(
        0,
        "Write this many most probable head-label pairs per word in MISC "
        "(Alternatives=HEAD:DEPREL:PROBABILITY,…).",
        low=0,
        high=MAX_ALTERNATIVES,
    )
    # An object of arcwise.factors, which parsing without rules does not import.
    legal: object | None = option(
        None,
        "Rules that trees must obey: ud, the guidelines of Universal Dependencies (one subject and one "
        "object per word, function words with few dependents); learned, what the training treebank never "
        "violates; or a TOML file.",
        check=_check_legal,
        form="ud, learned or a file",
    )
    beam: int | None = option(None, "Beam size of a transition-based parser.", low=1, high=MAX_BEAM)
    max_words: int = option(
        1000,
        "Parse longer sentences in pieces, cut at punctuation (noted in the comment parse_note). "
        "Transition-based parsers, which take linear time, ignore it.",
        low=1,
        high=MAX_WORDS,
    )
    device: Device | None = option(
        None,
        "Device for the transformer of a neural parser (default: auto, a GPU if available).",
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)

    def check(self, kind: str, capabilities: Capabilities) -> None:
        """Raise ``OptionError`` for an option that such a parser of ``kind`` does not support."""
        supported = {
            "decode": self.decode in capabilities.decoders,
            "projective": self.projective in capabilities.projective,
            "single_root": self.single_root in capabilities.single_root,
            "k_best": capabilities.k_best,
            "confidence": capabilities.confidence,
            "keep_heads": capabilities.keep_heads,
            "misc_constraints": capabilities.constraints,
            "alternatives": capabilities.alternatives,
            "legal": capabilities.legal,
            "beam": capabilities.beam,
            "device": capabilities.device,
        }
        self.reject(kind, *(name for name, is_supported in supported.items() if not is_supported))
        lacking = [column for column in self.keep if column not in capabilities.keep]
        if lacking:
            raise OptionError(
                "keep",
                f"found {', '.join(lacking)}, which a {kind} parser does not keep (it keeps "
                f"{', '.join(capabilities.keep)})",
            )
        if self.legal is not None and self.k_best > 1:
            raise OptionError("legal", f"found {self.legal!r} with k_best={self.k_best}, expected one tree")

    @property
    def kept(self) -> frozenset[Kept]:
        """The columns to keep."""
        return frozenset((*self.keep, *(("head", "deprel") if self.keep_heads else ())))

    def reject(self, kind: str, *names: str) -> None:
        """Raise ``OptionError`` if any of these options is set: a parser of ``kind`` does not support it."""
        values = changed(self)
        for name in names:
            if name in values:
                raise OptionError(name, f"found {values[name]}, which a {kind} parser does not support")


def check_threads(threads: int) -> None:
    """Raise ``OptionError`` unless the number of threads is a whole number from 1."""
    if isinstance(threads, bool) or not isinstance(threads, int | np.integer) or threads < 1:
        raise OptionError("threads", f"found {threads!r}, expected a whole number, at least 1")


def reject_constraints(kind: str, constraints: SentenceConstraints) -> None:
    """Raise ``OptionError`` if there are any: a parser of ``kind`` does not support them."""
    if constraints is not None and any(sentence is not None for sentence in constraints):
        raise OptionError("constraints", f"found some, which a {kind} parser does not support")


@runtime_checkable
class Parser(Protocol):
    """A trained parser. ``kind`` names the kind of its model file; ``arcwise.models`` opens any kind."""

    kind: ClassVar[str]

    def pack(self, precision: Precision = "float32") -> Packed:
        """The parser as plain values, as in its model file."""
        ...

    def save(self, path: PathLike, *, precision: Precision = "float32") -> None:
        """Write the model file atomically."""
        ...

    def parse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Treebank:
        """The treebank with predicted HEAD and DEPREL, and the additional output that the options ask for.

        ``constraints``: constraints on the tree of each sentence, or None. All other columns and comments are
        unchanged.
        """
        ...

    def analyse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Analysis:
        """Like ``parse``, but also returns trees and probabilities as arrays, for one tree per sentence."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """The capabilities of this parser."""
        ...

    @property
    def info(self) -> Mapping[str, Any]:
        """Configuration, training data, scores and sizes of the model."""
        ...
