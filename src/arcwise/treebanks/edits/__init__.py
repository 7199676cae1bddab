"""Edits of one sentence as values, applied to its bytes; all other bytes stay unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from typing import Any, get_args

from arcwise.errors import InputError
from arcwise.treebanks.edits.comments import (
    AddComment,
    AnnotatorNote,
    RemoveComment,
    ReplaceComment,
    SetComment,
    SetNote,
    notes_of,
)
from arcwise.treebanks.edits.edited_sentence import EditedSentence, check_readable
from arcwise.treebanks.edits.enhancement import (
    ENHANCEMENT_RULES,
    EnhancementRule,
    GeneratedArc,
    GeneratedDeps,
    generated_arcs,
    generated_deps,
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
    "ENHANCEMENT_RULES",
    "Accept",
    "AddComment",
    "AddEmptyNode",
    "AnnotatorNote",
    "Edit",
    "EnhancementRule",
    "GeneratedArc",
    "GeneratedDeps",
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
    "generated_arcs",
    "generated_deps",
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
    r"""Apply edits in order to the bytes of a sentence; the result is checked once, after the last edit.

    ``# text`` is updated if it agreed with the words before. Problems that the sentence had may stay; raises
    ``InputError`` if the edits would add another.

    >>> block = b"1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    >>> edited(block, [SetField("1", "upos", "INTJ")])
    b'1\tHi\t_\tINTJ\t_\t_\t0\troot\t_\t_\n\n'
    """
    if not edits:
        return block
    sentence = EditedSentence.checked(block)
    text, comment = sentence.text(), sentence.comment("text")
    agreed = comment.value if comment is not None and comment.value == text else None
    for edit in edits:
        sentence.index_rows(isinstance(edit, SetField | SetDeps))
        edit.apply(sentence)
    comment = sentence.comment("text")
    if agreed is not None and comment is not None and comment.value == agreed and sentence.text() != agreed:
        sentence.set_comment("text", sentence.text())
    after = sentence.data()
    check_readable(block, after)
    return after


def edit_to_json(edit: Edit) -> dict[str, Any]:
    """Return an edit as a JSON object: its kind and its fields.

    >>> edit_to_json(SetField("1", "upos", "INTJ"))
    {'kind': 'set-field', 'row': '1', 'column': 'upos', 'value': 'INTJ'}
    """
    return {"kind": edit.kind, **{name: _listed(value) for name, value in asdict(edit).items()}}


def edit_from_json(values: Mapping[str, Any]) -> Edit:
    """Read an edit from a JSON object; fields with a default may be missing.

    Raises ``InputError`` if it is not an edit.

    >>> edit_from_json({"kind": "set-deps", "row": "2", "deps": [["0", "root"]]})
    SetDeps(row='2', deps=(('0', 'root'),))
    """
    if not isinstance(values, Mapping):
        raise InputError(f"edit: found {values!r}, expected an object with its kind")
    name = values.get("kind")
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise InputError(f"kind: found {name!r}, expected an edit: {', '.join(_KINDS)}")
    declared = {field.name: field for field in fields(kind)}
    arguments = {name: value for name, value in values.items() if name != "kind"}
    required = {field.name for field in declared.values() if field.default is MISSING}
    if not required <= set(arguments) <= set(declared):
        raise InputError(
            f"{name}: found {', '.join(arguments) or 'no fields'}, expected {', '.join(declared)}"
        )
    typed = {n: _typed(value, f"{name}: {n}", str(declared[n].type)) for n, value in arguments.items()}
    return kind(**typed)  # type: ignore[no-any-return]


def _listed(value: Any) -> Any:
    return [_listed(part) for part in value] if isinstance(value, tuple) else value


def _is_strings(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(part, str) for part in value)


def _typed(value: Any, name: str, declared: str) -> Any:
    """Convert a JSON value to the declared type of a field."""
    if value is None and declared.endswith("| None"):
        return None
    match declared.removesuffix(" | None"):
        case "str" if isinstance(value, str):
            return value
        case "int" if isinstance(value, int) and not isinstance(value, bool):
            return value
        case "bool" if isinstance(value, bool):
            return value
        case "tuple[str, ...]" if _is_strings(value):
            return tuple(value)
        case "tuple[tuple[str, str], ...]" if isinstance(value, list | tuple) and all(
            _is_strings(pair) and len(pair) == 2 for pair in value
        ):
            return tuple((head, label) for head, label in value)
    expected = {
        "str": "a string",
        "int": "an integer",
        "bool": "true or false",
        "tuple[str, ...]": "a list of strings",
    }
    description = expected.get(declared.removesuffix(" | None"), "a list of [head, label] pairs")
    raise InputError(f"{name}: found {value!r}, expected {description}")
