"""Conversion to and from Arrow, polars and datasets: one row per sentence, without loss."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from arcwise.errors import InputError
from arcwise.optional import import_optional
from arcwise.treebanks.coerce import as_treebank
from arcwise.treebanks.json_format import header_json
from arcwise.treebanks.surface import Place
from arcwise.treebanks.treebank import Treebank

if TYPE_CHECKING:
    from arcwise.treebanks.coerce import TreebankLike
    from arcwise.treebanks.sentence import Sentence

_HEADER = {
    "sent_id": "sent_id",
    "text": "text",
    "start": "start",
    "end": "end",
    "tree_probability": "probability",
    "comments": "comments",
}
"""Columns of the sentence → keys in JSON."""
_ROW = ("form", "lemma", "upos", "xpos", "feats", "head", "label", "deps", "misc")
"""The columns of CoNLL-U as keys in JSON."""
_WORDS = dict(
    zip(("forms", "lemmas", "upos", "xpos", "feats", "heads", "labels", "deps", "misc"), _ROW, strict=True)
)
"""Columns with one value per word, named as in ``Sentence`` → keys in JSON."""
_PROBABILITIES = {"head_probabilities": "head_probability", "label_probabilities": "label_probability"}
_OFFSETS = ("word_starts", "word_ends")
_OTHER_ROWS = {"multiword_tokens": "tokens", "empty_nodes": "empty_nodes"}
"""Columns of other rows → keys in JSON."""


def arrow_schema() -> Any:
    """The schema of ``to_arrow``, for writing Parquet files."""
    arrow = import_optional("pyarrow")
    # Character offsets in a large text exceed 32 bits; numbers of words in a sentence do not.
    text, number, offset, probability = arrow.string(), arrow.int32(), arrow.int64(), arrow.float64()
    row = [("id", text), *((name, number if name == "head" else text) for name in _ROW)]
    rows = arrow.list_(arrow.struct([*row, ("start", offset), ("end", offset)]))
    words = {name: number if name == "heads" else text for name in _WORDS}
    words |= dict.fromkeys(_OFFSETS, offset) | dict.fromkeys(_PROBABILITIES, probability)
    return arrow.schema(
        [
            ("sent_id", text),
            ("text", text),
            ("start", offset),
            ("end", offset),
            ("tree_probability", probability),
            ("comments", arrow.list_(text)),
            *((name, arrow.list_(kind)) for name, kind in words.items()),
            *((name, rows) for name in _OTHER_ROWS),
        ]
    )


def to_arrow(treebank: TreebankLike) -> Any:
    """Convert a treebank or a ``Document`` to a ``pyarrow.Table`` with one row per sentence.

    Unknown values are null. Columns: ``sent_id``, ``text``, ``start``, ``end``, ``tree_probability``,
    ``comments``; lists with one value per word (``forms``, ``lemmas``, …, ``heads``, ``labels``, …; FEATS,
    DEPS and MISC as text), ``word_starts`` and ``word_ends``, ``head_probabilities``,
    ``label_probabilities``; ``multiword_tokens`` and ``empty_nodes`` as lists of structs.
    """
    arrow, schema, words = import_optional("pyarrow"), arrow_schema(), as_treebank(treebank)
    sentences = list(words)
    starts = arrow.array(words.sentence_words.astype("int32"))
    headers = [header_json(sentence) for sentence in sentences]
    columns: dict[str, Any] = {name: [header.get(key) for header in headers] for name, key in _HEADER.items()}
    for name, values in _word_values(words, sentences).items():
        kind = schema.field(name).type.value_type
        # One flat array and the offsets of sentences, instead of a Python list per sentence.
        columns[name] = arrow.ListArray.from_arrays(starts, arrow.array(values, kind))
    columns["multiword_tokens"] = [_other_rows(sentence, "-") for sentence in sentences]
    columns["empty_nodes"] = [_other_rows(sentence, ".") for sentence in sentences]
    return arrow.table(columns, schema=schema)


def from_arrow(table: Any) -> Treebank:
    """Make a treebank from a ``pyarrow.Table`` like that of ``to_arrow`` or ``arcwise parse --to parquet``.

    Only the column ``forms`` is required.
    """
    return _from_rows(table.column_names, table.to_pylist(), "<arrow>")


def to_polars(treebank: TreebankLike) -> Any:
    """Convert to a ``polars.DataFrame`` with the columns of ``to_arrow``."""
    return import_optional("polars").from_arrow(to_arrow(treebank))


def from_polars(frame: Any) -> Treebank:
    """Make a treebank from a ``polars.DataFrame`` like that of ``to_polars``."""
    return _from_rows(frame.columns, frame.to_dicts(), "<polars>")


def to_dataset(treebank: TreebankLike) -> Any:
    """Convert to a Hugging Face ``datasets.Dataset`` with the columns of ``to_arrow``."""
    return import_optional("datasets").Dataset(to_arrow(treebank))


def from_dataset(dataset: Any) -> Treebank:
    """Make a treebank from a ``datasets.Dataset`` like that of ``to_dataset``."""
    return from_arrow(dataset.with_format("arrow")[:])


def _word_values(words: Treebank, sentences: Sequence[Sentence]) -> dict[str, list[Any]]:
    """The columns of words, flat over all sentences."""
    columns: dict[str, list[Any]] = {"forms": words.column("form")}
    for name, key in _WORDS.items():
        if name == "heads":
            columns[name] = [None if head < 0 else head for head in words.heads.tolist()]
        elif name != "forms":
            column = words.column("deprel" if name == "labels" else key)
            columns[name] = [None if value == "_" else value for value in column]
    offsets: list[Place | tuple[None, None]] = []
    for sentence, token_offsets in zip(sentences, words.surface.places, strict=True):
        for row, offset in zip(sentence.token_rows, token_offsets, strict=True):
            inside = "-" in row.fields[0]
            offsets += [(None, None)] * (row.last - row.first + 1) if inside else [offset]
    columns["word_starts"], columns["word_ends"] = [o[0] for o in offsets], [o[1] for o in offsets]
    probabilities = [sentence.word_probabilities for sentence in sentences]
    for index, name in enumerate(_PROBABILITIES):
        columns[name] = [p for of_sentence in probabilities for p in of_sentence[index]]
    return columns


def _other_rows(sentence: Sentence, sign: str) -> list[dict[str, Any]]:
    """Multiword tokens (``-``) or empty nodes (``.``)."""
    # Most sentences have no rows but words.
    if len(sentence.rows) == len(sentence):
        return []
    places = sentence.treebank.surface.places[sentence.number]
    place_of = {row.fields[0]: place for row, place in zip(sentence.token_rows, places, strict=True)}
    return [_fields(row, place_of) for row in sentence.rows if sign in row[0]]


def _fields(row: tuple[str, ...], place_of: Mapping[str, Place]) -> dict[str, Any]:
    start, end = place_of.get(row[0], (None, None))
    fields: dict[str, Any] = {"id": row[0], "form": row[1], "start": start, "end": end}
    fields |= {name: None if value == "_" else value for name, value in zip(_ROW[1:], row[2:], strict=True)}
    if fields["head"] is not None:
        fields["head"] = int(row[6])
    return fields


def _from_rows(columns: Iterable[str], rows: Iterable[Mapping[str, Any]], source: str) -> Treebank:
    if "forms" not in columns:
        raise InputError(f"table: the column 'forms' is missing (columns: {', '.join(columns)})")
    return Treebank.from_json({"sentences": [_sentence(row) for row in rows]}, source=source)


def _sentence(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the table as a JSON sentence."""
    sentence: dict[str, Any] = {key: row[name] for name, key in _HEADER.items() if row.get(name) is not None}
    columns = {name: row[name] for name in (*_WORDS, *_PROBABILITIES) if row.get(name) is not None}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise InputError(f"table: the lists of a sentence must have one value per word; lengths: {listed}")
    keys = [(_WORDS | _PROBABILITIES)[name] for name in columns]
    sentence["words"] = [dict(zip(keys, word, strict=True)) for word in zip(*columns.values(), strict=True)]
    for word in sentence["words"]:
        if word.get("head") == -1:  # unknown
            del word["head"]
    for name, key in _OTHER_ROWS.items():
        sentence[key] = row.get(name) or []
    return sentence
