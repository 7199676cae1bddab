"""Comparison of a document with another annotator's file: differences, agreement and adjudication."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arcwise.annotation.document import AnnotationDocument
from arcwise.errors import InputError
from arcwise.evaluation.agreement import agreement_of
from arcwise.treebanks import COLUMNS as ROW
from arcwise.treebanks import Sentence, Treebank, read_bytes
from arcwise.treebanks.adjudication import Choice, field_from
from arcwise.treebanks.blocks import SentenceBlock
from arcwise.treebanks.differences import FieldDifference, SentenceDifference, SideBySide
from arcwise.treebanks.edits import Edit, SetComment, SetField
from arcwise.treebanks.files import PathLike, refuse_other_format
from arcwise.treebanks.problems import OF_TREES

COMPARED = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps")
"""The compared columns; a difference in ``id`` is a row that one side lacks."""
ADJUDICATED = "adjudicated"
"""The comment that records the adjudicated fields of a sentence: ``# adjudicated = 3:head 5:deprel``."""
Json = dict[str, Any]


@dataclass(frozen=True)
class _Alignment:
    """The sentences of the document in A and B; valid until sentences are added, removed, split or joined."""

    in_a: dict[int, int]
    in_b: dict[int, int]


@dataclass(frozen=True)
class _Differences:
    """The differences between A and B at one version of the document."""

    version: int
    sentences: tuple[SentenceDifference, ...]
    agreement: Json


class FileComparison:
    """A document compared with another file, B.

    B is compared with A: the document itself, or the original file if the document is a copy of it
    (``--output``).
    """

    def __init__(
        self, document: AnnotationDocument, b: Treebank, *, name: str, a: Treebank | None = None
    ) -> None:
        """``name``: the name of B; ``a``: the original file if the document is a copy."""
        self.name = name
        self._document, self._a, self._b = document, a, b
        self._lock = threading.Lock()  # requests run in threads; aligning two large files twice is slow
        self._alignment: _Alignment | None = None
        self._differences: _Differences | None = None

    @classmethod
    def read(cls, document: AnnotationDocument, b: PathLike, *, a: PathLike | None = None) -> FileComparison:
        """Read B, and A if the document is a copy of it; as for ``arcwise diff``, trees may be broken."""
        return cls(document, _read(b), name=Path(b).name, a=None if a is None else _read(a))

    def changed(self, *, renumbered: bool) -> None:
        """Update after a change of the document; ``renumbered``: sentence numbers have changed."""
        if renumbered:
            with self._lock:
                self._alignment = None

    def _aligned(self) -> _Alignment:
        with self._lock:
            if self._alignment is None:
                treebank = self._document.treebank()
                in_b = SideBySide(treebank, self._b).pairs
                in_a = (
                    # Without a separate A the document is A, and its sentences correspond by number.
                    {n: n for n in range(len(treebank))}
                    if self._a is None
                    else SideBySide(treebank, self._a).pairs
                )
                self._alignment = _Alignment(in_a, in_b)
            return self._alignment

    def _compared(self) -> _Differences:
        with self._lock:
            version, cached = self._document.version, self._differences
            # A fixed file A never changes; the document as A changes with every version.
            if cached is None or (self._a is None and cached.version != version):
                sides = SideBySide(self._document.treebank() if self._a is None else self._a, self._b)
                cached = _Differences(version, tuple(sides.differences(COMPARED)), _agreement_json(sides))
                self._differences = cached
            return cached

    def of(self, number: int, sentence: Sentence) -> Json | None:
        """Differences of a sentence from B: row → column → (ours, theirs); None if B lacks it."""
        counterpart = self._in_b(number)
        if counterpart is None:
            return None
        rows: dict[str, dict[str, list[str | None]]] = {}
        for field in _fields(sentence, counterpart):
            rows.setdefault(field.row, {})[field.column] = [field.a, field.b]
        return {"rows": rows, "adjudicated": sorted(_adjudicated(sentence))}

    def _in_a(self, number: int, sentence: Sentence) -> Sentence | None:
        if self._a is None:
            return sentence
        place = self._aligned().in_a.get(number)
        return None if place is None else self._a[place]

    def _in_b(self, number: int) -> Sentence | None:
        place = self._aligned().in_b.get(number)
        return None if place is None else self._b[place]

    def to_json(self, first: int, count: int) -> Json:
        """The agreement of A and B, and a page of the sentences in which they differ."""
        compared = self._compared()
        numbers = {a: number for number, a in self._aligned().in_a.items()}
        items = [
            self._item(difference, None if difference.a is None else numbers.get(difference.a))
            for difference in compared.sentences[first : first + count]
        ]
        return {"agreement": compared.agreement, "items": items, "total": len(compared.sentences)}

    def _item(self, difference: SentenceDifference, number: int | None) -> Json:
        present = None if number is None else self._document.sentence(number)
        values = {} if present is None else {row[0]: dict(zip(ROW, row, strict=True)) for row in present.rows}
        marks = set() if present is None else _adjudicated(present)
        rows = []
        for field in difference.fields:
            now = values.get(field.row, {}).get(field.column)
            chosen = now if f"{field.row}:{field.column}" in marks else None
            rows.append(
                {
                    "row": field.row,
                    "form": field.form,
                    "column": field.column,
                    "a": field.a,
                    "b": field.b,
                    "now": now,
                    "chosen": chosen,
                }
            )
        return {
            "sentence": number,
            "sent_id": difference.sent_id,
            "text": difference.text,
            "only": "a" if difference.b is None else "b" if difference.a is None else None,
            "rows": rows,
        }

    def adjudication_edits(self, sentence: Sentence, number: int, choices: Sequence[Choice]) -> list[Edit]:
        """The edits that apply choices to a sentence; a comment records which fields were adjudicated."""
        edits: list[Edit] = []
        marks = _adjudicated(sentence)
        for choice in choices:
            row, column, value = choice.row, choice.column, choice.value
            assert row is not None
            assert column is not None
            if choice.take != "value":
                value = self._side_value(choice.take, row, column, sentence, number)
            edits.append(SetField(row, column, value or "_"))
            marks.add(f"{row}:{column}")
        return [*edits, SetComment(ADJUDICATED, " ".join(sorted(marks)))]

    def _side_value(self, side: str, row: str, column: str, sentence: Sentence, number: int) -> str:
        """The value that A or B has for a field, with heads renumbered to the words of the document."""
        source = self._in_b(number) if side == "b" else self._in_a(number, sentence)
        if source is None:
            raise InputError(f"choice: file {side} does not have this sentence; choose another value")
        blocks = SentenceBlock(source.conllu_bytes), SentenceBlock(sentence.conllu_bytes)
        return field_from(*blocks, row, column)


def _read(path: PathLike) -> Treebank:
    data = read_bytes(path)
    refuse_other_format(data, path)
    treebank = Treebank(data, source=str(path), strict=False)
    for problem in treebank.problems:
        if problem.kind not in OF_TREES:
            raise InputError(str(problem))
    if not len(treebank):
        raise InputError(f"{path}: found no sentence, expected CoNLL-U")
    return treebank


def _fields(a: Sentence, b: Sentence) -> Iterator[FieldDifference]:
    sides = (Treebank(side.conllu_bytes, strict=False) for side in (a, b))
    for difference in SideBySide(*sides).differences(COMPARED):
        yield from difference.fields


def _adjudicated(sentence: Sentence) -> set[str]:
    return set(sentence.comments.get(ADJUDICATED, "").split())


def _agreement_json(sides: SideBySide) -> Json:
    agreement = agreement_of(sides)
    short = {
        "kappa_heads": agreement.heads.kappa,
        "kappa_labels": agreement.labels.kappa,
        "alpha": agreement.arcs.alpha,
    }
    return {**agreement.to_json(), **short}
