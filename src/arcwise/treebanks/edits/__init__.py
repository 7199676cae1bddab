"""Edits of one sentence: small values that name what changes, applied to the bytes of the sentence; all other bytes stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from typing import Any, get_args

from arcwise.errors import InputError
from arcwise.treebanks.edits.checking import check_readable, checked_sentence
from arcwise.treebanks.edits.comments import (
    AddComment,
    AnnotatorNote,
    RemoveComment,
    ReplaceComment,
    SetComment,
    SetNote,
    notes_of,
)
from arcwise.treebanks.edits.sentences import join_blocks, split_block
from arcwise.treebanks.edits.values import Accept, SetDeps, SetField
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
    "AnnotatorNote",
    "Edit",
    "JoinWords",
    "MakeMultiword",
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
    "join_blocks",
    "notes_of",
    "split_block",
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


_KINDS: Mapping[str, type[Any]] = {kind.kind: kind for kind in get_args(Edit)}


def edited(block: bytes, edits: Sequence[Edit]) -> bytes:
    r"""The bytes of a sentence after some edits, one after the other; whether they make a tree is checked after the last.

    ``# text`` follows where it agreed with the words before. What was wrong with the sentence already may stay; nothing else may become wrong.

    >>> block = b"1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    >>> edited(block, [SetField("1", "upos", "INTJ")])
    b'1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n'
    """
    if not edits:
        return block
    parts = checked_sentence(block)
    text, comment = parts.text(), parts.comment("text")
    agreed = comment.value if comment is not None and comment.value == text else None
    for edit in edits:
        edit.apply(parts)
    now = parts.comment("text")
    if agreed is not None and now is not None and now.value == agreed and parts.text() != agreed:
        parts.set_comment("text", parts.text())
    after = parts.data()
    check_readable(block, after)
    return after


def edit_to_json(edit: Edit) -> dict[str, Any]:
    """The edit as a JSON object: its kind and its fields.

    >>> edit_to_json(SetField("1", "upos", "INTJ"))
    {'kind': 'set-field', 'row': '1', 'column': 'upos', 'value': 'INTJ'}
    """
    return {"kind": edit.kind, **{name: _listed(value) for name, value in asdict(edit).items()}}


def edit_from_json(values: Mapping[str, Any]) -> Edit:
    """The edit that a JSON object tells; ``InputError`` if it tells none. Fields with a default may be missing.

    >>> edit_from_json({"kind": "set-deps", "row": "2", "deps": [["0", "root"]]})
    SetDeps(row='2', deps=(('0', 'root'),))
    """
    if not isinstance(values, Mapping):
        raise InputError(f"edit: found {values!r}, expected an object with its kind")
    name = values.get("kind")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InputError(f"kind: found {name!r}, expected an edit: {', '.join(_KINDS)}")
    known = {field.name: field for field in fields(kind)}
    given = {name: value for name, value in values.items() if name != "kind"}
    needed = {field.name for field in known.values() if field.default is MISSING}
    if not needed <= set(given) <= set(known):
        raise InputError(f"{name}: found {', '.join(given) or 'no fields'}, expected {', '.join(known)}")
    return kind(**{n: _typed(v, f"{name}: {n}", str(known[n].type)) for n, v in given.items()})  # type: ignore[no-any-return]


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple) else value


def _is_texts(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)


def _typed(value: Any, name: str, declared: str) -> Any:
    """A value of JSON as the field of an edit has it."""
    if value is None and declared.endswith("| None"):
        return None
    match declared.removesuffix(" | None"):
        case "str" if isinstance(value, str):
            return value
        case "int" if isinstance(value, int) and not isinstance(value, bool):
            return value
        case "bool" if isinstance(value, bool):
            return value
        case "tuple[str, ...]" if _is_texts(value):
            return tuple(value)
        case "tuple[tuple[str, str], ...]" if isinstance(value, list | tuple) and all(
            _is_texts(pair) and len(pair) == 2 for pair in value
        ):
            return tuple((head, label) for head, label in value)
    expected = {
        "str": "text",
        "int": "a number",
        "bool": "true or false",
        "tuple[str, ...]": "a list of texts",
    }
    told = expected.get(declared.removesuffix(" | None"), "a list of pairs of a head and a label")
    raise InputError(f"{name}: found {value!r}, expected {told}")
