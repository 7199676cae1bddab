"""Per-word results: which words are scored, and which heads and labels are correct."""

from __future__ import annotations

import unicodedata
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from arcwise.errors import InputError
from arcwise.evaluation.conll18 import Alignment, align, same_heads
from arcwise.evaluation.words import Codebook, Flags, Ints, WordColumns, without_subtype
from arcwise.treebanks import Treebank

Punctuation = Literal["count", "skip", "skip-label"]
Subtypes = Literal["keep", "cut"]

PUNCTUATION_TAGS = ("PUNCT", ".")  # of UD, and of the universal tags before it (Petrov et al. 2012)


@dataclass(frozen=True)
class Options:
    """Scoring options. The defaults are those of UD; the Penn Treebank usually has ``punctuation="skip"``.

    ``punctuation``: ``"count"`` scores it; ``"skip"`` skips words with UPOS PUNCT or, where gold has no
    UPOS, forms of Unicode punctuation; ``"skip-label"`` skips words with the gold label punct.
    ``subtypes``: ``"cut"`` compares nsubj for nsubj:pass, ``"keep"`` the whole label.

    >>> print(Options())
    punctuation counted, label subtypes cut
    """

    punctuation: Punctuation = "count"
    subtypes: Subtypes = "cut"

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("punctuation", self.punctuation, get_args(Punctuation)),
            ("subtypes", self.subtypes, get_args(Subtypes)),
        ):
            if value not in choices:
                raise InputError(f"{name}: found {value!r}, expected one of {', '.join(choices)}")

    def __str__(self) -> str:
        punctuation = {
            "count": "punctuation counted",
            "skip": "punctuation skipped",
            "skip-label": "words labelled punct skipped",
        }
        return (
            f"{punctuation[self.punctuation]}, label subtypes {'cut' if self.subtypes == 'cut' else 'kept'}"
        )

    def to_json(self) -> dict[str, str]:
        """The options by name."""
        return asdict(self)


@dataclass(frozen=True)
class Verdicts:
    """Gold words and the corresponding system output. Gold words missing in the system output are errors."""

    gold: WordColumns
    system: WordColumns
    alignment: Alignment
    options: Options

    @classmethod
    def of(cls, gold: WordColumns, system: Treebank, options: Options) -> Verdicts:
        """Align the words of a system with ``gold``, which can be shared between systems."""
        words = WordColumns(system, gold.codebook)
        return cls(gold, words, align(gold, words), options)

    @cached_property
    def scored(self) -> Flags:
        """Shape (W,): whether a gold word is scored."""
        return ~_punctuation(self.gold, self.options)

    @cached_property
    def head_right(self) -> Flags:
        """Shape (W,): whether the head of a gold word is correct."""
        return self._of_gold(same_heads(self.gold, self.system, self.alignment))

    @cached_property
    def label_right(self) -> Flags:
        """Shape (W,): whether the label of a gold word is correct, regardless of the head."""
        gold, system = self.gold_labels[self.alignment.gold], self.system_labels[self.alignment.system]
        return self._of_gold(gold == system)

    @cached_property
    def arc_right(self) -> Flags:
        """Shape (W,): whether head and label of a gold word are correct."""
        return self.head_right & self.label_right

    @property
    def gold_labels(self) -> Ints:
        """The gold labels as compared, coded."""
        return _labels(self.gold, self.options)

    @property
    def system_labels(self) -> Ints:
        """The system's labels as compared, coded."""
        return _labels(self.system, self.options)

    @cached_property
    def system_scored(self) -> Flags:
        """Whether a system word is scored: like its gold word, or by its own tag if it is not aligned."""
        # Precision needs a decision on every system word, also on those without a gold word.
        scored = ~_punctuation(self.system, self.options)
        scored[self.alignment.system] = self.scored[self.alignment.gold]
        return scored

    def of_system(self, right: Flags) -> Flags:
        """Map flags from gold words to system words; false for words that are not aligned."""
        out = np.zeros(len(self.system), bool)
        out[self.alignment.system] = right[self.alignment.gold]
        return out

    def _of_gold(self, of_pairs: Flags) -> Flags:
        out = np.zeros(len(self.gold), bool)
        out[self.alignment.gold] = of_pairs
        return out


def verdicts(gold: Treebank, system: Treebank, options: Options | None = None) -> Verdicts:
    """Align a system with gold; the input of ``attachment`` and of the breakdowns."""
    return Verdicts.of(WordColumns(gold, Codebook()), system, options or Options())


def _labels(words: WordColumns, options: Options) -> Ints:
    return words.universal_label if options.subtypes == "cut" else words.label


def _punctuation(words: WordColumns, options: Options) -> Flags:
    """Mask of words to skip as punctuation."""
    if options.punctuation == "count":
        return np.zeros(len(words), bool)
    if options.punctuation == "skip-label":
        return words.column("deprel", lambda label: without_subtype(label) == "punct").astype(bool)
    tagged = words.column("upos", lambda tag: tag in PUNCTUATION_TAGS).astype(bool)
    untagged = words.column("upos", lambda tag: tag == "_").astype(bool)
    punctuation: Flags = tagged | (untagged & words.column("form", is_punctuation).astype(bool))
    return punctuation


def is_punctuation(form: str) -> bool:
    """Whether a form consists of Unicode punctuation, including `` ` ``, the Penn Treebank's opening quote.

    >>> is_punctuation("``"), is_punctuation("?!"), is_punctuation("U.S.")
    (True, True, False)
    """
    return form != "" and all(c == "`" or unicodedata.category(c).startswith("P") for c in form)
