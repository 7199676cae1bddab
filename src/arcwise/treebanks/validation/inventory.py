"""``Inventory``: which tags and labels a treebank uses, how often and where, and what a misspelt one is likely to mean."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from arcwise.treebanks.columns import Coded
from arcwise.treebanks.treebank import Treebank
from arcwise.treebanks.validation.spelling import edit_distance

UPOS_TAGS = frozenset(
    [
        "ADJ",
        "ADP",
        "ADV",
        "AUX",
        "CCONJ",
        "DET",
        "INTJ",
        "NOUN",
        "NUM",
        "PART",
        "PRON",
        "PROPN",
        "PUNCT",
        "SCONJ",
        "SYM",
        "VERB",
        "X",
    ]
)
"""The universal tags."""

RELATIONS = frozenset(
    [
        "acl",
        "advcl",
        "advmod",
        "amod",
        "appos",
        "aux",
        "case",
        "cc",
        "ccomp",
        "clf",
        "compound",
        "conj",
        "cop",
        "csubj",
        "dep",
        "det",
        "discourse",
        "dislocated",
        "expl",
        "fixed",
        "flat",
        "goeswith",
        "iobj",
        "list",
        "mark",
        "nmod",
        "nsubj",
        "nummod",
        "obj",
        "obl",
        "orphan",
        "parataxis",
        "punct",
        "reparandum",
        "root",
        "vocative",
        "xcomp",
    ]
)
"""The universal relations."""

_FREQUENT_TIMES = 30  # so much more often than a rare label does one occur that it may be a misspelling of
_RARE = 2


_LABEL = re.compile(r"[a-z]+(:[a-z]+)?", re.ASCII)


def has_label_form(label: str) -> bool:
    """Whether a label is a relation, or a relation and a subtype, in small letters."""
    return _LABEL.fullmatch(label) is not None


def is_label(label: str) -> bool:
    """Whether a label has the form of one and begins with a universal relation."""
    return has_label_form(label) and universal(label) in RELATIONS


def universal(label: str) -> str:
    """The part of a label before the colon."""
    return label.partition(":")[0]


@dataclass(frozen=True)
class Inventory:
    """Counts of a treebank: ``arcs`` has (UPOS of the head, UPOS of the word, label) → how often; the head of a root is ``""``.

    An empty one knows the universal tags and relations alone.
    """

    arcs: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    features: bool = False
    """Whether any word of the treebank has FEATS."""
    guesses: dict[tuple[str, str, str], list[str]] = field(default_factory=dict, repr=False, compare=False)
    """What was guessed already (``guess_labels``)."""

    @classmethod
    def of(cls, treebanks: Treebank | Iterable[Treebank]) -> Inventory:
        r"""The inventory of a treebank, or of one that comes in pieces.

        >>> rows = "1\tBirds\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tsing\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
        >>> found = Inventory.of(Treebank.from_string(rows))
        >>> found.deprel, found.arcs["VERB", "NOUN", "nsubj"]
        ({'nsubj': 1, 'root': 1}, 1)
        """
        arcs: Counter[tuple[str, str, str]] = Counter()
        features = False
        for treebank in [treebanks] if isinstance(treebanks, Treebank) else treebanks:
            if treebank.word_count:
                arcs.update(_arcs(treebank))
                features = features or any(value not in ("_", "") for value in treebank.column("feats"))
        return cls(dict(arcs), features)

    @cached_property
    def deprel(self) -> dict[str, int]:
        """Label → how often, the most frequent first."""
        return self._by(2)

    @cached_property
    def upos(self) -> dict[str, int]:
        """UPOS → how often, the most frequent first."""
        return self._by(1)

    @cached_property
    def known_labels(self) -> frozenset[str]:
        """The universal relations but root, and the labels of the treebank that begin with one of them."""
        return frozenset(name for name in {*self.deprel, *RELATIONS} if is_label(name) and name != "root")

    @cached_property
    def labels_of(self) -> dict[tuple[str, str], Counter[str]]:
        """(UPOS of the head, UPOS of the word) → label → how often."""
        found: dict[tuple[str, str], Counter[str]] = {}
        for (head, word, label), count in self.arcs.items():
            found.setdefault((head, word), Counter())[label] += count
        return found

    @cached_property
    def upos_of(self) -> dict[str, Counter[str]]:
        """Label → UPOS of the word → how often."""
        found: dict[str, Counter[str]] = {}
        for (_, word, label), count in self.arcs.items():
            found.setdefault(label, Counter())[word] += count
        return found

    @cached_property
    def misspelt(self) -> dict[str, str]:
        """Rare label → the frequent one that it is one letter away from, with the same relation before the colon.

        >>> Inventory({("VERB", "NOUN", "nsubj:pass"): 60, ("VERB", "NOUN", "nsubj:pas"): 1}).misspelt
        {'nsubj:pas': 'nsubj:pass'}
        """
        return {
            rare: other
            for rare, count in self.deprel.items()
            if count <= _RARE and ":" in rare and len(rare.partition(":")[2]) >= 3
            for other, times in self.deprel.items()
            if times >= _FREQUENT_TIMES * count
            and ":" in other
            and universal(other) == universal(rare)
            and edit_distance(rare, other) == 1
        }

    def _by(self, place: int) -> dict[str, int]:
        found: Counter[str] = Counter()
        for arc, count in self.arcs.items():
            found[arc[place]] += count
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _arcs(treebank: Treebank) -> Counter[tuple[str, str, str]]:
    upos, labels = Coded.of(treebank.column("upos")), Coded.of(treebank.column("deprel"))
    heads = treebank.heads.astype(np.int64)
    starts = np.repeat(treebank.sentence_words[:-1].astype(np.int64), treebank.sentence_lengths)
    tags = [*upos.strings, "", "_"]  # the root's, and that of a head that is not known
    root, unknown = len(upos.strings), len(upos.strings) + 1
    of_head = upos.codes[np.clip(starts + heads - 1, 0, None)].astype(np.int64)
    of_head = np.where(heads > 0, of_head, np.where(heads == 0, root, unknown))
    keys = (of_head * len(tags) + upos.codes) * len(labels.strings) + labels.codes
    found, counts = np.unique(keys, return_counts=True)
    return Counter(
        {
            (
                tags[key // len(labels.strings) // len(tags)],
                tags[key // len(labels.strings) % len(tags)],
                labels.strings[key % len(labels.strings)],
            ): count
            for key, count in zip(found.tolist(), counts.tolist(), strict=True)
        }
    )
