"""Edits of one sentence: small values that name what changes, applied to the bytes of the sentence; all other bytes stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arcwise.treebanks.edits.comments import (
    AddComment,
    Note,
    RemoveComment,
    ReplaceComment,
    SetComment,
    SetNote,
    notes_of,
)
from arcwise.treebanks.edits.fields import Accept, SetDeps, SetField
from arcwise.treebanks.edits.words import (
    AddEmptyNode,
    JoinWords,
    MakeMultiword,
    RemoveEmptyNode,
    RemoveMultiword,
    SplitWord,
)

__all__ = [
    "Accept",
    "AddComment",
    "AddEmptyNode",
    "Edit",
    "JoinWords",
    "MakeMultiword",
    "Note",
    "RemoveComment",
    "RemoveEmptyNode",
    "RemoveMultiword",
    "ReplaceComment",
    "SetComment",
    "SetDeps",
    "SetField",
    "SetNote",
    "SplitWord",
    "edit_from_json",
    "edit_to_json",
    "edited",
    "notes_of",
]

Edit = (
    SetField
    | SetDeps
    | Accept
    | SetComment
    | AddComment
    | ReplaceComment
    | RemoveComment
    | SetNote
    | SplitWord
    | JoinWords
    | MakeMultiword
    | RemoveMultiword
    | AddEmptyNode
    | RemoveEmptyNode
)


def edited(block: bytes, edits: Sequence[Edit]) -> bytes:
    """The bytes of a sentence after some edits, one after the other; checked after the last."""
    raise NotImplementedError


def edit_to_json(edit: Edit) -> dict[str, Any]:
    """The edit as a JSON object: its kind and its fields."""
    raise NotImplementedError


def edit_from_json(values: Mapping[str, Any]) -> Edit:
    """The edit that a JSON object tells; ``InputError`` if it tells none."""
    raise NotImplementedError
