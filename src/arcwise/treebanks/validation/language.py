"""``LanguageData``: the auxiliaries, relations and features of a language, learned from a treebank and edited
by hand. Levels 4 and 5 check a treebank against them."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Any

from arcwise.errors import InputError
from arcwise.treebanks.columns import column_number
from arcwise.treebanks.field_values import split_pairs
from arcwise.treebanks.files import PathLike, path_kind, read_bytes
from arcwise.treebanks.rows import DEPREL, FEATS, LEMMA, MISC, UPOS, Row
from arcwise.treebanks.treebank import Treebank
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.inventory import UPOS_TAGS, is_label, universal
from arcwise.treebanks.validation.raw import RawSentence

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LANGUAGE_FILE = "arcwise-language.toml"
"""The name of the file of language data that is looked for next to a treebank."""
_RARE = 2
_FEATURE = re.compile(r"[A-Z][A-Za-z0-9]*(?:\[[a-z0-9]+\])?", re.ASCII)
_VALUE = re.compile(r"[A-Z0-9][A-Za-z0-9]*", re.ASCII)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_LISTS = ("auxiliaries", "copulas", "relations")

Features = Mapping[str, Mapping[str, frozenset[str]]]
"""UPOS → feature → values."""


@dataclass(frozen=True)
class LanguageData:
    """The inventories of a language; None where the data have none, and nothing is checked."""

    auxiliaries: frozenset[str] | None = None
    """Lemmas of words with UPOS AUX."""
    copulas: frozenset[str] | None = None
    """Lemmas of words with the relation cop."""
    relations: frozenset[str] | None = None
    """Labels in DEPREL, with subtypes."""
    features: Features | None = None
    counts: Mapping[tuple[str, ...], int] = field(default_factory=dict, compare=False, repr=False)
    """Frequency of each value in the treebank, by its path; empty for data read from a file."""

    @classmethod
    def of(cls, treebanks: Treebank | Iterable[Treebank]) -> LanguageData:
        r"""Collect the data of a treebank, or of one that is read in pieces.

        Words of other languages (``Lang=`` in MISC) and values that are malformed or not universal are left
        out.

        >>> rows = ["1 Is be AUX _ Mood=Ind 2 cop _ _", "2 it it PRON _ Number=Sing 0 root _ _"]
        >>> data = LanguageData.of(Treebank.from_string("\n".join(rows).replace(" ", "\t") + "\n\n"))
        >>> sorted(data.relations), data.auxiliaries, data.features["PRON"]
        (['cop', 'root'], frozenset({'be'}), {'Number': frozenset({'Sing'})})
        """
        counts: Counter[tuple[str, ...]] = Counter()
        for treebank in [treebanks] if isinstance(treebanks, Treebank) else treebanks:
            counts.update(_counts(treebank))
        lists: dict[str, set[str]] = {name: set() for name in _LISTS}
        features: dict[str, dict[str, set[str]]] = {}
        for kind, *path in counts:
            if kind in lists:
                lists[kind].add(path[0])
            else:
                upos, name, value = path
                features.setdefault(upos, {}).setdefault(name, set()).add(value)
        auxiliaries, copulas, relations = (frozenset(lists[name]) for name in _LISTS)
        return cls(auxiliaries, copulas, relations, _frozen(features), dict(counts))

    @classmethod
    def read(cls, path: PathLike) -> LanguageData:
        """Read a TOML file; raises ``InputError`` that names the file and the key."""
        try:
            values = tomllib.loads(read_bytes(path).decode("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: is not valid TOML ({error})") from error
        names = (*_LISTS, "features")
        for name in values:
            if name not in names:
                close = get_close_matches(name, names, 1)
                hint = f"did you mean {close[0]}?" if close else f"expected {', '.join(names)}"
                raise InputError(f"{path}: found {name!r}; {hint}")
        auxiliaries, copulas, relations = (
            _strings(values[name], f"{path}: {name}") if name in values else None for name in _LISTS
        )
        features = _read_features(values["features"], path) if "features" in values else None
        return cls(auxiliaries, copulas, relations, features)

    def to_toml(self, source: str = "a treebank") -> str:
        """Format as TOML, with comments on values that occur only once or twice."""
        lines = [
            f"# Language data of {_one_line(source)}, made by 'arcwise validate --learn'.",
            "# Delete what the language does not have, and add what the treebank lacks.",
            "# A list that is deleted as a whole is not checked.",
        ]
        for name in _LISTS:
            values = getattr(self, name)
            if values is not None:
                lines += ["", f"# {_COMMENTS[name]}", *self._rare((name,), values)]
                lines += [f"{name} = {_array(values)}"]
        for upos, features in sorted((self.features or {}).items()):
            lines += ["", f"[features.{upos}]"]
            for name, values in sorted(features.items(), key=lambda item: item[0].lower()):
                lines += self._rare(("features", upos, name), values)
                lines += [f"{name if _BARE_KEY.fullmatch(name) else json.dumps(name)} = {_array(values)}"]
        if self.features is not None and not self.features:
            lines += ["", "[features]"]
        return "\n".join(lines) + "\n"

    def _rare(self, path: tuple[str, ...], values: Iterable[str]) -> list[str]:
        counted = [(value, self.counts.get((*path, value), 0)) for value in sorted(values)]
        rare = [f"{value} ({count})" for value, count in counted if 0 < count <= _RARE]
        return [_one_line(f"# Rare: {', '.join(rare)}")] if rare else []

    @cached_property
    def values(self) -> dict[str, frozenset[str]]:
        """Feature → all its values, with any UPOS."""
        values: dict[str, set[str]] = {}
        for features in (self.features or {}).values():
            for name, of_upos in features.items():
                values.setdefault(name, set()).update(of_upos)
        return {name: frozenset(every) for name, every in values.items()}


_COMMENTS = {
    "auxiliaries": "Lemmas of auxiliaries (UPOS AUX).",
    "copulas": "Lemmas of copulas (the relation cop).",
    "relations": "Relations in DEPREL, with their subtypes.",
}


def language_file(path: PathLike) -> Path:
    """The path of a treebank file's language data: ``arcwise-language.toml`` in the same folder."""
    return Path(path).parent / LANGUAGE_FILE


def find_language(paths: Iterable[PathLike]) -> Path | None:
    """The file of language data next to the first of some treebank files; None if there is none."""
    first = next((path for path in paths if str(path) != "-"), None)
    beside = None if first is None else language_file(first)
    return beside if beside is not None and path_kind(beside) == "file" else None


def _counts(treebank: Treebank) -> Counter[tuple[str, ...]]:
    layout, data = treebank.layout, treebank.data
    columns = {}
    for name in ("lemma", "upos", "feats", "deprel", "misc"):
        codes, strings = layout.column_codes(data, layout.word_rows, column_number(name))
        columns[name] = [strings[code] for code in codes.tolist()]
    # A treebank has few distinct combinations of tags and features: split each of them once.
    combined = Counter(zip(*columns.values(), strict=True))
    counts: Counter[tuple[str, ...]] = Counter()
    for (lemma, upos, feats, label, misc), count in combined.items():
        if is_label(label):
            counts["relations", label] += count
        if _has_language(misc):
            continue
        if upos == "AUX" and lemma != "_":
            counts["auxiliaries", lemma] += count
        if universal(label) == "cop" and lemma != "_":
            counts["copulas", lemma] += count
        if upos in UPOS_TAGS:
            for name, value in _feature_values(feats):
                counts["features", upos, name, value] += count
    return counts


def _has_language(misc: str) -> bool:
    """Whether a word belongs to another language than the treebank."""
    return "Lang=" in misc and any(name == "Lang" and value for name, value in split_pairs(misc))


def _feature_values(feats: str) -> list[tuple[str, str]]:
    """Pairs of a feature and one value, without malformed ones, which have findings of level 2."""
    return [
        (name, value)
        for name, values in split_pairs(feats)
        if _FEATURE.fullmatch(name)
        for value in dict.fromkeys(values.split(","))
        if _VALUE.fullmatch(value)
    ]


def _frozen(features: Mapping[str, Mapping[str, set[str]]]) -> Features:
    return {
        upos: {name: frozenset(values) for name, values in by_name.items()}
        for upos, by_name in features.items()
    }


def _array(values: Iterable[str]) -> str:
    # JSON strings are TOML strings, except that TOML also escapes DEL.
    texts = [json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") for value in sorted(values)]
    one_line = f"[{', '.join(texts)}]"
    return one_line if len(one_line) <= 90 else "[\n" + "".join(f"    {text},\n" for text in texts) + "]"


def _one_line(text: str) -> str:
    """Replace control characters, which TOML forbids in comments."""
    return re.sub(r"[\x00-\x1f\x7f]", "?", text)


def _strings(values: Any, where: str) -> frozenset[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InputError(f"{where}: found {values!r}, expected a list of strings")
    return frozenset(values)


def _read_features(values: Any, path: PathLike) -> Features:
    if not isinstance(values, dict):
        raise InputError(f"{path}: features: found {values!r}, expected a table for each UPOS")
    features: dict[str, dict[str, frozenset[str]]] = {}
    for upos, by_name in values.items():
        if upos not in UPOS_TAGS or not isinstance(by_name, dict):
            raise InputError(f"{path}: features: found {upos!r}, expected a table [features.UPOS], e.g. NOUN")
        features[upos] = {
            name: _strings(listed, f"{path}: features.{upos}.{name}") for name, listed in by_name.items()
        }
    return features


def check_language(raw: RawSentence, data: LanguageData, report: Report) -> None:
    """Levels 4 and 5: check the words and empty nodes of a sentence against the data of their language."""
    for row in raw.nodes:
        if len(row.fields) != 10:
            continue
        label = row.fields[DEPREL]
        relations = data.relations
        if row.kind == "word" and relations is not None and is_label(label) and label not in relations:
            message = f"the language data do not have the relation {label!r}{_closest(label, relations)}"
            report.add_field("unknown-deprel", row, DEPREL, message)
        if _has_language(row.fields[MISC]):
            continue
        if data.features is not None and row.fields[UPOS] in UPOS_TAGS:
            _check_features(row, data, report)
        _check_lemmas(row, data, report)


def _check_features(row: Row, data: LanguageData, report: Report) -> None:
    upos = row.fields[UPOS]
    of_upos = (data.features or {}).get(upos, {})
    for name, value in _feature_values(row.fields[FEATS]):
        values = data.values.get(name, frozenset())
        if not values:
            rule, missing = "feature-unknown", f"the feature {name}{_closest(name, data.values)}"
        elif value not in values:
            rule, missing = "feature-value-unknown", f"{name}={value}{_closest(value, values)}"
        elif name not in of_upos:
            rule, missing = "feature-upos-not-permitted", f"the feature {name} with {upos}"
        elif value not in of_upos[name]:
            rule, missing = "feature-value-upos-not-permitted", f"{name}={value} with {upos}"
        else:
            continue
        report.add_field(rule, row, FEATS, f"the language data do not have {missing}")


def _check_lemmas(row: Row, data: LanguageData, report: Report) -> None:
    lemma = row.fields[LEMMA]
    if lemma == "_":
        return
    if data.auxiliaries is not None and row.fields[UPOS] == "AUX" and lemma not in data.auxiliaries:
        message = f"{lemma!r} is not an auxiliary of the language data"
        report.add_field("aux-lemma", row, LEMMA, message)
    if data.copulas is not None and universal(row.fields[DEPREL]) == "cop" and lemma not in data.copulas:
        report.add_field("cop-lemma", row, LEMMA, f"{lemma!r} is not a copula of the language data")


def _closest(value: str, values: Iterable[str]) -> str:
    close = get_close_matches(value, sorted(values), 1)
    return f"; did you mean {close[0]}?" if close else ""
