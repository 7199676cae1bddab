"""Tags that a network learns beside the trees: UPOS, XPOS, each attribute of FEATS, lemma scripts; as numbers and back."""

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
from arcwise.treebanks.field_values import pairs, split_pairs

Codes = npt.NDArray[np.int32]
_FEATS = "feats."
_LEMMA = "lemma"
NO_VALUE = ""
"""The value of an attribute that a word does not have."""
RARE_SCRIPT = 1
"""Lemma scripts that training has at most so often are not learned: they are of single words."""


@dataclass(frozen=True)
class PredictedTags:
    """Training and development data with predicted tags, the same sentences as the gold data.

    A network trained on gold tags trusts them too much; these are as good as the tags it will get when it parses.
    """

    train: Treebank
    dev: Treebank | None = None


@dataclass(frozen=True)
class TagAlphabets:
    """What is learned: ``upos``, ``xpos``, ``feats.Case`` (one for each attribute) and ``lemma``, and the values of each; those of lemmas
    are scripts that make them from forms.

    >>> row = "1\\tBirds\\tbird\\tNOUN\\t_\\tNumber=Plur\\t0\\troot\\t_\\t_\\n\\n"
    >>> tags = TagAlphabets.learn(Treebank.from_string(row), ("upos", "feats"))
    >>> tags.names, tags.values
    (('upos', 'feats.Number'), (('NOUN',), ('', 'Plur')))
    """

    names: tuple[str, ...] = ()
    values: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def learn(cls, treebank: Treebank, columns: Sequence[str]) -> TagAlphabets:
        """The values that the columns have in a treebank; a column without any is left out."""
        names: list[str] = []
        values: list[tuple[str, ...]] = []
        for column in columns:
            own = Coded.of(treebank.column(column)).strings
            if column == _LEMMA:
                if scripts := _scripts_learned(treebank):
                    names.append(column)
                    values.append(scripts)
            elif column == "feats":
                found: dict[str, set[str]] = {}
                for bundle in own:
                    for attribute, value in split_pairs(bundle):
                        found.setdefault(attribute, set()).add(value)
                for attribute in sorted(found, key=_order):
                    names.append(f"{_FEATS}{attribute}")
                    values.append((NO_VALUE, *sorted(found[attribute])))
            elif set(own) - {"_"}:
                names.append(column)
                values.append(tuple(sorted(own)))
        return cls(tuple(names), tuple(values))

    @classmethod
    def read(cls, header: Mapping[str, Any]) -> TagAlphabets:
        """From a model file; ``ValueError`` if names and values do not fit."""
        names = tuple(str(name) for name in header["names"])
        values = tuple(tuple(str(value) for value in own) for own in header["values"])
        if len(names) != len(values) or not all(values):
            raise ValueError(f"tags: found values of {len(values)}, expected some of each of {len(names)}")
        for script in dict(zip(names, values, strict=True)).get(_LEMMA, ()):
            read_script(script)
        return cls(names, values)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are learned."""
        return tuple(dict.fromkeys(name.split(".")[0] for name in self.names))

    def codes(self, treebank: Treebank) -> list[Codes]:
        """For each name the number of each word's value, -1 where the alphabet has it not."""
        found = []
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
            found.append(np.array(of_string, np.int32)[coded.codes])
        return found

    def annotations(self, treebank: Treebank, codes: Sequence[Codes]) -> dict[str, Coded]:
        """The columns of the words of a treebank, from the numbers of their values."""
        found: dict[str, Coded] = {}
        features = [place for place, name in enumerate(self.names) if name.startswith(_FEATS)]
        for place, name in enumerate(self.names):
            if name == _LEMMA:
                found[name] = lemmas_by(treebank, codes[place], _scripts_made(self.values[place]))
            elif place not in features:
                found[name] = Coded(codes[place], list(self.values[place]))
        if features:
            kinds = _numbered([codes[p] for p in features], [len(self.values[p]) for p in features])
            _, first, of_word = np.unique(kinds, return_index=True, return_inverse=True)
            own = np.stack([codes[p] for p in features], 1)[first]
            strings = [self._bundle(features, kind) for kind in own.tolist()]
            found["feats"] = Coded(of_word.astype(np.int32).ravel(), strings)
        return found

    def _bundle(self, features: Sequence[int], kind: Sequence[int]) -> str:
        pairs = [
            f"{self.names[place].removeprefix(_FEATS)}={self.values[place][code]}"
            for place, code in zip(features, kind, strict=True)
            if self.values[place][code] != NO_VALUE
        ]
        return "|".join(pairs) or "_"


@lru_cache(maxsize=8)
def _scripts_made(texts: tuple[str, ...]) -> native.LemmaScripts:
    return native.LemmaScripts([read_script(text) for text in texts])


def _scripts_learned(treebank: Treebank) -> tuple[str, ...]:
    """The lemma scripts that are worth learning; none where the treebank has no lemmas."""
    coded = scripts_of(treebank)
    often = np.bincount(coded.codes, minlength=len(coded.strings)) > RARE_SCRIPT
    found = sorted(script for script, is_often in zip(coded.strings, often, strict=True) if is_often)
    return () if found in ([], [script_text(NO_LEMMA)]) else tuple(found)


def _numbered(codes: Sequence[Codes], sizes: Sequence[int]) -> npt.NDArray[np.int64]:
    """A number for each word, the same where all codes are: attribute by attribute, put together before there are too many.

    >>> _numbered([np.array([0, 1, 0]), np.array([2, 2, 2])], [2, 3]).tolist()
    [2, 5, 2]
    """
    found, most = np.zeros(len(codes[0]), np.int64), 1
    for own, size in zip(codes, sizes, strict=True):
        if most > 2**62 // size:
            found = np.unique(found, return_inverse=True)[1].astype(np.int64)
            most = len(found)
        found, most = found * size + own, most * size
    return found


def _order(attribute: str) -> tuple[str, str]:
    """As CoNLL-U orders attributes: case does not count."""
    return attribute.lower(), attribute
