"""Lexical consistency: the tag, lemma and features of a form, compared with its other occurrences.

A paradigm outlier has another form than most words with its lemma, UPOS and FEATS; one of these may be wrong.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from arcwise.mining.crossfit import Crossfitted
from arcwise.mining.evidence import Floats
from arcwise.mining.signal import Measurement, Vote
from arcwise.mining.words import FlatWords

_SMOOTHING = 0.5
_CLEAR = 5
"""The usual value must be this many times as frequent as the annotated one to be proposed."""
_RARE = 2
"""Occurrences of a paradigm outlier at most."""


@dataclass(frozen=True)
class Usual:
    """The values of one column by key, e.g. lemmas by form and tag."""

    counts: dict[Hashable, Counter[str]]
    keys: Sequence[Hashable]
    values: Sequence[str]
    most_common: dict[Hashable, tuple[str, int]]

    @classmethod
    def of(cls, keys: Sequence[Hashable], values: Sequence[str]) -> Usual:
        """Count values by key."""
        counts: dict[Hashable, Counter[str]] = defaultdict(Counter)
        for key, value in zip(keys, values, strict=True):
            counts[key][value] += 1
        # The smallest among equally frequent values, so that the order of the file does not matter.
        most = {key: min(of.items(), key=lambda item: (-item[1], item[0])) for key, of in counts.items()}
        return cls(dict(counts), keys, values, most)

    def surprise(self) -> Floats:
        """log((occurrences of the most frequent other value + ½) / (those of this value elsewhere + ½)).

        NaN where the key occurs once.
        """
        result = np.full(len(self.keys), np.nan)
        for word, (key, value) in enumerate(zip(self.keys, self.values, strict=True)):
            counts = self.counts[key]
            if counts.total() > 1:
                other = max((count for name, count in counts.items() if name != value), default=0)
                result[word] = np.log((other + _SMOOTHING) / (counts[value] - 1 + _SMOOTHING))
        return result

    def clearly_other(self, word: int) -> tuple[str, int, int] | None:
        """The usual value with its count and the total, if it clearly differs from that of the word."""
        value, count = self.most_common[self.keys[word]]
        if value == self.values[word]:
            return None
        counts = self.counts[self.keys[word]]
        if count < _CLEAR * counts[self.values[word]]:
            return None
        return value, count, counts.total()


def lexicon(words: FlatWords, crossfitted: Crossfitted) -> Measurement:
    """Other tags, lemmas or features of the form elsewhere, or another form of the same paradigm cell."""
    tagged = list(zip(words.lower, words.upos, strict=True))
    # Apart from form and tag, the label decides between syncretic features (nominative, accusative).
    labelled = list(zip(words.lower, words.upos, words.labels, strict=True))
    tables = {
        "upos": Usual.of(words.lower, words.upos),
        "lemma": Usual.of(tagged, words.treebank.column("lemma")),
        "feats": Usual.of(labelled, words.feats),
    }
    columns = {name: table.surprise() for name, table in tables.items()}
    cells = list(zip(words.treebank.column("lemma"), words.upos, words.feats, strict=True))
    paradigm = Usual.of(cells, words.lower)
    in_paradigm = np.array([lemma != "_" and feats != "_" for lemma, _, feats in cells], np.bool_)
    columns["paradigm"] = np.where(in_paradigm, paradigm.surprise(), np.nan)
    score = np.fmax(columns["lemma"], columns["feats"]) - 2.0

    def reasons(word: int) -> list[str]:
        lines = []
        for name, table in tables.items():
            usual = table.clearly_other(word)
            if usual is not None:
                value, count, total = usual
                lines.append(
                    f"of {total} “{words.forms[word]}”{_where(name, words, word)} {count} have "
                    f"{name.upper()} {value}"
                )
        usual_form = paradigm.clearly_other(word) if in_paradigm[word] else None
        # Other frequent forms are variants, such as “'s” of “is”.
        if usual_form is not None and paradigm.counts[cells[word]][words.lower[word]] <= _RARE:
            form, count, total = usual_form
            lemma, tag, feats = cells[word]
            lines.append(f"of {total} {tag} “{lemma}” with {feats} {count} have the form “{form}”")
        return lines

    def votes(word: int) -> list[Vote]:
        usual_values = {name: table.clearly_other(word) for name, table in tables.items()}
        return [
            Vote(name, value=usual[0], weight=usual[1] / usual[2])
            for name, usual in usual_values.items()
            if usual is not None and usual[0] != "_"
        ]

    return Measurement(score, columns, reasons, votes)


def _where(column: str, words: FlatWords, word: int) -> str:
    if column == "upos":
        return ""
    tag = f" as {words.upos[word]}"
    return tag if column == "lemma" else f"{tag} and {words.labels[word]}"
