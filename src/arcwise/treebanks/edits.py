"""Edits of one sentence: small values that name what changes, applied to the bytes of the sentence; all other bytes stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from arcwise.errors import InputError
from arcwise.treebanks.columns import column_number, field_bytes


@dataclass(frozen=True)
class SetField:
    """One field of one row gets another value. ``row``: the ID as the file has it (``3``, ``3-4``, ``8.1``)."""

    kind: ClassVar[str] = "set-field"
    row: str
    column: str
    value: str

    def apply(self, block: bytes) -> bytes:
        """The bytes of the sentence with the field replaced."""
        number, new = column_number(self.column), field_bytes(self.value, self.column)
        lines = block.split(b"\n")
        for place, line in enumerate(lines):
            if line.startswith(self.row.encode() + b"\t"):
                end = b"\r" if line.endswith(b"\r") else b""
                parts = line[: len(line) - len(end)].split(b"\t")
                parts[number] = new
                lines[place] = b"\t".join(parts) + end
                return b"\n".join(lines)
        raise InputError(f"row: found {self.row!r}, expected the ID of a row of the sentence")


@dataclass(frozen=True)
class SetComment:
    """The comment ``# key = value``: replaced where it is, else added after the other comments."""

    kind: ClassVar[str] = "set-comment"
    key: str
    value: str

    def apply(self, block: bytes) -> bytes:
        """The bytes of the sentence with the comment."""
        lines = block.split(b"\n")
        new = f"# {self.key} = {self.value}".encode()
        end = b"\r" if lines[0].endswith(b"\r") else b""
        last = 0
        for place, line in enumerate(lines):
            if not line.startswith(b"#"):
                break
            last = place + 1
            if line[1:].partition(b"=")[0].strip() == self.key.encode():
                lines[place] = new + end
                return b"\n".join(lines)
        return b"\n".join([*lines[:last], new + end, *lines[last:]])


@dataclass(frozen=True)
class ReplaceComment:
    """A comment line, named as ``Sentence.comment_lines`` has it, becomes another."""

    kind: ClassVar[str] = "replace-comment"
    text: str
    new: str

    def apply(self, block: bytes) -> bytes:
        """The bytes of the sentence with the comment."""
        lines = block.split(b"\n")
        for place, line in enumerate(lines):
            if line.startswith(b"#") and line[1:].strip() == self.text.encode():
                end = b"\r" if line.endswith(b"\r") else b""
                lines[place] = f"# {self.new}".encode() + end
                return b"\n".join(lines)
        raise InputError(f"text: found {self.text!r}, expected a comment of the sentence")


Edit = SetField | SetComment | ReplaceComment
_KINDS: Mapping[str, type[Any]] = {kind.kind: kind for kind in (SetField, SetComment, ReplaceComment)}


def edited(block: bytes, edits: Sequence[Edit]) -> bytes:
    r"""The bytes of a sentence after some edits, one after the other.

    >>> block = b"1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    >>> edited(block, [SetField("1", "upos", "INTJ")])
    b'1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n'
    """
    for edit in edits:
        block = edit.apply(block)
    return block


def edit_to_json(edit: Edit) -> dict[str, Any]:
    """The edit as a JSON object: its kind and its fields.

    >>> edit_to_json(SetField("1", "upos", "INTJ"))
    {'kind': 'set-field', 'row': '1', 'column': 'upos', 'value': 'INTJ'}
    """
    return {"kind": edit.kind, **asdict(edit)}


def edit_from_json(values: Mapping[str, Any]) -> Edit:
    """The edit that a JSON object tells; ``InputError`` if it tells none."""
    kind = _KINDS.get(values.get("kind", ""))
    if kind is None:
        raise InputError(f"kind: found {values.get('kind')!r}, expected an edit: {', '.join(_KINDS)}")
    names = {f.name for f in fields(kind)}
    given = {name: value for name, value in values.items() if name != "kind"}
    if set(given) != names:
        raise InputError(f"{kind.kind}: found {', '.join(given)}, expected {', '.join(sorted(names))}")
    return kind(**given)  # type: ignore[no-any-return]
