"""A third file out of two: where they differ, somebody chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from arcwise.errors import InputError
from arcwise.treebanks.alignment import carried, numbered_alike, same_rows
from arcwise.treebanks.blocks import Block, key_and_value
from arcwise.treebanks.columns import COLUMNS, field_bytes
from arcwise.treebanks.conflicts import with_comment
from arcwise.treebanks.differences import SideBySide
from arcwise.treebanks.treebank import Treebank

Take = Literal["a", "b", "value"]


@dataclass(frozen=True)
class Choice:
    """What is right in one place: what A has, what B has, or another ``value``.

    ``sentence``: its number in A from 0; of one that B alone has, ``sentence_b``. ``row``: the ID in A; ``"comment"`` with the key of a comment as
    ``column``; None: the whole sentence, which is removed if the chosen side has it not.
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
                f"value: found {self.value!r} with take={self.take!r}, expected a value with take='value' alone"
            )
        if (self.sentence is None) == (self.sentence_b is None):
            raise InputError("sentence: expected a number in A, or sentence_b of a sentence that B alone has")
        if (self.row is None) != (self.column is None):
            raise InputError(
                f"row, column: found {self.row!r}, {self.column!r}, expected both, or none for a whole sentence"
            )
        if self.row is None and self.take == "value":
            raise InputError("value: expected a row and a column")

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Choice:
        """The choice that a JSON object tells; fields that it leaves out are None."""
        unknown = set(values) - set(cls.__dataclass_fields__)
        if unknown or "take" not in values:
            raise InputError(
                f"choice: found {', '.join(values)}, expected {', '.join(cls.__dataclass_fields__)}"
            )
        return cls(**values)


def adjudicated(a: Treebank, b: Treebank, choices: Sequence[Choice]) -> bytes:
    r"""The bytes of A in which every choice is made; of two choices for one place the later one holds.

    What nobody chose is as in A. Heads that are taken from B are told by A's numbers. Whether the result is a tree is for validation to say:
    a choice may be one of several that make one together.

    >>> row = "1\tHi\t_\t{}\t_\t_\t0\troot\t_\t_\n\n"
    >>> a, b = (Treebank.from_string(row.format(tag)) for tag in ("INTJ", "X"))
    >>> adjudicated(a, b, [Choice("b", 0, "1", "upos")]) == b.data
    True
    """
    sides = SideBySide(a, b)
    blocks_a, blocks_b = sides.blocks
    of_a, of_b = _by_sentence(choices, sides)
    parts: list[Block] = []
    for number, other in sides.order:
        if number is None:
            if other is not None and of_b.get(other) == "b":
                parts.append(blocks_b[other])
            continue
        partner = None if other is None else blocks_b[other]
        found = _chosen(blocks_a[number], partner, of_a.get(number, []))
        parts += [] if found is None else [found]
    return blocks_a.mark + b"".join(
        part.data if at == len(parts) - 1 else part.closed for at, part in enumerate(parts)
    )


def _by_sentence(
    choices: Sequence[Choice], sides: SideBySide
) -> tuple[dict[int, list[Choice]], dict[int, Take]]:
    """The choices for each sentence of A; for sentences that B alone has, what was chosen last."""
    of_a: dict[int, list[Choice]] = {}
    of_b: dict[int, Take] = {}
    alone = set(range(len(sides.b))) - set(sides.pairs.values())
    for choice in choices:
        if choice.sentence is not None:
            if not 0 <= choice.sentence < len(sides.a):
                raise InputError(f"sentence: found {choice.sentence}, expected 0..{len(sides.a) - 1}")
            of_a.setdefault(choice.sentence, []).append(choice)
        elif choice.sentence_b is not None:
            if choice.sentence_b not in alone or choice.row is not None:
                raise InputError(
                    f"sentence_b: found {choice.sentence_b}, expected a whole sentence that B alone has"
                )
            of_b[choice.sentence_b] = choice.take
    return of_a, of_b


def _chosen(block: Block, other: Block | None, choices: Sequence[Choice]) -> Block | None:
    """A sentence of A after choices for it; None if it is to go."""
    whole = next((choice.take for choice in reversed(choices) if choice.row is None), "a")
    if whole == "b":
        return None if other is None else Block(other.data, block.last or other.last)
    made = block
    for choice in choices:
        if choice.row == "comment":
            made = _with_comment(made, block, other, choice)
        elif choice.row is not None and choice.column is not None:
            value = _value(block, other, choice.row, choice.column, choice)
            made = made.with_field(choice.row, choice.column, field_bytes(value, choice.column))
    return made


def _value(block: Block, other: Block | None, row: str, column: str, choice: Choice) -> str:
    """The value that was chosen for a field."""
    if not block.has_field(row, column):
        raise InputError(
            f"row, column: found {row!r}, {column!r}, expected a row of the sentence in A and a column"
        )
    number = COLUMNS.index(column)
    if choice.take == "value":
        return choice.value or "_"
    own = block.by_id[row.encode()][number]
    if choice.take == "a":
        return own.decode("utf-8", "replace")
    to_b = {} if other is None else same_rows(block, other)
    image = to_b.get(row.encode())
    if other is None or image is None:
        raise InputError(f"row: found {row!r}, which B has not; take the whole sentence")
    back = {new: old for old, new in to_b.items()}
    theirs = other.by_id[image][number]
    taken = theirs if numbered_alike(other, back) else carried(theirs, column, back)
    if taken is None:
        raise InputError(f"{column}: B has a word there that A has not; take the whole sentence")
    return taken.decode("utf-8", "replace")


def _with_comment(block: Block, a: Block, b: Block | None, choice: Choice) -> Block:
    """The sentence with a comment as A has it, as B has it, or with another value."""
    key = choice.column or ""
    line: bytes | None = f"# {key} = {choice.value}".encode()
    if choice.take != "value":
        side = a if choice.take == "a" else b
        comments = () if side is None else side.comments
        line = next((own for own in comments if key_and_value(own)[0] == key.encode()), None)
    elif b"\n" in (line or b"") or b"\r" in (line or b""):
        raise InputError(f"value: found a line break in {choice.value!r}, expected one line")
    return block.with_lines(with_comment(block.comments, key, line), block.row_lines)
