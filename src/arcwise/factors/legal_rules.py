"""``LegalRules``: rules over the dependents of a word, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.inference.labels import codes_of
from arcwise.learning.config import from_dict, read_toml
from arcwise.learning.options import changed, check_options, option, short_repr
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike

LEAST_HEADS = 100
"""A rule of one relation is learned from at least this many heads; fewer prove little."""
_MAX_RULES = 64
_PAIRS = (("ccomp", "xcomp"), ("obj", "ccomp"))
"""Relations that many treebanks never combine at one head."""


@dataclass(frozen=True)
class AtMostOne:
    """A word has at most one dependent with a label of the group."""

    labels: tuple[str, ...] = option((), "Labels of the group; each stands for its subtypes too.")
    exempt: tuple[str, ...] = option((), "Labels that do not count.")
    name: str = option("", "Name of the rule.")
    cost: float | None = option(
        None,
        "Cost of every further dependent, in units of the decoder's scores (default: forbidden).",
        above=0,
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class Leaf:
    """A word with one of these labels has only certain dependents, or none."""

    labels: tuple[str, ...] = option((), "Labels of the words; each stands for its subtypes too.")
    dependents: tuple[str, ...] = option((), "Labels that their dependents may have.")
    name: str = option("", "Name of the rule.")
    cost: float | None = option(
        None, "Cost of every other dependent, in units of the decoder's scores (default: forbidden).", above=0
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class LegalRules:
    """Rules over the dependents of a word. The root of the sentence is not a word and may have any.

    >>> LegalRules.of({"at_most_one": [{"labels": ["obj"]}]})
    LegalRules(at_most_one=(AtMostOne(labels=('obj',)),), leaf=())
    """

    at_most_one: tuple[AtMostOne, ...] = ()
    leaf: tuple[Leaf, ...] = ()

    def __post_init__(self) -> None:
        for rules in (self.at_most_one, self.leaf):
            if len(rules) > _MAX_RULES:
                raise InputError(f"rules: found {len(rules)} of one kind, expected at most {_MAX_RULES}")

    @classmethod
    def read(cls, path: PathLike) -> LegalRules:
        """Read rules from a TOML file."""
        return cls.of(read_toml(path), where=str(path))

    @classmethod
    def of(cls, values: Mapping[str, Any], *, where: str = "rules") -> LegalRules:
        """Build rules from plain values, the inverse of ``plain``."""
        kinds: dict[str, Any] = {"at_most_one": AtMostOne, "leaf": Leaf}
        rules: dict[str, Any] = {}
        for key, tables in values.items():
            if key not in kinds:
                raise InputError(f"{where}: found key {key!r}, expected one of {', '.join(kinds)}")
            if not isinstance(tables, list | tuple) or not all(isinstance(item, Mapping) for item in tables):
                raise InputError(f"{where}: {key}: found {tables!r}, expected tables [[{key}]]")
            for number, table in enumerate(tables, 1):
                if not table.get("labels"):
                    raise InputError(f"{where}: {key} {number}: has no labels")
            rules[key] = tuple(from_dict(kinds[key], table, where=f"{where}: {key}") for table in tables)
        return cls(**rules)

    def plain(self) -> dict[str, list[dict[str, Any]]]:
        """The rules as plain values, for JSON and TOML."""
        groups = {"at_most_one": self.at_most_one, "leaf": self.leaf}
        return {kind: [changed(rule) for rule in rules] for kind, rules in groups.items() if rules}

    def kernel(self, labels: Sequence[str]) -> native.LegalTreeRules:
        """Return the rules in native form, for trees with these labels."""
        return _kernel(self, tuple(labels))

    def violated_by(self, treebank: Treebank) -> npt.NDArray[np.bool_]:
        """Return for each sentence whether its tree violates a rule; words without a head are left out.

        >>> rows = "1 Birds _ _ _ _ 2 nsubj _ _", "2 sing _ _ _ _ 0 root _ _", "3 songs _ _ _ _ 2 nsubj _ _"
        >>> treebank = Treebank.from_string("\\n".join(rows).replace(" ", "\\t") + "\\n\\n")
        >>> ud_rules().violated_by(treebank).tolist()
        [True]
        """
        deprels = treebank.column("deprel")
        labels = sorted(set(deprels))
        heads, starts = np.asarray(treebank.heads), treebank.sentence_words.astype(np.int64)
        return np.asarray(self.kernel(labels).illegal(heads, codes_of(deprels, labels), starts)).astype(bool)


@lru_cache(maxsize=16)
def _kernel(rules: LegalRules, labels: tuple[str, ...]) -> native.LegalTreeRules:
    # Cached: a parse builds it for every batch.
    groups, leaves, outsiders = (np.zeros(len(labels), np.uint64) for _ in range(3))
    for code, label in enumerate(labels):
        for number, rule in enumerate(rules.at_most_one):
            if _matches(label, rule.labels) and not _matches(label, rule.exempt):
                groups[code] |= np.uint64(1 << number)
        for number, leaf in enumerate(rules.leaf):
            if _matches(label, leaf.labels):
                leaves[code] |= np.uint64(1 << number)
            if not _matches(label, leaf.dependents):
                outsiders[code] |= np.uint64(1 << number)
    costs = (
        np.array([np.inf if rule.cost is None else rule.cost for rule in kind], np.float64)
        for kind in (rules.at_most_one, rules.leaf)
    )
    return native.LegalTreeRules(groups, leaves, outsiders, *costs)


@cache
def ud_rules() -> LegalRules:
    """Return the guidelines of Universal Dependencies.

    >>> [rule.name for rule in ud_rules().at_most_one]
    ['subject', 'object']
    """
    return LegalRules.read(Path(__file__).with_name("ud.toml"))


def learned_rules(treebank: Treebank) -> LegalRules:
    """Return the rules that a treebank never violates.

    The candidates are the guidelines of UD and, for every relation that ``LEAST_HEADS`` words have among
    their dependents and for a few pairs of relations, at most one such dependent.
    """
    relations = [label.partition(":")[0] for label in treebank.column("deprel")]
    candidates = LegalRules(
        (
            *ud_rules().at_most_one,
            *(AtMostOne(pair, name=" or ".join(pair)) for pair in _PAIRS),
            *(AtMostOne((relation,), name=relation) for relation in _frequent(treebank, relations)),
        )[:_MAX_RULES],
        ud_rules().leaf,
    )
    present = set(relations)
    holding: dict[str, list[Any]] = {"at_most_one": [], "leaf": []}
    for kind, rules in holding.items():
        for rule in getattr(candidates, kind):
            alone = LegalRules(**{kind: (rule,)})
            if present & set(rule.labels) and not alone.violated_by(treebank).any():
                rules.append(rule)
    kept: list[AtMostOne] = []
    for rule in holding["at_most_one"]:
        # A group that a kept one contains says nothing new, unless the kept one exempts some of it.
        if not any(set(rule.labels) <= set(group.labels) and not group.exempt for group in kept):
            kept.append(rule)
    return LegalRules(tuple(kept), tuple(holding["leaf"]))


def _frequent(treebank: Treebank, relations: Sequence[str]) -> list[str]:
    """Return the relations that ``LEAST_HEADS`` words have among their dependents."""
    heads, starts = np.asarray(treebank.heads), treebank.sentence_words.astype(np.int64)
    names = sorted(set(relations))
    first = np.repeat(starts[:-1], np.diff(starts))
    with_head = heads > 0
    pairs = np.stack([(first + heads)[with_head], codes_of(relations, names)[with_head]])
    counts = np.bincount(np.unique(pairs, axis=1)[1], minlength=len(names))
    return [name for name, count in zip(names, counts.tolist(), strict=True) if count >= LEAST_HEADS]


def _matches(label: str, names: Sequence[str]) -> bool:
    return any(label == name or label.startswith(f"{name}:") for name in names)
