"""``EditedSentence``: the lines of one sentence, taken apart to be edited and put together again, byte for byte where nothing changed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from arcwise.errors import InputError
from arcwise.treebanks.columns import COLUMNS, column_number, field_bytes
from arcwise.treebanks.edits.references import (
    misc_heads,
    renumbered_comment,
    renumbered_deps,
    renumbered_misc,
)

RowKind = Literal["word", "multiword", "empty", "other"]
_FORM, _HEAD, _DEPS, _MISC = (column_number(name) for name in ("form", "head", "deps", "misc"))
_GLUED = "SpaceAfter=No"


@dataclass(eq=False)
class EditedRow:
    """One line with its fields. ``end``: its line end. A new row has no ID until the block is renumbered."""

    kind: RowKind
    fields: list[str]
    end: str

    @property
    def id(self) -> str:
        """The ID as the file has it."""
        return self.fields[0]

    def __getitem__(self, column: str) -> str:
        return self.fields[column_number(column)]

    def __setitem__(self, column: str, value: str) -> None:
        self.fields[column_number(column)] = field_bytes(value, column).decode("utf-8", "surrogateescape")

    @property
    def misc(self) -> list[str]:
        """The pairs of MISC."""
        return [] if self["misc"] == "_" else self["misc"].split("|")

    def set_misc(self, pairs: Iterable[str]) -> None:
        """Other pairs in MISC."""
        self.fields[_MISC] = "|".join(pairs) or "_"

    def drop_misc(self, *keys: str) -> None:
        """MISC without the pairs of some keys; untouched if it has none."""
        kept = [pair for pair in self.misc if pair.partition("=")[0] not in keys]
        if len(kept) < len(self.misc):
            self.set_misc(kept)

    def drop_misc_of(self, words: Collection[str]) -> None:
        """MISC without the pairs that name some words; untouched if none does."""
        kept = [pair for pair in self.misc if misc_heads(pair).isdisjoint(words)]
        if len(kept) < len(self.misc):
            self.set_misc(kept)

    @property
    def glued(self) -> bool:
        """Whether no space follows."""
        return _GLUED in self.fields[_MISC] and _GLUED in self.misc

    @glued.setter
    def glued(self, value: bool) -> None:
        if value != self.glued:
            self.set_misc([*self.misc, _GLUED] if value else [p for p in self.misc if p != _GLUED])

    def open_row(self, form: str = "_") -> EditedRow:
        """A new word in the same style of line, with nothing known but its form."""
        row = EditedRow("word", [""] + ["_"] * (len(COLUMNS) - 1), self.end)
        row["form"] = form
        return row


def _kind_of(line: str) -> RowKind:
    if line.startswith("#"):
        return "other"
    identity = line.partition("\t")[0]
    if identity.isdecimal():
        return "word"
    if re.fullmatch(r"[0-9]+-[0-9]+", identity):
        return "multiword"
    return "empty" if re.fullmatch(r"[0-9]+\.[0-9]+", identity) else "word"


def _cut(line: str) -> tuple[str, str]:
    """A line and its end."""
    text = line.removesuffix("\n")
    text = text.removesuffix("\r") if text != line else text
    return text, line[len(text) :]


@dataclass
class Comment:
    """A comment line with its ``#``, and its line end."""

    line: str
    end: str

    @property
    def text(self) -> str:
        """As ``Sentence.comment_lines`` has it."""
        return self.line[1:].strip()

    @property
    def key(self) -> str:
        """What stands before ``=``."""
        return self.text.partition("=")[0].strip()

    @property
    def value(self) -> str:
        """What stands after ``=``."""
        return self.text.partition("=")[2].strip()


Spans = list[tuple[EditedRow, EditedRow, EditedRow]]
"""Multiword tokens: the row, its first word, its last."""


class EditedSentence:
    """A sentence that is being edited: what stands before its comments, comments, rows, what follows."""

    def __init__(self, data: bytes) -> None:
        lines = data.decode("utf-8", "surrogateescape").split("\n")
        lines = [line + "\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
        mark = "\ufeff" if lines and lines[0].startswith("\ufeff") else ""
        if mark:
            lines[0] = lines[0].removeprefix(mark)
        first = next((i for i, line in enumerate(lines) if _cut(line)[0] and line[0] != "#"), len(lines))
        start = first
        while start > 0 and lines[start - 1].startswith("#"):
            start -= 1
        stop = next((i for i in range(first, len(lines)) if not _cut(lines[i])[0]), len(lines))
        self.lead = mark + "".join(lines[:start])
        self.comments = [Comment(*_cut(line)) for line in lines[start:first]]
        self.rows: list[EditedRow] = []
        for line in lines[first:stop]:
            text, end = _cut(line)
            kind = _kind_of(text)
            self.rows.append(EditedRow(kind, [text] if kind == "other" else text.split("\t"), end))
        self.tail = "".join(lines[stop:])
        self.newline = "\r\n" if any(row.end == "\r\n" for row in self.rows) else "\n"
        self.unsound: str | None = None
        """Why rows cannot be counted; then words are neither split nor joined."""

    def data(self) -> bytes:
        """The bytes of the sentence."""
        pieces = [(c.line, c.end) for c in self.comments] + [("\t".join(r.fields), r.end) for r in self.rows]
        last = len(pieces) - 1 if not self.tail else len(pieces)
        body = "".join(
            text + (end or (self.newline if i < last else "")) for i, (text, end) in enumerate(pieces)
        )
        return (self.lead + body + self.tail).encode("utf-8", "surrogateescape")

    # ---- rows

    def row(self, identity: str, *, kinds: tuple[RowKind, ...] = ("word", "multiword", "empty")) -> EditedRow:
        """The row of an ID; ``InputError`` if there is none of these kinds, or if it is broken."""
        for row in self.rows:
            if row.id == identity and row.kind in kinds:
                if len(row.fields) != len(COLUMNS):
                    raise InputError(
                        f"row {identity}: found {len(row.fields)} columns, expected {len(COLUMNS)}"
                    )
                return row
        names = {"word": "a word", "multiword": "a multiword token", "empty": "an empty node"}
        expected = " or ".join(names[kind] for kind in kinds) if len(kinds) < 3 else "a row"
        raise InputError(f"row: found {identity!r}, expected the ID of {expected} of the sentence")

    def words(self) -> list[EditedRow]:
        """The rows of words."""
        return [row for row in self.rows if row.kind == "word"]

    def run(self, first: str, last: str) -> list[EditedRow]:
        """The words from one ID to another, at least two."""
        words = self.words()
        start, stop = (words.index(self.row(identity, kinds=("word",))) for identity in (first, last))
        if stop <= start:
            raise InputError(f"words: found {first} to {last}, expected at least two words in their order")
        return words[start : stop + 1]

    def spans(self) -> Spans:
        """The multiword tokens with their first and last words; ``InputError`` where rows cannot be counted."""
        if self.unsound is not None:
            raise InputError(f"{self.unsound}; mend this first")
        by_id = {row.id: row for row in self.words()}
        found: Spans = []
        for row in self.rows:
            if row.kind == "multiword":
                first, _, last = row.id.partition("-")
                found.append((row, by_id[first], by_id[last]))
        return found

    def node_ids(self) -> set[str]:
        """What DEPS may name: the root, words, empty nodes."""
        return {"0"} | {row.id for row in self.rows if row.kind in ("word", "empty")}

    # ---- comments

    def comment(self, key: str) -> Comment | None:
        """The first comment of a key."""
        return next((c for c in self.comments if c.key == key and "=" in c.line), None)

    def set_comment(self, key: str, value: str) -> None:
        """Replace the value of the first comment of a key, or add one."""
        comment = self.comment(key)
        if comment is None:
            self.add_comment(f"{key} = {value}")
        else:
            before, sign, old = comment.line.partition("=")
            blank = old[: len(old) - len(old.lstrip())] or " "
            comment.line = f"{before}{sign}{blank}{value}".rstrip()

    def add_comment(self, text: str) -> None:
        """One more comment, after the others."""
        self.comments.append(Comment(f"# {text}".rstrip(), self.newline))

    def text(self) -> str:
        """The forms of the tokens, joined as SpaceAfter tells; what ``# text`` should be."""
        parts: list[str] = []
        inside = 0
        for word, row in self._numbered():
            if row.kind in ("other", "empty") or (row.kind == "word" and word <= inside):
                continue
            if row.kind == "multiword":
                inside = int(row.id.split("-")[1])
            if len(row.fields) == len(COLUMNS):
                parts.append(row.fields[_FORM] + ("" if row.glued else " "))
        return "".join(parts).rstrip()

    def _numbered(self) -> Iterable[tuple[int, EditedRow]]:
        word = 0
        for row in self.rows:
            word += row.kind == "word"
            yield word, row

    # ---- numbers

    def renumber(
        self,
        spans: Spans,
        *,
        moved: Mapping[str, EditedRow] | None = None,
        gone: Collection[str] = (),
        start: tuple[int, int] = (0, 0),
    ) -> None:
        """Count the rows again after some came or went; whatever names a row follows.

        ``moved``: old IDs whose rows went, with the row that stands for each now. ``gone``: old IDs with none.
        ``start``: the word and the empty node after it that the count goes on from.
        """
        fresh = self._count(*start, gone)
        for row, first, last in spans:
            fresh[id(row)] = f"{fresh[id(first)]}-{fresh[id(last)]}"
        names = {row.id: fresh[id(row)] for row in self.rows if row.kind != "other" and row.id}
        names |= {old: fresh[id(row)] for old, row in (moved or {}).items()}
        self._rename(fresh, names, gone)

    def _count(self, start: int, minor: int, gone: Collection[str]) -> dict[int, str]:
        """The new ID of every word and empty node. Gaps in the count of empty nodes stay, but for those that one leaves that is gone."""
        fresh: dict[int, str] = {}
        for word, row in self._numbered():
            if row.kind == "word":
                minor, fresh[id(row)] = 0, str(start + word)
            elif row.kind == "empty":
                base, _, own = row.id.partition(".")
                left = sum(
                    name.startswith(f"{base}.") and int(name.partition(".")[2]) < int(own)
                    for name in gone
                    if own
                )
                minor = max(int(own or 0) - left, minor + 1)
                fresh[id(row)] = f"{start + word}.{minor}"
        return fresh

    def _rename(self, fresh: Mapping[int, str], names: Mapping[str, str], gone: Collection[str]) -> None:
        for row in self.rows:
            if row.kind != "other":
                row.fields[0] = fresh[id(row)]
                row.fields[_HEAD] = names.get(row["head"], row["head"]) if row.kind == "word" else row["head"]
                row.fields[_DEPS] = renumbered_deps(row["deps"], names, gone)
                row.fields[_MISC] = renumbered_misc(row["misc"], names)
        for comment in list(self.comments):
            line = renumbered_comment(comment.line, names, gone)
            if line is None:
                self.comments.remove(comment)
            else:
                comment.line = line
