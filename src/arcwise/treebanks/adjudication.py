"""Adjudication: build a third file from two annotations of the same text, by explicit choices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from arcwise.errors import InputError
from arcwise.treebanks.alignment import carried, numbered_alike, same_rows
from arcwise.treebanks.blocks import SentenceBlock, key_and_value
from arcwise.treebanks.columns import COLUMNS, field_bytes
from arcwise.treebanks.conflicts import with_comment
from arcwise.treebanks.differences import SideBySide
from arcwise.treebanks.treebank import Treebank

Take = Literal["a", "b", "value"]


@dataclass(frozen=True)
class Choice:
    """An annotator's decision where files A and B differ: take A's version, B's, or another ``value``.

    sentence: number of the sentence in A, from 0; for a sentence that only B has, use ``sentence_b``.
    row, column: the ID of a row in A and the name of a column; ``row="comment"`` with the key of a comment as
    ``column``; both None for the whole sentence, which is removed if the chosen side lacks it.
    """

    take: Take
    sentence: int | None = None
    row: str | None = None
    column: str | None = None
    value: str | None = None
    sentence_b: int | None = None

    def __post_init__(self) -> None:
        if self.take not in ("a", "b", "value"):
            raise InputError(f"take: found {self.take!r}, expected a, b or value")
        if (self.take == "value") != (self.value is not None):
            raise InputError(
                f"value: found {self.value!r} with take={self.take!r}, expected a value if take='value'"
            )
        if (self.sentence is None) == (self.sentence_b is None):
            raise InputError("sentence: expected a number in A, or sentence_b for a sentence that only B has")
        if (self.row is None) != (self.column is None):
            raise InputError(f"row, column: found {self.row!r}, {self.column!r}, expected both or neither")
        if self.row is None and self.take == "value":
            raise InputError("value: expected a row and a column")

    def to_json(self) -> dict[str, Any]:
        """Return all fields as a JSON object."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Choice:
        """Read a choice from a JSON object; missing fields are None."""
        unknown = set(values) - set(cls.__dataclass_fields__)
        if unknown or "take" not in values:
            raise InputError(
                f"choice: found {', '.join(values)}, expected {', '.join(cls.__dataclass_fields__)}"
            )
        return cls(**values)


def adjudicated(a: Treebank, b: Treebank, choices: Sequence[Choice]) -> bytes:
    r"""Apply choices to file A and return the resulting bytes.

    A later choice for the same place overrides an earlier one. Places without a choice stay as in A. Heads
    taken from B are renumbered to A's words. The result is not checked to be a tree, since several choices
    may be needed to make one; validate it afterwards.

    >>> row = "1\tHi\t_\t{}\t_\t_\t0\troot\t_\t_\n\n"
    >>> a, b = (Treebank.from_string(row.format(tag)) for tag in ("INTJ", "X"))
    >>> adjudicated(a, b, [Choice("b", 0, "1", "upos")]) == b.data
    True
    """
    sides = SideBySide(a, b)
    blocks_a, blocks_b = sides.blocks
    choices_in_a, choices_in_b = _by_sentence(choices, sides)
    parts: list[SentenceBlock] = []
    for in_a, in_b in sides.order:
        if in_a is None:
            if in_b is not None and choices_in_b.get(in_b) == "b":
                parts.append(blocks_b[in_b])
            continue
        partner = None if in_b is None else blocks_b[in_b]
        block = _apply(blocks_a[in_a], partner, choices_in_a.get(in_a, []))
        parts += [] if block is None else [block]
    # Only the last sentence of a file may lack its blank line.
    return blocks_a.mark + b"".join(
        part.data if at == len(parts) - 1 else part.closed for at, part in enumerate(parts)
    )


def field_from(source: SentenceBlock, target: SentenceBlock, row: str, column: str) -> str:
    """Return the field that ``source`` has for a row of ``target``, another version of the same sentence.

    HEAD and DEPS are renumbered to the words of ``target``. Raises ``InputError`` if ``source`` lacks the
    row, or if the field refers to a word that ``target`` lacks.
    """
    to_source = same_rows(target, source)
    image = to_source.get(row.encode("utf-8", "replace"), b"")
    if image not in source.by_id:
        raise InputError(f"row: the other version of the sentence has no row {row!r}")
    to_target = {new: old for old, new in to_source.items()}
    value = source.by_id[image][COLUMNS.index(column)]
    field = value if numbered_alike(source, to_target) else carried(value, column, to_target)
    if field is None:
        raise InputError(f"{column}: the other version refers to a word that this one lacks")
    return field.decode("utf-8", "replace")


def _by_sentence(
    choices: Sequence[Choice], sides: SideBySide
) -> tuple[dict[int, list[Choice]], dict[int, Take]]:
    """The choices for each sentence of A, and the last choice for each sentence that only B has."""
    choices_in_a: dict[int, list[Choice]] = {}
    choices_in_b: dict[int, Take] = {}
    only_in_b = set(range(len(sides.b))) - set(sides.pairs.values())
    for choice in choices:
        if choice.sentence is not None:
            if not 0 <= choice.sentence < len(sides.a):
                raise InputError(f"sentence: found {choice.sentence}, expected 0..{len(sides.a) - 1}")
            choices_in_a.setdefault(choice.sentence, []).append(choice)
        elif choice.sentence_b is not None:
            if choice.sentence_b not in only_in_b or choice.row is not None:
                raise InputError(
                    f"sentence_b: found {choice.sentence_b}, expected a whole sentence that only B has"
                )
            choices_in_b[choice.sentence_b] = choice.take
    return choices_in_a, choices_in_b


def _apply(a: SentenceBlock, b: SentenceBlock | None, choices: Sequence[Choice]) -> SentenceBlock | None:
    """Apply the choices for one sentence of A; None removes it."""
    whole = next((choice.take for choice in reversed(choices) if choice.row is None), "a")
    if whole == "b":
        return None if b is None else SentenceBlock(b.data, a.last or b.last)
    block = a
    for choice in choices:
        if choice.row == "comment":
            block = _with_comment(block, a, b, choice)
        elif choice.row is not None and choice.column is not None:
            value = _field(a, b, choice.row, choice.column, choice)
            block = block.with_field(choice.row, choice.column, field_bytes(value, choice.column))
    return block


def _field(a: SentenceBlock, b: SentenceBlock | None, row: str, column: str, choice: Choice) -> str:
    """The value chosen for a field."""
    if not a.has_field(row, column):
        raise InputError(
            f"row, column: found {row!r}, {column!r}, expected a row of the sentence in A and a column"
        )
    if choice.take == "value":
        return choice.value or "_"
    if choice.take == "a":
        return a.by_id[row.encode()][COLUMNS.index(column)].decode("utf-8", "replace")
    if b is None:
        raise InputError(f"sentence: B has no sentence {choice.sentence} of A; take the whole sentence")
    try:
        return field_from(b, a, row, column)
    except InputError as error:
        raise InputError(f"{error}; take the whole sentence") from None


def _with_comment(
    block: SentenceBlock, a: SentenceBlock, b: SentenceBlock | None, choice: Choice
) -> SentenceBlock:
    """The sentence with a comment from A, from B, or with another value."""
    key = choice.column or ""
    line: bytes | None = f"# {key} = {choice.value}".encode()
    if choice.take != "value":
        side = a if choice.take == "a" else b
        comments = () if side is None else side.comments
        line = next((comment for comment in comments if key_and_value(comment)[0] == key.encode()), None)
    elif b"\n" in (line or b"") or b"\r" in (line or b""):
        raise InputError(f"value: found a line break in {choice.value!r}, expected one line")
    return block.with_lines(with_comment(block.comments, key, line), block.row_lines)
