"""Sentences and documents as JSON values, and back.

docs/reference/json.md describes the fields, json_model.py declares their types. Nothing of well-formed
CoNLL-U is lost. Some fields repeat others for readers (``text``, ``start``, ``end``, ``probability``, …);
only the comments and the ten columns are read back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from arcwise.errors import InputError
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
    from arcwise.treebanks.json_model import JsonRow, JsonSentence
    from arcwise.treebanks.sentence import Sentence
    from arcwise.treebanks.treebank import Treebank


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a document.

    >>> json_schema()["title"]
    'arcwise document'
    """
    from arcwise.schema import json_schema
    from arcwise.treebanks.json_model import JsonDocument

    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **json_schema(JsonDocument)}


def document_json(treebank: Treebank) -> dict[str, Any]:
    """All sentences, and their text."""
    return {
        "text": treebank.surface.text,
        "start": treebank.surface.start,
        "sentences": [sentence_json(sentence) for sentence in treebank],
    }


def sentence_json(sentence: Sentence, places: Sequence[Place] | None = None) -> dict[str, Any]:
    """A sentence. ``places``: the offsets of its tokens; None: those in the text of its treebank."""
    if places is None:
        places = sentence.treebank.surface.places[sentence.number]
    try:
        return header_json(sentence, places) | _rows_json(sentence, places)
    except InputError as error:
        name = sentence.sent_id or f"sentence {sentence.number + 1}"
        raise InputError(f"{sentence.treebank.source} ({name}), {error}") from None


def header_json(sentence: Sentence, places: Sequence[Place] | None = None) -> dict[str, Any]:
    """The fields of a sentence apart from its rows."""
    lines = sentence.raw_comment_lines
    comments = comment_values(lines)
    if places is None:
        places = sentence.treebank.surface.places[sentence.number]
    values: dict[str, Any] = {"sent_id": comments["sent_id"]} if "sent_id" in comments else {}
    values["text"] = comments.get("text") or sentence.text
    if places:
        values |= {"start": places[0][0], "end": places[-1][1]}
    values["comments"] = [_comment(line) for line in lines]
    if (tree := share(comments.get("tree_prob"))) is not None:
        values["probability"] = tree
    return values


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
    return {name: rows for name, rows in parts.items() if rows or name == "words"}


def _row_json(fields: tuple[str, ...], place: Place | None) -> dict[str, Any]:
    number, form, lemma, upos, xpos, feats, head, label, deps, misc = fields
    values: dict[str, Any] = {"id": int(number) if number.isdecimal() else number, "form": form}
    if lemma != "_":
        values["lemma"] = lemma
    if upos != "_":
        values["upos"] = upos
    if xpos != "_":
        values["xpos"] = xpos
    if feats != "_":
        values["feats"] = exact_pairs(feats)
    if head != "_":
        # The head of a word is a number; a multiword token or an empty node may have anything in this column.
        if not (head.isascii() and head.isdecimal()):
            raise InputError(f"row {number}: found HEAD {head!r}, expected a number or _")
        values["head"] = int(head)
    if label != "_":
        values["label"] = label
    if deps != "_":
        arcs = enhanced_arcs(deps)
        values["deps"] = deps if arcs is None else [arc._asdict() for arc in arcs]
    misc_values: Mapping[str, str] = {}
    if misc != "_":
        values["misc"] = exact = exact_pairs(misc)
        misc_values = pairs(misc) if isinstance(exact, str) else exact
    if place is not None:
        values["start"], values["end"] = place
    if (p := share(misc_values.get(HEAD_PROBABILITY))) is not None:
        values["head_probability"] = p
    if (p := share(misc_values.get(LABEL_PROBABILITY))) is not None:
        values["label_probability"] = p
    if ALTERNATIVES in misc_values and (alternatives := read_alternatives(misc)):
        values["alternatives"] = [arc._asdict() for arc in alternatives]
    return values


def _comment(line: str) -> str:
    """A comment without ``# ``, if reading can add it again; otherwise unchanged."""
    rest = line.removeprefix("# ")
    return line if rest == line or rest.startswith("#") else rest


def comment_number(sentence: Sentence, key: str) -> float | None:
    """The probability in a comment; None if there is no such comment."""
    return share(sentence.comments.get(key))


def treebank_text(values: Any) -> str:
    """CoNLL-U of a document, or of one sentence; ``InputError`` says which field is wrong."""
    from arcwise.schema import check_json, shown
    from arcwise.treebanks.json_model import JsonSentence

    if not isinstance(values, Mapping) or not ("sentences" in values or "words" in values):
        raise InputError(
            f"json: found {shown(values)}, expected an object with 'sentences' (a document) or 'words' (a "
            f"sentence)"
        )
    if "sentences" not in values:
        return _sentence_text(check_json(JsonSentence, values, "json"), "json")
    sentences = values["sentences"]
    if not isinstance(sentences, list | tuple):
        raise InputError(f"sentences: found {shown(sentences)}, expected a list")
    # One sentence at a time: the garbage collector would scan the rows of a large document over and over,
    # which takes longer than the checks.
    texts = []
    for number, sentence in enumerate(sentences):
        where = f"sentences[{number}]"
        texts.append(_sentence_text(check_json(JsonSentence, sentence, where, inside=where), where))
    return "".join(texts)


def _sentence_text(sentence: JsonSentence, where: str) -> str:
    rows: list[tuple[tuple[int, int], JsonRow]] = [
        ((int(row.id or at), 0), row) for at, row in enumerate(sentence.words, 1)
    ]
    for token in sentence.tokens or ():
        rows.append(((int(token.id.partition("-")[0]), -1), token))
    for node in sentence.empty_nodes or ():
        before, _, number = node.id.partition(".")
        rows.append(((int(before), int(number)), node))
    rows.sort(key=lambda row: row[0])  # a multiword token before its words, an empty node after its word
    texts = (_row_text(row, str(place[0])) for place, row in rows)
    return "".join((*_comment_texts(sentence, where), *texts, "\n"))


def _comment_texts(sentence: JsonSentence, where: str) -> Iterator[str]:
    """The comments; if there are none, those that other fields imply."""
    lines = sentence.comments
    if lines is None:
        fields = {"sent_id": sentence.sent_id, "text": sentence.text}
        lines = [f"{name} = {value}" for name, value in fields.items() if value is not None]
        if sentence.probability is not None:
            lines.append(f"tree_prob = {sentence.probability:.6g}")
    for line in lines:
        if "\n" in line or "\r" in line:
            raise InputError(f"{where}.comments: found a line break in {line!r}, expected one line")
        yield _writable(line if line.startswith("#") else f"# {line}") + "\n"


def _row_text(row: JsonRow, default_id: str) -> str:
    feats, deps = row.feats, row.deps
    if isinstance(feats, dict):
        feats = pair_text(feats)
    if isinstance(deps, list):
        deps = "|".join(f"{arc.head}:{arc.label}" for arc in deps)
    head = None if row.head is None else str(row.head)
    fields = (row.form, row.lemma, row.upos, row.xpos, feats, head, row.label, deps, _misc_text(row))
    text = "\t".join((row.id or default_id, *(field or "_" for field in fields)))
    return _writable(text) + "\n"


def _writable(text: str) -> str:
    """Replace lone surrogates, which JSON can escape but UTF-8 cannot write, by ``?``."""
    return text.encode("utf-8", "replace").decode()


def _misc_text(row: JsonRow) -> str:
    """MISC, extended with the other fields' information about the arc unless MISC already has it."""
    text = pair_text(row.misc) if isinstance(row.misc, dict) else row.misc or "_"
    added = {}
    if row.head_probability is not None and probability(text, HEAD_PROBABILITY) is None:
        added[HEAD_PROBABILITY] = f"{row.head_probability:.4f}"
    if row.label_probability is not None and probability(text, LABEL_PROBABILITY) is None:
        added[LABEL_PROBABILITY] = f"{row.label_probability:.4f}"
    if row.alternatives and not read_alternatives(text):
        arcs = [LabelledArc(arc.head, arc.label, arc.probability) for arc in row.alternatives]
        added[ALTERNATIVES] = alternatives_text(arcs)
    return "|".join(part for part in (text, pair_text(added)) if part != "_") or "_"
