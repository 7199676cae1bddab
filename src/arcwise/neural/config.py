"""Training options of the neural parser, and the check of its device."""

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
Objective = Literal["likelihood", "softmax-margin", "hinge", "risk", "head-by-head"]
TagColumn = Literal["upos", "xpos", "feats", "lemma"]

INPUTS = (
    "lower",
    *(f"prefix{length}" for length in (1, 2, 3)),
    *(f"suffix{length}" for length in (1, 2, 3, 4, 5)),
    "shape",
    "upos",
)
"""Default input features of a word."""

_SIZES: dict[Size, dict[str, int]] = {
    "small": {"layers": 2, "hidden": 128, "arc_size": 128, "label_size": 64},
    "base": {"layers": 3, "hidden": 256, "arc_size": 256, "label_size": 96},
    "large": {"layers": 3, "hidden": 400, "arc_size": 400, "label_size": 100},
}
"""Layer sizes of each named network size."""
_SMALL, _LARGE = 30_000, 200_000
"""Words of a small and of a large treebank; size-dependent defaults are interpolated between them."""
_MIN_STEPS, _MIN_BATCH_WORDS = 15, 150
"""A small treebank gets at least this many batches per epoch, each of at least this many words."""
_BY_WORDS: dict[str, tuple[float, float]] = {
    "dropout": (0.45, 0.33),
    "word_dropout": (0.4, 0.25),
    "epochs": (200, 120),
    "batch_words": (2000, 5000),
}
"""Option → default for a small and for a large treebank."""
_TRANSFORMER_BY_WORDS: dict[str, tuple[float, float]] = {
    "dropout": (0.33, 0.33),
    "epochs": (40, 15),
    "batch_words": (500, 1000),
}
"""The same for a pretrained transformer, which needs fewer epochs (Kondratyuk & Straka 2019)."""
_RECURRENT = (
    *("inputs", "rare", "word_size", "affix_size", "tag_size", "layers", "hidden"),
    *("word_dropout", "affix_dropout", "tag_dropout"),
)
"""Options of the embeddings and LSTMs, which a transformer replaces."""


def _check_input(name: str) -> None:
    try:
        check_atom(name)
    except ValueError as error:
        raise InputError(str(error)) from error


def _check_folder_name(name: str) -> None:
    if not name.strip():
        raise InputError(f"found {name!r}, expected a folder name")


@dataclass(frozen=True)
class NeuralConfig:
    """Options of ``arcwise train --parser neural``; a TOML file can set each of them.

    >>> NeuralConfig(size="small").resolved(words=200_000).hidden
    128
    """

    size: Size = option(
        "base",
        "Network size: small (2 LSTM layers of 128 units per direction, for one core), base (3 of 256) or "
        "large (3 of 400).",
    )
    objective: Objective = option(
        "likelihood",
        "Training objective: likelihood (negative log-likelihood of the tree), softmax-margin (the same with "
        "cost-augmented scores), hinge (structured hinge loss), risk (expected number of wrong heads and "
        "labels, after half the epochs of likelihood) or head-by-head (cross-entropy over each word's heads, "
        "without a tree constraint). Labels "
        "are trained jointly.",
    )
    projective: bool = option(
        False,
        "Train on projective trees only; parsing uses the same class of trees by default.",
    )
    single_root: bool = option(True, "Require exactly one word attached to the root.")
    labelled: bool = option(True, "Predict labels (DEPREL).")
    order: int = option(
        1,
        "Order: 2 scores pairs of adjacent siblings besides arcs, and trains and sums over projective trees.",
        low=1,
        high=2,
    )
    clusters: int = option(1, "Latent clusters per label, summed out.", low=1, high=64)
    ensemble: int = option(
        1, "Ensemble size: networks trained with different seeds, whose scores are averaged.", low=1, high=64
    )
    seed: int = option(
        1, "Random seed; the same seed gives the same model on the same device.", low=0, high=SEEDS
    )
    device: Device = option("auto", "Training device; auto uses a GPU if one is available.")
    epochs: int | None = option(
        None, "Training epochs (default: chosen from the treebank's size).", low=1, high=10_000
    )
    patience: int = option(
        0,
        "Early stopping: epochs without improvement on the development data before training stops "
        "(0 disables it).",
        low=0,
        high=10_000,
    )

    inputs: tuple[str, ...] = option(
        INPUTS,
        "Input features of a word, each with an embedding table.",
        check=_check_input,
        form="an atom such as lower, suffix3, shape, upos, feats.Case or misc.KEY",
    )
    learns: tuple[TagColumn, ...] = option(
        (),
        "Columns predicted jointly with the trees (multi-task); the inputs may contain another tagger's "
        "predictions of them.",
    )
    encoder: str | None = option(
        None,
        "Folder of a pretrained transformer to fine-tune as the encoder, in place of embeddings and LSTMs. "
        "Parsing then needs torch and transformers, but not the folder.",
        check=_check_folder_name,
        form="a folder with config.json, model.safetensors and tokenizer.json",
    )
    encoder_rate: float = option(5e-5, "Peak learning rate of the transformer's weights.", above=0)
    encoder_layers: int = option(1, "Number of final transformer layers to average.", low=1, high=1000)
    rare: int = option(
        1,
        "Words and affixes with at most this many training occurrences count as unknown.",
        low=0,
        high=1_000_000,
    )
    word_size: int = option(100, "Word-embedding size (forms and lemmas).", low=1, high=4096)
    affix_size: int = option(32, "Embedding size of prefixes, suffixes and shapes.", low=1, high=4096)
    tag_size: int = option(50, "Tag-embedding size.", low=1, high=4096)
    layers: int | None = option(None, "LSTM layers (default: by size).", low=1, high=16)
    hidden: int | None = option(None, "LSTM units per direction (default: by size).", low=1, high=4096)
    arc_size: int | None = option(
        None,
        "Size of a word's arc representation, as head and as dependent (default: by size).",
        low=1,
        high=4096,
    )
    label_size: int | None = option(
        None,
        "Size of a word's label representation, as head and as dependent (default: by size).",
        low=1,
        high=4096,
    )
    sibling_size: int = option(
        64,
        "Order 2: size of a word's representations as head, inner and outer sibling.",
        low=1,
        high=4096,
    )

    dropout: float | None = option(
        None,
        "Dropout rate, with one mask per sentence (default: chosen from the treebank's size).",
        low=0,
        below=1,
    )
    word_dropout: float | None = option(
        None,
        "Word dropout: fraction of forms replaced by the unknown word in training (default: chosen from the "
        "treebank's size).",
        low=0,
        below=1,
    )
    affix_dropout: float = option(0.1, "Word dropout of affixes and shapes.", low=0, below=1)
    tag_dropout: float = option(0.1, "Word dropout of tags.", low=0, below=1)
    batch_words: int | None = option(
        None, "Words per batch (default: chosen from the treebank's size).", low=1, high=1_000_000
    )
    learning_rate: float = option(3e-3, "Peak learning rate (AdamW).", above=0)
    weight_decay: float = option(0.0, "Weight decay.", low=0)
    warm_up: int = option(
        200, "Warm-up steps; the learning rate then follows a cosine decay.", low=0, high=1_000_000
    )
    gradient_norm: float = option(5.0, "Clip gradients to this norm.", above=0)
    average: float = option(
        0.998, "EMA decay: development data and the final model use averaged weights.", low=0, below=1
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)
        if not self.inputs:
            raise OptionError("inputs", "found none, expected at least one")
        if len(set(self.inputs)) < len(self.inputs):
            raise OptionError("inputs", f"found {', '.join(self.inputs)}, expected each once")
        if self.order == 2:
            self._check_second_order()

    def _check_second_order(self) -> None:
        if self.objective != "likelihood":
            raise OptionError("objective", f"found {self.objective!r} with order 2, expected likelihood")
        if self.encoder:
            raise OptionError("encoder", "found a transformer with order 2, expected none")

    def resolved(self, words: int) -> NeuralConfig:
        """Replace ``None`` by the default for this size and a treebank of ``words`` words.

        Options that the chosen encoder does not read stay ``None``. Order 2 implies projective trees.
        """
        # Treebank sizes differ by orders of magnitude, so interpolate on a logarithmic scale.
        share = np.clip(np.log(max(words, 1) / _SMALL) / np.log(_LARGE / _SMALL), 0, 1)
        chosen: dict[str, float] = dict(_SIZES[self.size])
        for name, (small, large) in (_TRANSFORMER_BY_WORDS if self.encoder else _BY_WORDS).items():
            value = small + share * (large - small)
            chosen[name] = round(float(value), 3) if name.endswith("dropout") else round(float(value))
        chosen["batch_words"] = min(chosen["batch_words"], max(words // _MIN_STEPS, _MIN_BATCH_WORDS))
        missing = {f.name for f in fields(self) if getattr(self, f.name) is None}
        missing -= set(_RECURRENT) if self.encoder else set()
        defaults = {name: value for name, value in chosen.items() if name in missing}
        projective = self.projective or self.order == 2
        return replace(self, projective=projective, **defaults)  # type: ignore[arg-type]

    @property
    def sizes(self) -> tuple[int, int, int, int]:
        """Layers, hidden units, arc size and label size of a resolved configuration."""
        return self.layers or 0, self.hidden or 0, self.arc_size or 0, self.label_size or 0

    def vector_size(self, atom: str) -> int:
        """Embedding size of an input feature."""
        if is_word(atom):
            return self.word_size
        return self.affix_size if is_affix(atom) else self.tag_size

    def check_distillation(self) -> None:
        """Raise ``OptionError`` if the objective cannot use a teacher's probabilities."""
        if self.objective != "likelihood":
            raise OptionError(
                "objective",
                f"found {self.objective!r} with a teacher, expected likelihood, which learns probabilities",
            )
        if self.order == 2:
            raise OptionError("order", "found 2 with a teacher, expected 1: soft targets are of arcs")

    def refuse_unread(self) -> None:
        """Check everything that can be checked before training starts.

        Raises ``OptionError`` for an option that has no effect or a missing device or transformer, and
        ``MissingExtraError`` without torch.
        """
        unread = {}
        if not self.labelled:
            unread["clusters"] = "without labels there are no clusters"
        if self.order == 1:
            unread["sibling_size"] = "order 1 scores no siblings"
        if self.encoder:
            unread |= dict.fromkeys(_RECURRENT, "a transformer (encoder) replaces embeddings and LSTMs")
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
