"""Tags that a network predicts jointly with trees, encoded as integers.

These are UPOS, XPOS, each attribute of FEATS, and lemma scripts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.features.lemma_scripts import NO_LEMMA, lemmas_by, read_script, script_text, scripts_of
from arcwise.treebanks import Coded, Treebank
from arcwise.treebanks.columns import field_strings
from arcwise.treebanks.field_values import pairs, split_pairs

Codes = npt.NDArray[np.int32]
_FEATS = "feats."
_LEMMA = "lemma"
NO_VALUE = ""
"""Value of a FEATS attribute for a word that lacks it."""
RARE_SCRIPT = 1
"""Lemma scripts with at most this many occurrences are not learned: they describe single words."""


@dataclass(frozen=True)
class PredictedTags:
    """Training and development data with predicted tags, sentence for sentence as in the gold data.

    A network trained on gold tags relies on them too much; predicted tags are of the quality that it will
    see when it parses.
    """

    train: Treebank
    dev: Treebank | None = None


@dataclass(frozen=True)
class TagAlphabets:
    """Names and values of the predicted tags.

    The names are ``upos``, ``xpos``, ``feats.Case`` and so on (one per attribute), and ``lemma``, whose
    values are scripts that turn forms into lemmas.

    >>> row = "1\\tBirds\\tbird\\tNOUN\\t_\\tNumber=Plur\\t0\\troot\\t_\\t_\\n\\n"
    >>> tags = TagAlphabets.learn(Treebank.from_string(row), ("upos", "feats"))
    >>> tags.names, tags.values
    (('upos', 'feats.Number'), (('NOUN',), ('', 'Plur')))
    """

    names: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def learn(cls, treebank: Treebank, columns: Sequence[str]) -> TagAlphabets:
        """Collect the values of the columns in a treebank; columns without values are left out."""
        names: list[str] = []
        values: list[tuple[str, ...]] = []
        for column in columns:
            strings = Coded.of(treebank.column(column)).strings
            if column == _LEMMA:
                if scripts := _frequent_scripts(treebank):
                    names.append(column)
                    values.append(scripts)
            elif column == "feats":
                by_attribute: dict[str, set[str]] = {}
                for bundle in strings:
                    for attribute, value in split_pairs(bundle):
                        by_attribute.setdefault(attribute, set()).add(value)
                for attribute in sorted(by_attribute, key=_attribute_order):
                    names.append(f"{_FEATS}{attribute}")
                    values.append((NO_VALUE, *sorted(by_attribute[attribute])))
            elif set(strings) - {"_"}:
                names.append(column)
                values.append(tuple(sorted(strings)))
        return cls(tuple(names), tuple(values))

    @classmethod
    def read(cls, header: Mapping[str, Any]) -> TagAlphabets:
        """Read the alphabets from a model file; ``ValueError`` if names and values do not match."""
        names = tuple(str(name) for name in header["names"])
        values = tuple(tuple(str(value) for value in tag_values) for tag_values in header["values"])
        if len(names) != len(values) or not all(values):
            raise ValueError(f"tags: {len(names)} names but {len(values)} lists of values, or an empty list")
        for script in dict(zip(names, values, strict=True)).get(_LEMMA, ()):
            read_script(script)  # raises ValueError for a damaged script
        return cls(names, values)

    @property
    def columns(self) -> tuple[str, ...]:
        """The predicted columns."""
        return tuple(dict.fromkeys(name.split(".")[0] for name in self.names))

    def codes(self, treebank: Treebank) -> list[Codes]:
        """Encode the words' values, one array per tag; -1 for values outside the alphabet."""
        by_tag = []
        for name, values in zip(self.names, self.values, strict=True):
            numbers = {value: number for number, value in enumerate(values)}
            column = name.split(".")[0]
            coded = scripts_of(treebank) if column == _LEMMA else Coded.of(treebank.column(column))
            if column == "feats":
                attribute = name.removeprefix(_FEATS)
                of_string = [
                    numbers.get(pairs(bundle).get(attribute, NO_VALUE), -1) for bundle in coded.strings
                ]
            else:
                of_string = [numbers.get(value, -1) for value in coded.strings]
            by_tag.append(np.array(of_string, np.int32)[coded.codes])
        return by_tag

    def annotations(
        self, treebank: Treebank, codes: Sequence[Codes]
    ) -> dict[str, Coded | native.StringColumn]:
        """Decode the words' values into columns of the treebank."""
        columns: dict[str, Coded | native.StringColumn] = {}
        features = [place for place, name in enumerate(self.names) if name.startswith(_FEATS)]
        for place, name in enumerate(self.names):
            if name == _LEMMA:
                columns[name] = lemmas_by(treebank, codes[place], _native_scripts(self.values[place]))
            elif place not in features:
                columns[name] = Coded(codes[place], field_strings(self.values[place]))
        if features:
            # Format each distinct combination once: a treebank has far fewer of them than words.
            keys = _combined([codes[p] for p in features], [len(self.values[p]) for p in features])
            _, first, of_word = np.unique(keys, return_index=True, return_inverse=True)
            combinations = np.stack([codes[p] for p in features], 1)[first]
            strings = [self._bundle(features, combination) for combination in combinations.tolist()]
            columns["feats"] = Coded(of_word.astype(np.int32).ravel(), strings)
        return columns

    def probabilities(self, by_tag: Sequence[npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """The probability of each column's value, from those of the tags: FEATS has one tag per attribute."""
        columns = [name.split(".")[0] for name in self.names]
        return {
            column: np.prod([p for name, p in zip(columns, by_tag, strict=True) if name == column], axis=0)
            for column in self.columns
        }

    def _bundle(self, features: Sequence[int], combination: Sequence[int]) -> str:
        pairs = [
            f"{self.names[place].removeprefix(_FEATS)}={self.values[place][code]}"
            for place, code in zip(features, combination, strict=True)
            if self.values[place][code] != NO_VALUE
        ]
        return "|".join(pairs) or "_"


@lru_cache(maxsize=8)
def _native_scripts(texts: tuple[str, ...]) -> native.LemmaScripts:
    return native.LemmaScripts([read_script(text) for text in texts])


def _frequent_scripts(treebank: Treebank) -> tuple[str, ...]:
    """The lemma scripts that are frequent enough to learn; none if the treebank has no lemmas."""
    coded = scripts_of(treebank)
    frequent = np.bincount(coded.codes, minlength=len(coded.strings)) > RARE_SCRIPT
    scripts = sorted(script for script, keep in zip(coded.strings, frequent, strict=True) if keep)
    return () if scripts in ([], [script_text(NO_LEMMA)]) else tuple(scripts)


def _combined(codes: Sequence[Codes], sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    """Combine the codes of each word into a key that is equal only for equal combinations.

    >>> _combined([np.array([0, 1, 0]), np.array([2, 2, 2])], [2, 3]).tolist()
    [2, 5, 2]
    """
    keys, bound = np.zeros(len(codes[0]), np.int64), 1
    for attribute_codes, size in zip(codes, sizes, strict=True):
        if bound > 2**62 // size:  # renumber before the next product would overflow int64
            keys = np.unique(keys, return_inverse=True)[1].astype(np.int64)
            bound = len(keys)
        keys, bound = keys * size + attribute_codes, bound * size
    return keys


def _attribute_order(attribute: str) -> tuple[str, str]:
    """Sort key of attributes as in CoNLL-U: case-insensitive."""
    return attribute.lower(), attribute
