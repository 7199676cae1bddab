"""Sentences and documents as JSON values, and back; docs/reference/json.md tells the fields, document.schema.json their types.

Nothing that well-formed CoNLL-U has is lost. Some fields repeat what others have, for those who read (``text``, ``start``, ``end``,
``probability``, …); what is read back is the comments and the ten columns.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from arcwise.errors import InputError
from arcwise.treebanks.columns import field_bytes
from arcwise.treebanks.field_values import (
    ALTERNATIVES,
    HEAD_PROBABILITY,
    LABEL_PROBABILITY,
    LabelledArc,
    alternatives_text,
    comment_values,
    enhanced_arcs,
    exact_pairs,
    pair_text,
    pairs,
    probability,
    read_alternatives,
    share,
)
from arcwise.treebanks.surface import Place

if TYPE_CHECKING:
    from arcwise.treebanks.sentence import Sentence
    from arcwise.treebanks.treebank import Treebank

Values = Mapping[str, Any]

_DERIVED = ("start", "end", "head_probability", "label_probability", "alternatives")
FIELDS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "label", "deps", "misc", *_DERIVED)
"""What a word, a multiword token or an empty node may have."""


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a document.

    >>> json_schema()["title"]
    'arcwise document'
    """
    text = (files("arcwise") / "treebanks" / "document.schema.json").read_text("utf-8")
    return dict(json.loads(text))


# ---- to JSON


def document_json(treebank: Treebank) -> dict[str, Any]:
    """All sentences, and the text that they are from."""
    return {
        "text": treebank.surface.text,
        "start": treebank.surface.start,
        "sentences": [sentence_json(sentence) for sentence in treebank],
    }


def sentence_json(sentence: Sentence) -> dict[str, Any]:
    """A sentence; places are those in the text of its treebank."""
    return header_json(sentence) | _rows_json(sentence, sentence.treebank.surface.places[sentence.number])


def header_json(sentence: Sentence) -> dict[str, Any]:
    """What is said of a sentence as a whole."""
    lines = sentence.raw_comment_lines
    comments = comment_values(lines)
    places = sentence.treebank.surface.places[sentence.number]
    found: dict[str, Any] = {"sent_id": comments["sent_id"]} if "sent_id" in comments else {}
    found["text"] = comments.get("text") or sentence.text
    if places:
        found |= {"start": places[0][0], "end": places[-1][1]}
    found["comments"] = [_comment(line) for line in lines]
    if (tree := share(comments.get("tree_prob"))) is not None:
        found["probability"] = tree
    return found


def _rows_json(sentence: Sentence, places: Sequence[Place]) -> dict[str, Any]:
    parts: dict[str, list[dict[str, Any]]] = {"tokens": [], "words": [], "empty_nodes": []}
    left = iter(places)
    inside = word = 0
    for fields in sentence.rows:
        number = fields[0]
        if "-" in number:
            inside = int(number.partition("-")[2])
            parts["tokens"].append(_row_json(fields, next(left)))
        elif "." in number:
            parts["empty_nodes"].append(_row_json(fields, None))
        else:
            word += 1
            parts["words"].append(_row_json(fields, next(left) if word > inside else None))
    return {name: found for name, found in parts.items() if found or name == "words"}


def _row_json(fields: tuple[str, ...], place: Place | None) -> dict[str, Any]:
    number, form, lemma, upos, xpos, feats, head, label, deps, misc = fields
    found: dict[str, Any] = {"id": int(number) if number.isdecimal() else number, "form": form}
    if lemma != "_":
        found["lemma"] = lemma
    if upos != "_":
        found["upos"] = upos
    if xpos != "_":
        found["xpos"] = xpos
    if feats != "_":
        found["feats"] = exact_pairs(feats)
    if head != "_":
        found["head"] = int(head)
    if label != "_":
        found["label"] = label
    if deps != "_":
        arcs = enhanced_arcs(deps)
        found["deps"] = deps if arcs is None else [arc._asdict() for arc in arcs]
    told: Mapping[str, str] = {}
    if misc != "_":
        found["misc"] = exact = exact_pairs(misc)
        told = pairs(misc) if isinstance(exact, str) else exact
    if place is not None:
        found["start"], found["end"] = place
    if (p := share(told.get(HEAD_PROBABILITY))) is not None:
        found["head_probability"] = p
    if (p := share(told.get(LABEL_PROBABILITY))) is not None:
        found["label_probability"] = p
    if ALTERNATIVES in told and (arcs_told := read_alternatives(misc)):
        found["alternatives"] = [arc._asdict() for arc in arcs_told]
    return found


def _comment(line: str) -> str:
    """Without ``# `` where this can be put back; else as it is, from its ``#`` on."""
    rest = line.removeprefix("# ")
    return line if rest == line or rest.startswith("#") else rest


def comment_number(sentence: Sentence, key: str) -> float | None:
    """The probability that a comment tells; None if there is no such comment."""
    return share(sentence.comments.get(key))


# ---- from JSON


def treebank_text(values: Any) -> str:
    """CoNLL-U of a document, or of one sentence; ``InputError`` says which field is wrong."""
    if not isinstance(values, Mapping) or not ("sentences" in values or "words" in values):
        raise InputError(
            f"json: found {_shown(values)}, expected an object with 'sentences' (a document) or 'words' (a sentence)"
        )
    if "sentences" not in values:
        return _sentence_text(values, "json")
    sentences = _list(values, "sentences", "json")
    return "".join(_sentence_text(own, f"sentences[{number}]") for number, own in enumerate(sentences))


def _sentence_text(values: Any, where: str) -> str:
    if not isinstance(values, Mapping):
        raise InputError(f"{where}: found {_shown(values)}, expected an object with 'words'")
    words = _list(values, "words", where)
    if not words:
        raise InputError(f"{where}.words: found no word, expected at least one")
    rows: list[tuple[tuple[int, int], str]] = []
    for name in ("tokens", "words", "empty_nodes"):
        for number, own in enumerate(_list(values, name, where) if name in values else []):
            rows.append(_row_text(own, name, number, f"{where}.{name}[{number}]"))
    rows.sort(key=lambda row: row[0])
    return "".join((*_comment_texts(values, where), *(text for _, text in rows), "\n"))


def _comment_texts(values: Values, where: str) -> Iterator[str]:
    """The comments; where they are not given, those that other fields tell."""
    if "comments" in values:
        told = [_string(line, f"{where}.comments") for line in _list(values, "comments", where)]
    else:
        told = [f"{name} = {values[name]}" for name in ("sent_id", "text") if values.get(name) is not None]
        if values.get("probability") is not None:
            told.append(f"tree_prob = {_share(values['probability'], f'{where}.probability'):.6g}")
    for line in told:
        if "\n" in line or "\r" in line:
            raise InputError(f"{where}.comments: found a line break in {line!r}, expected one line")
        yield (line if line.startswith("#") else f"# {line}") + "\n"


def _row_text(values: Any, kind: str, number: int, where: str) -> tuple[tuple[int, int], str]:
    """Where a row stands among the others, and the row."""
    if not isinstance(values, Mapping):
        raise InputError(f"{where}: found {_shown(values)}, expected an object with a 'form'")
    if unknown := [name for name in values if name not in FIELDS]:
        raise InputError(f"{where}: found the field {unknown[0]!r}, expected some of {', '.join(FIELDS)}")
    told = {name: value for name, value in values.items() if value is not None}
    row_id = str(told.get("id", number + 1 if kind == "words" else ""))
    first, sign, second = row_id.partition({"tokens": "-", "words": "\0", "empty_nodes": "."}[kind])
    if not _is_number(first) or (sign and not _is_number(second)) or bool(sign) == (kind == "words"):
        example = {"tokens": "'1-2'", "words": "a whole number", "empty_nodes": "'8.1'"}[kind]
        raise InputError(f"{where}.id: found {_shown(values.get('id'))}, expected {example}")
    place = (int(first), {"tokens": -1, "words": 0, "empty_nodes": int(second or 0)}[kind])
    if kind == "words" and "form" not in told:
        raise InputError(f"{where}: found no 'form', expected one")
    return place, "\t".join((row_id, *(_field(told, name, where) for name in FIELDS[1:10]))) + "\n"


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _field(told: Values, name: str, where: str) -> str:
    if name not in told and name != "misc":
        return "_"
    text = _READERS.get(name, _text)(told, name, f"{where}.{name}")
    return field_bytes(text, f"{where}.{name}").decode("utf-8")


def _text(told: Values, name: str, where: str) -> str:
    return _string(told[name], where)


def _head(told: Values, name: str, where: str) -> str:
    head = told[name]
    if isinstance(head, bool) or not isinstance(head, int) or head < 0:
        raise InputError(f"{where}: found {_shown(head)}, expected the number of a word, or 0 for the root")
    return str(head)


def _feats(told: Values, name: str, where: str) -> str:
    return _pairs(told[name], where)


def _pairs(value: Any, where: str) -> str:
    if not isinstance(value, Mapping):
        return _string(value, where)
    return pair_text({str(key): _string(own, f"{where}.{key}") for key, own in value.items()})


def _deps(told: Values, name: str, where: str) -> str:
    if not isinstance(told[name], Sequence) or isinstance(told[name], str):
        return _string(told[name], where)
    arcs = [arc for arc in told[name] if isinstance(arc, Mapping) and {"head", "label"} <= set(arc)]
    if len(arcs) < len(told[name]):
        raise InputError(f"{where}: found {_shown(told[name])}, expected objects with 'head' and 'label'")
    return "|".join(f"{arc['head']}:{arc['label']}" for arc in arcs) or "_"


def _misc(told: Values, name: str, where: str) -> str:
    """MISC, and what other fields say of the arc, unless MISC says it."""
    text = _pairs(told.get(name, "_"), where)
    parent = where.removesuffix(".misc")
    added = {}
    for key, field in ((HEAD_PROBABILITY, "head_probability"), (LABEL_PROBABILITY, "label_probability")):
        if field in told and probability(text, key) is None:
            added[key] = f"{_share(told[field], f'{parent}.{field}'):.4f}"
    if told.get("alternatives") and not read_alternatives(text):
        added[ALTERNATIVES] = alternatives_text(_arcs(told["alternatives"], f"{parent}.alternatives"))
    return "|".join(part for part in (text, pair_text(added)) if part != "_") or "_"


def _arcs(values: Any, where: str) -> list[LabelledArc]:
    try:
        return [
            LabelledArc(int(arc["head"]), str(arc.get("label", "_")), _share(arc["probability"], where))
            for arc in values
        ]
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(
            f"{where}: found {_shown(values)}, expected objects with 'head', 'label' and 'probability'"
        ) from error


_READERS: dict[str, Callable[[Values, str, str], str]] = {
    "feats": _feats,
    "head": _head,
    "deps": _deps,
    "misc": _misc,
}


def _share(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InputError(f"{where}: found {_shown(value)}, expected a number from 0 to 1")
    return float(value)


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}: found {_shown(value)}, expected text")
    return value


def _list(values: Values, name: str, where: str) -> Sequence[Any]:
    found = values.get(name)
    if not isinstance(found, Sequence) or isinstance(found, str):
        raise InputError(f"{where}.{name}: found {_shown(found)}, expected a list")
    return found


def _shown(value: Any) -> str:
    """A value as messages show it, cut where it is long."""
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
