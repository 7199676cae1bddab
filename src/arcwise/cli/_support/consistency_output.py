"""The output of ``arcwise validate --consistency``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from arcwise.cli._support.files import read_version
from arcwise.cli._support.output import echo, json_text, one_line
from arcwise.treebanks import Treebank
from arcwise.treebanks.validation import Inconsistency, Occurrence, find_inconsistencies

_MOST_PLACES = 5  # places of a variant in the text; --json has all
_TITLES = {"arc": "arc", "upos": "UPOS", "lemma": "lemma"}


def print_inconsistencies(files: Sequence[str], *, context: int, most: int, as_json: bool) -> None:
    """Print the inconsistencies of the files of one treebank, each with its places."""
    treebanks = [read_version(file, may_be_empty=True) for file in files]
    places = _Places(files, treebanks)
    inconsistencies = find_inconsistencies(treebanks, context=context)
    for inconsistency in inconsistencies[: most or None]:
        if as_json:
            echo(json_text(places.to_json(inconsistency)))
            continue
        for line in places.lines(inconsistency):
            echo(line)
    if most and len(inconsistencies) > most:
        echo(f"stopped after {most} of {len(inconsistencies)} inconsistencies (--max-errors)", err=True)
    number = f"{len(inconsistencies):,} inconsistenc{'y' if len(inconsistencies) == 1 else 'ies'}"
    echo(f"{len(files)} file{'s' * (len(files) != 1)}: {number}", err=True)


class _Places:
    """Paths and lines of occurrences."""

    def __init__(self, files: Sequence[str], treebanks: Sequence[Treebank]) -> None:
        self._files, self._treebanks = files, treebanks
        self._line_ends = [
            np.flatnonzero(np.frombuffer(treebank.data, np.uint8) == ord("\n")) for treebank in treebanks
        ]

    def lines(self, inconsistency: Inconsistency) -> Iterator[str]:
        """A heading, and a line for each variant, the most frequent first."""
        *words, tag = inconsistency.words if inconsistency.kind == "lemma" else (*inconsistency.words, "")
        marked = [*inconsistency.before, f"[{' '.join(words)}]", *inconsistency.after]
        shown = " ".join([*marked, *([tag] if tag else [])])
        yield one_line(f"{_TITLES[inconsistency.kind]}: {shown}")
        for variant in inconsistency.variants:
            count = len(variant.occurrences)
            places = [self._place(where) for where in islice(variant.occurrences, _MOST_PLACES)]
            more = f", and {count - _MOST_PLACES:,} more" if count > _MOST_PLACES else ""
            yield one_line(f"  {count:,} × {variant.analysis}: {', '.join(places)}{more}")

    def _place(self, where: Occurrence) -> str:
        sent_id = self._treebanks[where.treebank][where.sentence].sent_id
        return f"{self._files[where.treebank]}:{self._line(where)}" + (f" ({sent_id})" if sent_id else "")

    def _line(self, where: Occurrence) -> int:
        treebank = self._treebanks[where.treebank]
        layout = treebank.layout
        row = int(layout.word_rows[int(layout.sentence_words[where.sentence]) + where.first - 1])
        offset = int(layout.marks.reshape(layout.row_count, -1)[row, 0])
        return treebank.first_line + int(np.searchsorted(self._line_ends[where.treebank], offset))

    def to_json(self, inconsistency: Inconsistency) -> dict[str, Any]:
        """As a JSON object; an occurrence has its path, line, sent_id and words instead of numbers alone."""
        values = inconsistency.to_json()
        for variant, written in zip(inconsistency.variants, values["variants"], strict=True):
            written["occurrences"] = [
                {
                    "path": self._files[where.treebank],
                    "line": self._line(where),
                    "sentence": where.sentence,
                    "sent_id": self._treebanks[where.treebank][where.sentence].sent_id,
                    "first": where.first,
                    "last": where.last,
                }
                for where in variant.occurrences
            ]
        return values
