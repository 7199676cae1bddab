"""``NeuralConfig``: everything that can be chosen when a neural parser is trained."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np

from arcwise.errors import InputError, OptionError
from arcwise.learning.options import SEEDS, check_options, option, refuse_unread, short_repr
from arcwise.native import check_atom
from arcwise.neural.inputs import is_affix, is_word
from arcwise.optional import require
from arcwise.parsing.parser import Device

Size = Literal["small", "base", "large"]
Objective = Literal["likelihood", "softmax-margin", "hinge", "head-by-head"]
TagColumn = Literal["upos", "xpos", "feats", "lemma"]

INPUTS = (
    "lower",
    *(f"prefix{length}" for length in (1, 2, 3)),
    *(f"suffix{length}" for length in (1, 2, 3, 4, 5)),
    "shape",
    "upos",
)
"""What a network sees of a word unless told otherwise."""

_SIZES: dict[Size, dict[str, int]] = {
    "small": {"layers": 2, "hidden": 128, "arc_size": 128, "label_size": 64},
    "base": {"layers": 3, "hidden": 256, "arc_size": 256, "label_size": 96},
    "large": {"layers": 3, "hidden": 400, "arc_size": 400, "label_size": 100},
}
"""Size → what it stands for."""
_FEW, _MANY = 30_000, 200_000
"""Words of a small and of a large treebank: what depends on the size goes from one value to the other between them."""
_STEPS, _LEAST = 15, 150
"""A small treebank is cut into so many batches an epoch, of at least so many words."""
_BY_WORDS: dict[str, tuple[float, float]] = {
    "dropout": (0.45, 0.33),
    "word_dropout": (0.4, 0.25),
    "epochs": (200, 120),
    "batch_words": (2000, 5000),
}
"""Option → its value for a small and for a large treebank."""
_TRANSFORMER_BY_WORDS: dict[str, tuple[float, float]] = {
    "dropout": (0.33, 0.33),
    "epochs": (40, 15),
    "batch_words": (500, 1000),
}
"""The same with a transformer as encoder; as others have it (Kondratyuk & Straka 2019), for it has learned before."""
_RECURRENT = (
    *("inputs", "rare", "word_size", "affix_size", "tag_size", "layers", "hidden"),
    *("word_dropout", "affix_dropout", "tag_dropout"),
)
"""Options of tables and LSTMs."""


def _check_input(name: str) -> None:
    try:
        check_atom(name)
    except ValueError as error:
        raise InputError(str(error)) from error


def _check_folder_name(name: str) -> None:
    if not name.strip():
        raise InputError(f"found {name!r}, expected the name of a folder")


@dataclass(frozen=True)
class NeuralConfig:
    """Options of ``arcwise train --parser neural``; a TOML file may set any of them.

    >>> NeuralConfig(size="small").resolved(words=200_000).hidden
    128
    """

    size: Size = option(
        "base",
        "small: two layers of 128 units a direction, for one core; base: three of 256; large: three of 400.",
    )
    objective: Objective = option(
        "likelihood",
        "likelihood: -log P(tree); softmax-margin: the same with the costs of wrong arcs added; hinge: the margin by which the worst tree, its "
        "cost added, is ahead; head-by-head: a softmax over the heads of each word, whatever the tree. Labels of arcs are learned beside.",
    )
    projective: bool = option(
        False,
        "Whether the trees of training may have no crossing arcs; parsing uses the same unless told otherwise.",
    )
    single_root: bool = option(True, "Whether exactly one word has the root as its head.")
    labelled: bool = option(True, "Whether arcs have labels (DEPREL).")
    clusters: int = option(1, "How many latent clusters each label has; they are summed out.", low=1, high=64)
    ensemble: int = option(
        1, "Networks, each from a seed of its own, whose scores are averaged.", low=1, high=64
    )
    seed: int = option(1, "The same seed gives the same model on the same device.", low=0, high=SEEDS)
    device: Device = option("auto", "Where it is trained; auto: on a GPU if there is one that can be used.")
    epochs: int | None = option(
        None, "Passes over the training data. None: by the size of the treebank.", low=1, high=10_000
    )
    patience: int = option(
        0,
        "Stop after so many epochs without a better score on the development data; 0 never stops early.",
        low=0,
        high=10_000,
    )

    inputs: tuple[str, ...] = option(
        INPUTS,
        "What the network sees of a word, each by a table of vectors.",
        check=_check_input,
        form="an atom such as lower, suffix3, shape, upos, feats.Case or misc.KEY",
    )
    learns: tuple[TagColumn, ...] = option(
        (),
        "Columns that the network learns to fill in beside the trees; what it sees of them (inputs) may be another tagger's guess.",
    )
    encoder: str | None = option(
        None,
        "A folder with a transformer, which reads the words instead of tables and LSTMs and is fine-tuned. Parsing then needs torch and "
        "transformers, but not the folder.",
        check=_check_folder_name,
        form="a folder with config.json, model.safetensors and tokenizer.json",
    )
    encoder_rate: float = option(
        5e-5, "The largest step of the optimiser for the weights of the transformer.", above=0
    )
    encoder_layers: int = option(
        1, "The vector of a piece is the mean of so many last layers of the transformer.", low=1, high=1000
    )
    rare: int = option(
        1, "Words and affixes that training has at most so often count as unknown.", low=0, high=1_000_000
    )
    word_size: int = option(100, "Numbers in the vector of a form or lemma.", low=1, high=4096)
    affix_size: int = option(32, "Numbers in the vector of a prefix, a suffix or a shape.", low=1, high=4096)
    tag_size: int = option(50, "Numbers in the vector of a tag.", low=1, high=4096)
    layers: int | None = option(None, "Layers of the encoder. None: by size.", low=1, high=16)
    hidden: int | None = option(None, "Units of a layer, in each direction. None: by size.", low=1, high=4096)
    arc_size: int | None = option(
        None, "Numbers that a word has as a head, and as a dependent. None: by size.", low=1, high=4096
    )
    label_size: int | None = option(
        None, "The same where labels are scored. None: by size.", low=1, high=4096
    )

    dropout: float | None = option(
        None,
        "Share of a vector's numbers that are left out in training, the same in the whole sentence. None: by the size of the treebank.",
        low=0,
        below=1,
    )
    word_dropout: float | None = option(
        None,
        "Share of forms that are taken for unknown ones in training. None: by the size of the treebank.",
        low=0,
        below=1,
    )
    affix_dropout: float = option(0.1, "The same of affixes and shapes.", low=0, below=1)
    tag_dropout: float = option(0.1, "The same of tags.", low=0, below=1)
    batch_words: int | None = option(
        None, "Words of a batch. None: by the size of the treebank.", low=1, high=1_000_000
    )
    learning_rate: float = option(3e-3, "The largest step of the optimiser (AdamW).", above=0)
    weight_decay: float = option(0.0, "By which share of a step weights shrink.", low=0)
    warm_up: int = option(
        200, "Steps in which the learning rate rises; then it falls as a cosine.", low=0, high=1_000_000
    )
    gradient_norm: float = option(5.0, "Gradients that are longer are made as long as this.", above=0)
    average: float = option(
        0.998, "Share of the averaged weights that stays from step to step.", low=0, below=1
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)
        if not self.inputs:
            raise OptionError("inputs", "found none, expected at least one")
        if len(set(self.inputs)) < len(self.inputs):
            raise OptionError("inputs", f"found {', '.join(self.inputs)}, expected each once")

    def resolved(self, words: int) -> NeuralConfig:
        """The same with a value wherever ``None`` stood, as the size and a treebank of so many words want it; options that nothing reads
        stay ``None``."""
        share = np.clip(np.log(max(words, 1) / _FEW) / np.log(_MANY / _FEW), 0, 1)
        chosen: dict[str, float] = dict(_SIZES[self.size])
        for name, (few, many) in (_TRANSFORMER_BY_WORDS if self.encoder else _BY_WORDS).items():
            value = few + share * (many - few)
            chosen[name] = round(float(value), 3) if name.endswith("dropout") else round(float(value))
        chosen["batch_words"] = min(chosen["batch_words"], max(words // _STEPS, _LEAST))
        missing = {f.name for f in fields(self) if getattr(self, f.name) is None}
        missing -= set(_RECURRENT) if self.encoder else set()
        return replace(self, **{name: value for name, value in chosen.items() if name in missing})  # type: ignore[arg-type]

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Layers, hidden units, sizes of arcs and of labels, once they are ``resolved``."""
        found = (self.layers, self.hidden, self.arc_size, self.label_size)
        layers, hidden, arc_size, label_size = (size or 0 for size in found)
        return layers, hidden, arc_size, label_size

    def vector_size(self, atom: str) -> int:
        """Numbers in the vector of an atom."""
        if is_word(atom):
            return self.word_size
        return self.affix_size if is_affix(atom) else self.tag_size

    def check_distillation(self) -> None:
        """``OptionError`` if a parser with this objective cannot learn from a teacher's probabilities."""
        if self.objective != "likelihood":
            raise OptionError(
                "objective",
                f"found {self.objective!r} with a teacher, expected likelihood: it learns from probabilities",
            )

    def refuse_unread(self) -> None:
        """``OptionError`` if an option is set that training will not read, a device or a transformer that is not there; ``MissingExtraError``
        without torch: asked before a parser is trained."""
        unread = {}
        if not self.labelled:
            unread["clusters"] = "without labels there are no clusters"
        if self.encoder:
            unread |= dict.fromkeys(_RECURRENT, "a transformer (encoder) has no tables and LSTMs")
        else:
            unread |= dict.fromkeys(("encoder_rate", "encoder_layers"), "there is no transformer (encoder)")
        refuse_unread(self, unread)
        check_device(self.device)
        if self.encoder:
            from arcwise.neural.pretrained import check_folder

            check_folder(self.encoder)


def check_device(name: str) -> str:
    """Return ``cpu`` or ``cuda`` for ``auto``, ``cpu`` or ``cuda``.

    Raises ``MissingExtraError`` without torch and ``OptionError`` if ``cuda`` is requested but not available.
    """
    require("torch")
    import torch

    if name == "cuda" and not torch.cuda.is_available():
        raise OptionError("device", "found cuda, but torch finds no GPU here; expected cpu or auto")
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    return name
