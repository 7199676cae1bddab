"""Sentences and documents as JSON values, and back; docs/reference/json.md describes the fields, json_model.py declares their types.

Nothing that well-formed CoNLL-U has is lost. Some fields repeat what others have, for those who read (``text``, ``start``, ``end``,
``probability``, …); what is read back is the comments and the ten columns.
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


def treebank_text(values: Any) -> str:
    """CoNLL-U of a document, or of one sentence; ``InputError`` says which field is wrong."""
    from arcwise.schema import check_json, shown
    from arcwise.treebanks.json_model import JsonSentence

    if not isinstance(values, Mapping) or not ("sentences" in values or "words" in values):
        raise InputError(
            f"json: found {shown(values)}, expected an object with 'sentences' (a document) or 'words' (a sentence)"
        )
    if "sentences" not in values:
        return _sentence_text(check_json(JsonSentence, values, "json"), "json")
    sentences = values["sentences"]
    if not isinstance(sentences, list | tuple):
        raise InputError(f"sentences: found {shown(sentences)}, expected a list")
    # One sentence at a time: the garbage collector would scan the rows of a large document over and over, which
    # takes longer than the checks.
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
        yield (line if line.startswith("#") else f"# {line}") + "\n"


def _row_text(row: JsonRow, default_id: str) -> str:
    feats, deps = row.feats, row.deps
    if isinstance(feats, dict):
        feats = pair_text(feats)
    if isinstance(deps, list):
        deps = "|".join(f"{arc.head}:{arc.label}" for arc in deps)
    head = None if row.head is None else str(row.head)
    fields = (row.form, row.lemma, row.upos, row.xpos, feats, head, row.label, deps, _misc_text(row))
    text = "\t".join((row.id or default_id, *(field or "_" for field in fields)))
    return text.encode("utf-8", "replace").decode() + "\n"


def _misc_text(row: JsonRow) -> str:
    """MISC, with what other fields say of the arc unless MISC says it."""
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
