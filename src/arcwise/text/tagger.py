"""``Tagger``: predicts UPOS, XPOS, FEATS and lemmas, trained on a treebank."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError, ModelError
from arcwise.features.lemma_scripts import (
    ANY_FORM,
    LemmaScript,
    ScriptFit,
    lemmas_by,
    read_script,
    script_fits,
    scripts_of,
)
from arcwise.features.look_alikes import LookAlikes
from arcwise.learning.model_file import Packable, Packed, Precision, check_precision
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
    Arrays,
    LinearTraining,
    get,
    lists_of,
    narrow,
    pack_keys,
    pack_linear,
    unpack_keys,
    unpack_linear,
)
from arcwise.treebanks import Coded, Treebank
from arcwise.treebanks.columns import ColumnValues, FieldStrings, fill_blanks, upos_confidence

if TYPE_CHECKING:
    from typing import Self

_LINEAR = ("states", "bundles", "lemmas")
_TRANSITIONS = {"int8": np.float16, "float16": np.float16, "float32": np.float32}


@dataclass(frozen=True)
class TaggerConfig:
    """Training options of the tagger; defaults were tuned on the dev sets of English-EWT and Turkish-IMST."""

    epochs: int = option(8, EPOCHS, low=1, high=10_000)
    rate: float = option(0.2, RATE, above=0)
    damping: float = option(1.0, DAMPING, low=0)
    l2: float = option(1e-5, L2, low=0)
    min_count: int = option(1, MIN_COUNT, low=0, high=MAX_COUNT)
    bundle_min_count: int = option(
        1, "The same for features of XPOS and FEATS, which are many.", low=0, high=MAX_COUNT
    )
    perceptron: bool = option(
        False,
        "Train an averaged structured perceptron instead of a conditional random field; it gives no "
        "probabilities (`UposProb`).",
    )
    joint_tags: int = option(
        120,
        "Tag UPOS and XPOS jointly if the treebank has at most this many pairs of them.",
        low=0,
        high=MAX_COUNT,
    )
    trusted_count: int = option(
        20, "Forms with this many training occurrences only get tags seen with them.", low=0, high=MAX_COUNT
    )
    rare_state: float = option(
        0.003,
        "States (UPOS, or UPOS with XPOS) seen with less than this share of a form's occurrences are taken "
        "for annotation errors. A larger share leaves more frequent forms a single state, which is faster.",
        low=0,
        high=1,
    )
    bundle_lexicon_count: int = option(
        0,
        "Look up FEATS (and XPOS) of a form and state that training saw at least this often and always with "
        "the same ones, instead of scoring them: faster (0 scores all).",
        low=0,
        high=MAX_COUNT,
    )
    prune: float = option(0.05, PRUNE, low=0)

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class Tags:
    """Predicted state, bundle and lemma script of each word, as codes."""

    state: npt.NDArray[np.uint16]
    bundle: npt.NDArray[np.uint16]
    script: npt.NDArray[np.uint16]
    upos_probability: npt.NDArray[np.float32]


@dataclass(frozen=True)
class TagAlphabet:
    """Values of the codes: states (UPOS, XPOS or None), bundles (XPOS, FEATS) and lemma scripts."""

    upos: list[str]
    states: list[tuple[int, str | None]]
    bundles: list[tuple[str, str]]
    bundles_of_state: list[list[int]]
    scripts: list[LemmaScript]
    scripts_of_upos: list[list[int]]
    script_fits: list[ScriptFit]
    """The conditions under which each script fits unseen forms."""

    def fitting(self, upos: str, xpos: str, feats: str) -> tuple[list[int], list[int]]:
        """Return the states and bundles compatible with fixed values (``_``: open).

        If no state fits all values, some of them are relaxed.
        """
        relaxations = (
            (upos, xpos, feats),
            (upos, xpos, "_"),
            (upos, "_", "_"),
            ("_", xpos, feats),
            ("_", xpos, "_"),
        )
        for fixed_upos, fixed_xpos, fixed_feats in relaxations:
            bundles = [
                b
                for b, (x, f) in enumerate(self.bundles)
                if fixed_xpos in ("_", x) and fixed_feats in ("_", f)
            ]
            possible = set(bundles)
            states = [
                s
                for s, (u, _) in enumerate(self.states)
                if fixed_upos in ("_", self.upos[u]) and possible & set(self.bundles_of_state[s])
            ]
            if states:
                return states, bundles
        return [], []

    def bundle_outputs(self) -> tuple[list[list[int]], int]:
        """Outputs that a bundle is scored by: each Key=Value of FEATS, FEATS as a whole, and XPOS."""
        numbers: dict[str, int] = {}  # a dict, because the order of a set differs between processes
        outputs = [
            sorted(
                numbers.setdefault(part, len(numbers))
                for part in dict.fromkeys([*feats.split("|"), f"feats {feats}", f"xpos {xpos}"])
            )
            for xpos, feats in self.bundles
        ]
        return outputs, len(numbers)


class Tagger(Packable):
    """Tags words; see native/kernels/text/tagger.hpp.

    >>> birds = "1\\tBirds\\tbird\\tNOUN\\tN\\tNumber=Plur\\t2\\tnsubj\\t_\\t_\\n"
    >>> sing = "2\\tsing\\tsing\\tVERB\\tV\\t_\\t0\\troot\\t_\\t_\\n\\n"
    >>> tagger = Tagger.train(Treebank.from_string(9 * (birds + sing)))
    >>> tagged = tagger.tag(Treebank.from_string("1\\tBirds\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n"))
    >>> tagged[0].upos, tagged[0].lemmas, tagged[0].feats
    (['NOUN'], ['bird'], ['Number=Plur'])
    """

    kind: ClassVar[str] = "tagger"
    version: ClassVar[int] = 1

    def __init__(
        self, model: native.Tagger, alphabet: TagAlphabet, look_alikes: LookAlikes = LookAlikes()
    ) -> None:
        self._model = model
        self.alphabet = alphabet
        self.look_alikes = look_alikes
        """Character substitutions applied before reading words.

        Lemmas are made from the substituted forms.
        """

    def __repr__(self) -> str:
        upos, bundles, scripts = self.alphabet.upos, self.alphabet.bundles, self.alphabet.scripts
        bundle_count = f"{len(bundles)} bundles of XPOS and FEATS"
        return f"<Tagger: {len(upos)} UPOS, {bundle_count}, {len(scripts)} lemma scripts>"

    @classmethod
    def train(cls, treebank: Treebank, *, config: TaggerConfig = TaggerConfig(), seed: int = 1) -> Self:
        """Train on the columns UPOS, XPOS, FEATS and LEMMA of a treebank."""
        if not treebank.word_count:
            raise InputError("treebank: found no word, expected at least one to learn from")
        look_alikes = LookAlikes.learn(treebank)
        treebank = look_alikes.view(treebank)
        alphabet, state, bundle, script = _alphabet(treebank, config)
        model = _blank(alphabet)
        options = LinearTraining(
            epochs=config.epochs,
            rate=config.rate,
            damping=config.damping,
            l2=config.l2,
            min_count=config.min_count,
            prune=config.prune,
            dropout=0.0,
            seed=seed,
        )
        model.train(
            *treebank.fields,
            state=state,
            bundle=bundle,
            script=script,
            chain=options,
            bundles=options._replace(min_count=config.bundle_min_count),
            lemma=options,
            perceptron=config.perceptron,
            trusted_count=config.trusted_count,
            rare_state=config.rare_state,
            bundle_lexicon_count=config.bundle_lexicon_count,
        )
        model.prune(NEGLIGIBLE)
        return cls(model, alphabet, look_alikes)

    def reading(self, look_alikes: LookAlikes) -> Self:
        """Return this tagger with other character substitutions."""
        return type(self)(self._model, self.alphabet, look_alikes)

    def tags(self, treebank: Treebank, *, keep: Collection[str] = (), threads: int = 1) -> Tags:
        """Predict the tags of every word as codes (see ``alphabet``), and the probability of its UPOS.

        ``keep``: columns (``upos``, ``xpos``, ``feats``) whose values other than ``_`` are fixed; the
        remaining tags of the word and of its neighbours are predicted given them.
        """
        return self._tags(treebank, self.look_alikes.view(treebank), keep, threads)

    def _tags(self, treebank: Treebank, read: Treebank, keep: Collection[str], threads: int) -> Tags:
        kept: tuple[Any, Any, Any] = None, lists_of([[]]), lists_of([[]])
        if {"upos", "xpos", "feats"} & set(keep):
            kept = self._kept_sets(treebank, keep)
        return Tags(*self._model.tag(*read.fields, *kept, threads))

    def tag(
        self,
        treebank: Treebank,
        *,
        keep: Collection[str] = (),
        confidence: bool = False,
        threads: int = 1,
    ) -> Treebank:
        """Return the treebank with LEMMA, UPOS, XPOS and FEATS replaced.

        ``confidence`` adds UposProb to MISC.

        ``keep``: columns whose values other than ``_`` stay.
        """
        read = self.look_alikes.view(treebank)
        tags = self._tags(treebank, read, keep, threads)
        xpos, feats = self._columns_of_bundles
        predicted: dict[str, ColumnValues] = {
            "lemma": lemmas_by(read, tags.script, self._scripts),
            "upos": Coded(self._upos_of_state[tags.state], self._upos_strings),
            "xpos": Coded(xpos.codes[tags.bundle], xpos.strings),
            "feats": Coded(feats.codes[tags.bundle], feats.strings),
        }
        columns: dict[str, Any] = {
            name: fill_blanks(treebank.column(name), values) if name in keep else values
            for name, values in predicted.items()
        }
        if confidence:
            kept = treebank.column("upos") if "upos" in keep else None
            columns["misc_update"] = upos_confidence(tags.upos_probability, kept)
        return treebank.annotate(**columns)

    @cached_property
    def _upos_strings(self) -> FieldStrings:
        return FieldStrings(self.alphabet.upos)

    @cached_property
    def _upos_of_state(self) -> npt.NDArray[np.int32]:
        return np.array([upos for upos, _ in self.alphabet.states], np.int32)

    @cached_property
    def _columns_of_bundles(self) -> tuple[Coded, Coded]:
        """XPOS and FEATS of every bundle."""
        xpos, feats = (Coded.of(column) for column in zip(*self.alphabet.bundles, strict=True))
        return replace(xpos, strings=FieldStrings(xpos.strings)), replace(
            feats, strings=FieldStrings(feats.strings)
        )

    @cached_property
    def _scripts(self) -> native.LemmaScripts:
        return native.LemmaScripts(self.alphabet.scripts)

    def _kept_sets(self, treebank: Treebank, keep: Collection[str]) -> tuple[Any, Any, Any]:
        """Return the constraint set of each word, and each set's states and bundles.

        No states: nothing fits.
        """
        blank = ["_"] * treebank.word_count
        columns = [treebank.column(name) if name in keep else blank for name in ("upos", "xpos", "feats")]
        sets = Coded.of(["\t".join(values) for values in zip(*columns, strict=True)])
        fitting = [self.alphabet.fitting(*text.split("\t")) for text in sets.strings]
        states, bundles = ([pair[i] for pair in fitting] for i in (0, 1))
        return sets.codes, lists_of(states), lists_of(bundles)

    def pack(self, precision: Precision = "int8") -> Packed:
        """Pack alphabet, dictionary and weights.

        Files use "int8" (transitions: 16 bits), "float32" is exact.
        """
        (form_keys, form_sets), (set_starts, set_states) = self._model.dictionary()
        lexicon_keys, lexicon_scripts = self._model.lexicon()
        bundle_keys, bundle_values = self._model.bundle_lexicon()
        stem_keys, stem_upos = self._model.stems()
        arrays: Arrays = {
            "transitions": self._model.transitions().astype(_TRANSITIONS[check_precision(precision)]),
            **pack_keys("dictionary.keys", form_keys),
            "dictionary.sets": narrow(form_sets),
            "sets.starts": set_starts,
            "sets.states": narrow(set_states),
            **pack_keys("stems.keys", stem_keys),
            "stems.upos": narrow(stem_upos),
            **pack_keys("lexicon.keys", lexicon_keys),
            "lexicon.scripts": narrow(lexicon_scripts),
        }
        if len(bundle_keys):
            arrays |= pack_keys("bundle_lexicon.keys", bundle_keys)
            arrays["bundle_lexicon.bundles"] = narrow(bundle_values)
        for name in _LINEAR:
            arrays |= pack_linear(name, self._model.linear(name), precision)
        header = {
            "upos": self.alphabet.upos,
            "states": self.alphabet.states,
            "bundles": self.alphabet.bundles,
            "bundles_of_state": self.alphabet.bundles_of_state,
            "scripts": self.alphabet.scripts,
            "scripts_of_upos": self.alphabet.scripts_of_upos,
            "script_fits": self.alphabet.script_fits,
            "alternations": self._model.alternations(),
            "look_alikes": self.look_alikes.pack(),
        }
        return Packed(self.kind, self.version, header, arrays)

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """Restore a tagger."""
        packed.expect(cls.kind, cls.version)
        header, arrays = packed.header, packed.arrays
        try:
            alphabet = TagAlphabet(
                header["upos"],
                [(int(upos), xpos) for upos, xpos in header["states"]],
                [(xpos, feats) for xpos, feats in header["bundles"]],
                header["bundles_of_state"],
                [(c, a, b, before, after, whole) for c, a, b, before, after, whole in header["scripts"]],
                header["scripts_of_upos"],
                header.get("script_fits", [ANY_FORM] * len(header["scripts"])),  # missing in models of 0.1
            )
            model = _blank(alphabet)
            for name in _LINEAR:
                model.set_linear(name, *unpack_linear(name, arrays))
            model.set_transitions(get(arrays, "transitions").astype(np.float32))
            model.set_dictionary(
                (unpack_keys("dictionary.keys", arrays), _uint32(arrays, "dictionary.sets")),
                (_uint32(arrays, "sets.starts"), _uint32(arrays, "sets.states")),
            )
            model.set_stems(
                (unpack_keys("stems.keys", arrays), _uint32(arrays, "stems.upos")),
                [(int(first), int(last)) for first, last in header["alternations"]],
            )
            model.set_lexicon((unpack_keys("lexicon.keys", arrays), _uint32(arrays, "lexicon.scripts")))
            if "bundle_lexicon.bundles" in arrays:
                model.set_bundle_lexicon(
                    (unpack_keys("bundle_lexicon.keys", arrays), _uint32(arrays, "bundle_lexicon.bundles"))
                )
            look_alikes = LookAlikes.unpack(header.get("look_alikes"))  # missing in models of 0.1
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"model: the tagger is damaged ({error})") from error
        return cls(model, alphabet, look_alikes)


def _uint32(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> npt.NDArray[np.uint32]:
    return np.ascontiguousarray(get(arrays, name), np.uint32)


def _blank(alphabet: TagAlphabet) -> native.Tagger:
    outputs, output_count = alphabet.bundle_outputs()
    return native.Tagger(
        upos_of_state=np.array([upos for upos, _ in alphabet.states], np.uint16),
        upos_count=len(alphabet.upos),
        outputs_of_bundle=lists_of(outputs),
        bundle_outputs=output_count,
        bundles_of_state=lists_of(alphabet.bundles_of_state),
        scripts=len(alphabet.scripts),
        scripts_of_upos=lists_of(alphabet.scripts_of_upos),
        script_fits=alphabet.script_fits,
    )


def _alphabet(
    treebank: Treebank, config: TaggerConfig
) -> tuple[TagAlphabet, npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return the alphabet of a treebank, and the state, bundle and script codes of each word."""
    columns = {name: treebank.column(name) for name in ("form", "lemma", "upos", "xpos", "feats")}
    upos = Coded.of(columns["upos"])
    pairs = Coded.of([f"{u}\t{x}" for u, x in zip(columns["upos"], columns["xpos"], strict=True)])
    joint = len(pairs.strings) <= config.joint_tags
    states = pairs if joint else upos
    numbers = {name: i for i, name in enumerate(upos.strings)}
    bundles = Coded.of([f"{x}\t{f}" for x, f in zip(columns["xpos"], columns["feats"], strict=True)])
    scripts = scripts_of(treebank)
    alphabet = TagAlphabet(
        list(upos.strings),
        [(numbers[name.split("\t")[0]], name.split("\t")[1] if joint else None) for name in states.strings],
        [(b.split("\t")[0], b.split("\t")[1]) for b in bundles.strings],
        _seen_with(states.codes, bundles.codes, len(states.strings)),
        [read_script(s) for s in scripts.strings],
        _seen_with(upos.codes, scripts.codes, len(upos.strings)),
        script_fits(columns["form"], scripts),
    )
    return alphabet, states.codes, bundles.codes, scripts.codes


def _seen_with(groups: npt.NDArray[np.int32], values: npt.NDArray[np.int32], count: int) -> list[list[int]]:
    """List the values that occur with each group, sorted."""
    lists: list[list[int]] = [[] for _ in range(count)]
    for group, value in sorted(set(zip(groups.tolist(), values.tolist(), strict=True))):
        lists[group].append(value)
    return lists


def accuracy(gold: Sequence[str], predicted: Sequence[str]) -> float:
    """Percentage of equal values."""
    return 100.0 * sum(a == b for a, b in zip(gold, predicted, strict=True)) / max(len(gold), 1)
