"""Two people: how another file annotates the same sentences, where the two differ, and what was decided between them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from arcwise.annotation.document import AnnotationDocument
from arcwise.errors import InputError
from arcwise.evaluation.agreement import agreement_of
from arcwise.treebanks import COLUMNS as ROW
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.alignment import carried, numbered_alike, same_rows
from arcwise.treebanks.blocks import SentenceBlock
from arcwise.treebanks.differences import FieldDifference, SentenceDifference, SideBySide
from arcwise.treebanks.edits import Edit, SetComment, SetField
from arcwise.treebanks.files import PathLike

COMPARED = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps")
"""What is compared; ``id`` tells of rows that one side lacks."""
ADJUDICATED = "adjudicated"
"""The comment that says which fields of a sentence were decided between the two: ``# adjudicated = 3:head 5:deprel``."""
Json = dict[str, Any]


@dataclass(frozen=True)
class _Places:
    """Where the sentences of the document are in the other files; holds until sentences are added, removed, split or joined."""

    in_a: dict[int, int]
    in_b: dict[int, int]


@dataclass(frozen=True)
class _Compared:
    """A and B as they were at a version of the document."""

    version: int
    differences: tuple[SentenceDifference, ...]
    agreement: Json


@dataclass(frozen=True)
class Choice:
    """What is right in one field: what A has, what B has, or another ``value``."""

    row: str
    column: str
    choice: Literal["a", "b", "value"]
    value: str | None = None

    @classmethod
    def from_json(cls, values: Json) -> Choice:
        """The choice that a JSON object tells."""
        row, column, choice, value = (values.get(name) for name in ("row", "column", "choice", "value"))
        if not isinstance(row, str):
            raise InputError(f"row: found {row!r}, expected the ID of a row")
        if column not in COMPARED[1:]:
            raise InputError(f"column: found {column!r}, expected one of {', '.join(COMPARED[1:])}")
        if choice not in ("a", "b", "value"):
            raise InputError(f"choice: found {choice!r}, expected a, b or value")
        if (choice == "value") != isinstance(value, str):
            raise InputError(f"value: found {value!r}, expected text with choice value, and nothing else")
        return cls(row, column, choice, value)


class FileComparison:
    """The document beside another file, B. What B is compared with is A: the file that was given, if the document is another one
    (``--output``), else the document itself as it is now."""

    def __init__(
        self, document: AnnotationDocument, b: Treebank, *, name: str, a: Treebank | None = None
    ) -> None:
        self.name = name
        self._document, self._a, self._b = document, a, b
        self._lock = threading.Lock()
        self._places: _Places | None = None
        self._compared: _Compared | None = None

    @classmethod
    def read(cls, document: AnnotationDocument, b: PathLike, *, a: PathLike | None = None) -> FileComparison:
        """Read the other file, and A if the document is not A itself."""
        return cls(document, Treebank.read(b), name=Path(b).name, a=None if a is None else Treebank.read(a))

    def changed(self, *, renumbered: bool) -> None:
        """The document changed; ``renumbered``: sentences have other numbers than before."""
        if renumbered:
            with self._lock:
                self._places = None

    def _found(self) -> _Places:
        with self._lock:
            if self._places is None:
                treebank = self._document.treebank()
                in_b = SideBySide(treebank, self._b).pairs
                in_a = (
                    {n: n for n in range(len(treebank))}
                    if self._a is None
                    else SideBySide(treebank, self._a).pairs
                )
                self._places = _Places(in_a, in_b)
            return self._places

    def _comparison(self) -> _Compared:
        with self._lock:
            version = self._document.version
            known = self._compared
            if known is None or (self._a is None and known.version != version):
                sides = SideBySide(self._document.treebank() if self._a is None else self._a, self._b)
                known = _Compared(version, tuple(sides.differences(COMPARED)), _agreement_json(sides))
                self._compared = known
            return known

    # ---- showing

    def of(self, number: int, sentence: Sentence) -> Json | None:
        """Where a sentence of the document differs from B: row → column → (ours, theirs); None if B has no such sentence."""
        other = self._other(number)
        if other is None:
            return None
        rows: dict[str, dict[str, list[str | None]]] = {}
        for field in _fields(sentence, other):
            rows.setdefault(field.row, {})[field.column] = [field.a, field.b]
        return {"rows": rows, "adjudicated": sorted(_adjudicated(sentence))}

    def _other(self, number: int) -> Sentence | None:
        """The sentence of B that a sentence of the document is."""
        b = self._found().in_b.get(number)
        return None if b is None else self._b[b]

    def to_json(self, first: int, count: int) -> Json:
        """How well A and B agree, and a part of the sentences in which they differ."""
        compared = self._comparison()
        numbers = {a: number for number, a in self._found().in_a.items()}
        shown = compared.differences[first : first + count]
        items = [self._item(found, None if found.a is None else numbers.get(found.a)) for found in shown]
        return {"agreement": compared.agreement, "items": items, "total": len(compared.differences)}

    def _item(self, found: SentenceDifference, number: int | None) -> Json:
        present = None if number is None else self._document.sentence(number)
        values = {} if present is None else {row[0]: dict(zip(ROW, row, strict=True)) for row in present.rows}
        marks = set() if present is None else _adjudicated(present)
        rows = []
        for field in found.fields:
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
            "sent_id": found.sent_id,
            "text": found.text,
            "only": "a" if found.b is None else "b" if found.a is None else None,
            "rows": rows,
        }

    # ---- deciding

    def adjudicating(self, sentence: Sentence, number: int, choices: Sequence[Choice]) -> list[Edit]:
        """The edits that decide some fields of a sentence; a comment remembers that they were decided."""
        edits: list[Edit] = []
        for choice in choices:
            chosen = choice.value
            if chosen is None:
                chosen = self._value_of(choice.choice, sentence, number, choice.row, choice.column)
            edits.append(SetField(choice.row, choice.column, chosen or "_"))
        marks = _adjudicated(sentence) | {f"{choice.row}:{choice.column}" for choice in choices}
        return [*edits, SetComment(ADJUDICATED, " ".join(sorted(marks)))]

    def _value_of(self, side: str, sentence: Sentence, number: int, row: str, column: str) -> str:
        """The value that A or B has, by the numbers that the words have in the document."""
        other = self._other(number) if side == "b" else self._of_a(number, sentence)
        if other is None:
            raise InputError(f"choice: found {side!r}, expected another: that file has no such sentence")
        ours, theirs = SentenceBlock(sentence.conllu_bytes), SentenceBlock(other.conllu_bytes)
        to = same_rows(ours, theirs)
        found = theirs.by_id.get(to.get(row.encode("utf-8", "replace"), b""))
        if found is None:
            raise InputError(f"row: found {row!r}, expected one that both files have")
        value, back = found[ROW.index(column)], {b: a for a, b in to.items()}
        taken = value if numbered_alike(theirs, back) else carried(value, column, back)
        if taken is None:
            raise InputError(
                f"choice: the head that {side} has is a word that the sentence has not; expected another value"
            )
        return taken.decode()

    def _of_a(self, number: int, sentence: Sentence) -> Sentence | None:
        """The sentence of A that a sentence of the document is."""
        if self._a is None:
            return sentence
        place = self._found().in_a.get(number)
        return None if place is None else self._a[place]


def _fields(a: Sentence, b: Sentence) -> Iterator[FieldDifference]:
    pair = (Treebank(side.conllu_bytes, strict=False) for side in (a, b))
    for found in SideBySide(*pair).differences(COMPARED):
        yield from found.fields


def _adjudicated(sentence: Sentence) -> set[str]:
    return set(sentence.comments.get(ADJUDICATED, "").split())


def _agreement_json(sides: SideBySide) -> Json:
    found = agreement_of(sides)
    short = {"kappa_heads": found.heads.kappa, "kappa_labels": found.labels.kappa, "alpha": found.arcs.alpha}
    return {**found.to_json(), **short}
