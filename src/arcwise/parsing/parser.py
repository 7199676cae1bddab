"""``Parser``: what every trained parser can do, whatever it is inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

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
"""Those that a tagger writes, and no parser."""
SentenceConstraints = Sequence[Constraints | None] | None
"""What is decided of each sentence of a treebank before it is parsed; None: nothing."""


@dataclass(frozen=True)
class Capabilities:
    """What a parser can do: the options of a parse that it takes, what it gives, what it learns from. What it
    lacks it refuses."""

    decoders: tuple[Decoder, ...] = ()
    """The values of ``decode``; empty: it has one way to decode, and no choice."""
    projective: tuple[bool, ...] = ()
    """The values of ``projective`` that can be asked for."""
    single_root: tuple[bool, ...] = ()
    """The values of ``single_root`` that can be asked for."""
    k_best: bool = False
    confidence: bool = False
    keep: tuple[Kept, ...] = TAGS
    """The columns whose values can be kept."""
    constraints: bool = False
    """Whether it parses under ``Constraints``: those of Python, and ``misc_constraints``."""
    alternatives: bool = False
    """Whether it tells the heads and labels that a word may have besides those of the tree."""
    beam: bool = False
    device: bool = False
    """Whether it runs in torch, on a device that can be chosen."""
    distributions: bool = False
    """Whether ``distributions(treebank)`` gives the distribution over all trees of every sentence."""
    supervised: bool = True
    """Whether it learns from trees or graphs; otherwise from tags alone."""
    partial_trees: bool = False
    """Whether it learns from sentences in which some heads are unknown."""
    writes: Literal["trees", "graphs"] = "trees"
    """Trees go to HEAD and DEPREL, graphs to DEPS."""

    @property
    def keep_heads(self) -> bool:
        """Whether heads and labels can be kept."""
        return {"head", "deprel"} <= set(self.keep)


@dataclass(frozen=True)
class ParseOptions:
    """What a user may ask of a parse. None means: as the model was trained.

    A parser that cannot do something asked for says so (``check``); it never ignores an option silently.
    """

    decode: Decoder | None = option(
        None,
        "Decoder: map, the highest-scoring tree; mbr, minimum Bayes risk for heads; mbr-labelled, minimum "
        "Bayes risk for "
        "heads and labels; max-z, the best tree with its best latent clusters; greedy, the best head of each "
        "word, which "
        "need not be a tree.",
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
    beam: int | None = option(None, "Beam size of a transition-based parser.", low=1, high=MAX_BEAM)
    max_words: int = option(
        1000,
        "Parse longer sentences in pieces, cut at punctuation (noted in the comment parse_note). "
        "Transition-based "
        "parsers, which take linear time, ignore it.",
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
        """Raise ``InputError`` if something is asked for that a parser of ``kind``, with these capabilities,
        does not have."""
        able = {
            "decode": self.decode in capabilities.decoders,
            "projective": self.projective in capabilities.projective,
            "single_root": self.single_root in capabilities.single_root,
            "k_best": capabilities.k_best,
            "confidence": capabilities.confidence,
            "keep_heads": capabilities.keep_heads,
            "misc_constraints": capabilities.constraints,
            "alternatives": capabilities.alternatives,
            "beam": capabilities.beam,
            "device": capabilities.device,
        }
        self.reject(kind, *(name for name, has in able.items() if not has))
        lacking = [column for column in self.keep if column not in capabilities.keep]
        if lacking:
            raise OptionError(
                "keep",
                f"found {', '.join(lacking)}, which a {kind} parser does not keep (it keeps "
                f"{', '.join(capabilities.keep)})",
            )

    @property
    def kept(self) -> frozenset[Kept]:
        """The columns to keep."""
        return frozenset((*self.keep, *(("head", "deprel") if self.keep_heads else ())))

    def reject(self, kind: str, *names: str) -> None:
        """Raise ``OptionError`` if any of the named options is set: a parser of ``kind`` does not have it."""
        found = changed(self)
        for name in names:
            if name in found:
                raise OptionError(name, f"found {found[name]}, which a {kind} parser does not have")


def reject_constraints(kind: str, constraints: SentenceConstraints) -> None:
    """Raise ``OptionError`` if there are any: a parser of ``kind`` cannot obey them."""
    if constraints is not None and any(own is not None for own in constraints):
        raise OptionError("constraints", f"found some, which a {kind} parser does not have")


@runtime_checkable
class Parser(Protocol):
    """A trained parser. ``kind`` is the kind of its model file; ``arcwise.models`` opens a file of any
    kind."""

    kind: ClassVar[str]

    def pack(self, precision: Precision = "float32") -> Packed:
        """The parser as plain values: what its model file holds."""
        ...

    def save(self, path: PathLike, *, precision: Precision = "float32") -> None:
        """Write the model file; it appears whole or not at all."""
        ...

    def parse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Treebank:
        """The treebank with HEAD and DEPREL replaced (and what the options ask for); nothing else changes.

        ``constraints``: for each sentence what its tree must obey, or None.
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
        """``parse``, and the trees with their probabilities as arrays where the parser gives one tree a
        sentence."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What this parser can do."""
        ...

    @property
    def info(self) -> Mapping[str, Any]:
        """What the model is: configuration, data it was trained on, scores, sizes."""
        ...
