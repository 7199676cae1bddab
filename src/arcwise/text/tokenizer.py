"""``Tokenizer``: splits raw text into words and sentences, trained on a treebank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError, ModelError
from arcwise.features.look_alikes import LookAlikes
from arcwise.learning.model_file import Packable, Packed, Precision
from arcwise.learning.options import check_options, option, short_repr
from arcwise.text.linear import (
    DAMPING,
    EPOCHS,
    L2,
    MAX_COUNT,
    MIN_COUNT,
    NEGLIGIBLE,
    PRUNE,
    RATE,
    LinearTraining,
    get,
    pack_keys,
    pack_linear,
    unpack_keys,
    unpack_linear,
)
from arcwise.text.multiword import MultiwordTable, learn_multiword, set_table
from arcwise.text.plain_text import PlainText, plain_text
from arcwise.text.sentence_bias import choose_bias
from arcwise.treebanks import Treebank

if TYPE_CHECKING:
    from typing import Self


RULES = ("whole_addresses", "cut_addresses_out", "single_signs", "cut_names_out")
"""Rules that apply unless the training data contradict them; see native/kernels/text/tokenizer.hpp."""


@dataclass(frozen=True)
class TokenizerConfig:
    """Training options of the tokenizer.

    Defaults were tuned on the dev sets of English-EWT and Turkish-IMST.
    """

    epochs: int = option(10, EPOCHS, low=1, high=10_000)
    rate: float = option(0.1, RATE, above=0)
    damping: float = option(0.1, DAMPING, low=0)
    l2: float = option(1e-6, L2, low=0)
    min_count: int = option(1, MIN_COUNT, low=0, high=MAX_COUNT)
    prune: float = option(0.02, PRUNE, low=0)
    dropout: float = option(
        0.3,
        "Feature dropout rate, sampled anew for each decision.",
        low=0,
        below=1,
    )
    rare_end: float = option(
        0.0,
        "Do not score sentence ends at a space between classes of characters (such as two lower-case "
        "letters) where less than this share of the words end one: faster (0 scores all).",
        low=0,
        below=1,
    )
    context: Literal["auto", "narrow", "wide"] = option(
        "auto",
        "Words that sentence ends depend on: narrow, the next two; wide, four and the endings of all words "
        "around, for texts without punctuation; auto, wide if most sentences end without punctuation.",
        choices=("auto", "narrow", "wide"),
    )
    sentence_bias: float | None = option(
        None,
        "Score added to sentence ends: above 0 for more and shorter sentences, below 0 for fewer (default: "
        "tuned by cross-validation).",
        low=-100,
        high=100,
    )
    folds: int = option(
        3,
        "Cross-validation folds for tuning the bias of sentence ends (0: no bias).",
        low=0,
        high=100,
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class Tokenized:
    """Sentences of a text, and how many bytes and code points of it they cover."""

    treebank: Treebank
    bytes: int
    places: int


def _train_cuts(
    plain: PlainText, look_alikes: LookAlikes, options: LinearTraining, wide: bool
) -> native.Tokenizer:
    """Train a tokenizer without multiword tokens."""
    return native.Tokenizer.train(
        *_token_arrays(plain), look_alikes=look_alikes.native, options=options, wide_context=wide
    )


def _ends_unmarked(plain: PlainText) -> bool:
    """Whether most sentences end in a letter or digit rather than in punctuation."""
    ends = [token.form[-1:].isalnum() for token in plain.tokens if token.ends_sentence]
    return 2 * sum(ends) > len(ends)


def _learn_ends(model: native.Tokenizer, plain: PlainText, rare_end: float) -> None:
    """Find the classes of characters between which a space ends no sentence."""
    model.learn_ends(*_token_arrays(plain), rare_end=rare_end)


def _token_arrays(
    plain: PlainText,
) -> tuple[bytes, npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """Return the text, and the first and last place of each token and whether it ends a sentence."""
    tokens = plain.tokens
    return (
        plain.text.encode("utf-8", "replace"),
        np.array([t.first for t in tokens], np.uint32),
        np.array([t.last for t in tokens], np.uint32),
        np.array([t.ends_sentence for t in tokens], np.uint8),
    )


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"a bias of {value}")
    return float(value)


class Tokenizer(Packable):
    """Splits raw text into words, multiword tokens and sentences; see native/kernels/text/tokenizer.hpp.

    >>> blank = "\\t_" * 7
    >>> rows = f"1\\tNo{blank}\\tSpaceAfter=No\\n2\\t.{blank}\\t_\\n\\n"
    >>> tokenizer = Tokenizer.train(Treebank.from_string(20 * rows))
    >>> [sentence.forms for sentence in tokenizer.tokenize("No. No.").treebank]
    [['No', '.'], ['No', '.']]
    """

    kind: ClassVar[str] = "tokenizer"
    version: ClassVar[int] = 1

    def __init__(
        self,
        model: native.Tokenizer,
        table: MultiwordTable | None,
        look_alikes: LookAlikes = LookAlikes(),
    ) -> None:
        self._model = model
        self._table = table
        self.look_alikes = look_alikes
        """Character substitutions applied before reading text."""

    def __repr__(self) -> str:
        return f"<Tokenizer {'without' if self._table is None else 'with'} multiword tokens>"

    @classmethod
    def train(cls, treebank: Treebank, *, config: TokenizerConfig = TokenizerConfig(), seed: int = 1) -> Self:
        """Train on the raw text of a treebank (see ``plain_text``)."""
        if not len(treebank):
            raise InputError("treebank: found no sentence, expected at least one to learn from")
        options = LinearTraining(
            epochs=config.epochs,
            rate=config.rate,
            damping=config.damping,
            l2=config.l2,
            min_count=config.min_count,
            prune=config.prune,
            dropout=config.dropout,
            seed=seed,
        )
        look_alikes = LookAlikes.learn(treebank)
        plain = plain_text(treebank)
        wide = config.context == "wide" or (config.context == "auto" and _ends_unmarked(plain))
        model = _train_cuts(plain, look_alikes, options, wide)
        if config.sentence_bias is None:
            model.sentence_bias = choose_bias(
                treebank, config.folds, lambda part: _train_cuts(plain_text(part), look_alikes, options, wide)
            )
        else:
            model.sentence_bias = config.sentence_bias
        learned = learn_multiword(plain.tokens, look_alikes)
        if learned is not None:
            table, items = learned
            set_table(model, table)
            model.train_multiword(items.contexts, set=items.sets, gold=items.gold, options=options)
        model.prune(NEGLIGIBLE)
        if config.rare_end:
            _learn_ends(model, plain, config.rare_end)
        return cls(model, None if learned is None else learned[0], look_alikes)

    def tokenize(
        self,
        text: str | bytes,
        *,
        first_place: int = 0,
        first_sentence: int = 1,
        complete: bool = True,
        ranges: bool = True,
        before: str = "",
    ) -> Tokenized:
        """Tokenize a text into sentences with blank columns; MISC records the white space.

        ``first_place`` and ``first_sentence``: offset and sentence number of the start of the text.
        ``complete=False``: more text follows, so final sentences that it may change are left for the next
        call. ``ranges``: write ``TokenRange=first:last`` in code points. ``before``: context before the text,
        up to the end of a sentence.
        """
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        context = before.encode("utf-8", "surrogatepass")
        result = self._model.tokenize(
            context + data,
            first_place=first_place,
            first_sentence=first_sentence,
            complete=complete,
            ranges=ranges,
            bytes_before=len(context),
            places_before=len(before),
        )
        return Tokenized(Treebank(result.conllu, source="<text>"), result.bytes, result.places)

    def tokenize_texts(
        self, texts: Sequence[bytes], *, ranges: bool = True, threads: int = 1
    ) -> tuple[Treebank, npt.NDArray[np.uint32]]:
        """Tokenize many texts (UTF-8) independently into one treebank; also return each sentence count."""
        conllu, counts = self._model.tokenize_texts(list(texts), ranges=ranges, threads=threads)
        return Treebank(conllu, source="<text>"), counts

    def pack(self, precision: Precision = "int8") -> Packed:
        """Pack vocabulary, multiword table and weights; model files use "int8", "float32" is exact."""
        arrays: dict[str, npt.NDArray[Any]] = {
            **pack_linear("cuts", self._model.cuts(), precision),
            **pack_keys("vocabulary", self._model.vocabulary()),
            "may_cut": self._model.may_cut(),
            "may_span": self._model.may_span(),
        }
        never_ends = self._model.never_ends()
        if never_ends.any():
            arrays["never_ends"] = never_ends
        header: dict[str, Any] = {
            "sentence_bias": self._model.sentence_bias,
            "look_alikes": self.look_alikes.pack(),
            "rules": dict(zip(RULES, self._model.rules, strict=True)),
        }
        # Earlier models lack these features.
        for name in ("wide_context", "paragraphs"):
            if getattr(self._model, name):
                header[name] = True
        if self._table is not None:
            arrays |= pack_linear("multiword", self._model.multiword(), precision)
            header["multiword"] = {
                "scripts": [[list(recipe) for recipe in script] for script in self._table.scripts],
                "sets": self._table.sets,
                "set_of_token": self._table.set_of_token,
            }
        return Packed(self.kind, self.version, header, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """Restore a tokenizer."""
        packed.expect(cls.kind, cls.version)
        header, arrays = packed.header, packed.arrays
        try:
            model = native.Tokenizer(
                *unpack_linear("cuts", arrays),
                unpack_keys("vocabulary", arrays),
                np.ascontiguousarray(get(arrays, "may_cut"), np.uint8),
                np.ascontiguousarray(get(arrays, "may_span"), np.uint8),
            )
            # Models of 0.1 lack these entries.
            model.sentence_bias = _finite(header.get("sentence_bias", 0.0))
            model.wide_context = bool(header.get("wide_context", False))
            model.paragraphs = bool(header.get("paragraphs", False))
            look_alikes = LookAlikes.unpack(header.get("look_alikes"))
            model.set_look_alikes(look_alikes.native)
            rules = dict(header.get("rules", {}))
            # Earlier models had one rule for both.
            rules.setdefault("cut_names_out", rules.get("cut_addresses_out", False))
            whole, cut_out, signs, names_out = (bool(rules.get(name, False)) for name in RULES)
            model.rules = whole, cut_out, signs, names_out
            if "never_ends" in arrays:
                model.set_never_ends(np.ascontiguousarray(arrays["never_ends"], np.uint8))
            if "multiword" not in header:
                return cls(model, None, look_alikes)
            multiword = header["multiword"]
            scripts = [
                tuple((int(a), int(b), bool(c), str(d)) for a, b, c, d in script)
                for script in multiword["scripts"]
            ]
            table = MultiwordTable(scripts, multiword["sets"], multiword["set_of_token"])
            set_table(model, table)
            model.set_multiword_weights(*unpack_linear("multiword", arrays))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"model: the tokenizer is damaged ({error})") from error
        return cls(model, table, look_alikes)
