"""Arrow, polars and datasets: a table with a row a sentence, whose words are lists. Nothing of CoNLL-U is lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from arcwise.errors import InputError
from arcwise.treebanks.coerce import as_treebank
from arcwise.treebanks.exchange.libraries import library
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
"""Columns about a sentence as a whole → as JSON calls them."""
_ROW = ("form", "lemma", "upos", "xpos", "feats", "head", "label", "deps", "misc")
"""The columns of CoNLL-U, as JSON calls them."""
_WORDS = dict(
    zip(("forms", "lemmas", "upos", "xpos", "feats", "heads", "labels", "deps", "misc"), _ROW, strict=True)
)
"""Lists over the words (named as ``Sentence`` names them) → as JSON calls what is in them."""
_SHARES = {"head_probabilities": "head_probability", "label_probabilities": "label_probability"}
_PLACES = ("word_starts", "word_ends")
_OTHER_ROWS = {"multiword_tokens": "tokens", "empty_nodes": "empty_nodes"}
"""Lists of other rows → as JSON calls them."""


def arrow_schema() -> Any:
    """The columns of ``to_arrow``, for whoever writes Parquet files."""
    arrow = library("pyarrow")
    text, number, place, share = arrow.string(), arrow.int32(), arrow.int64(), arrow.float64()
    row = [("id", text), *((name, number if name == "head" else text) for name in _ROW)]
    rows = arrow.list_(arrow.struct([*row, ("start", place), ("end", place)]))
    words = {name: number if name == "heads" else text for name in _WORDS}
    words |= dict.fromkeys(_PLACES, place) | dict.fromkeys(_SHARES, share)
    return arrow.schema(
        [
            ("sent_id", text),
            ("text", text),
            ("start", place),
            ("end", place),
            ("tree_probability", share),
            ("comments", arrow.list_(text)),
            *((name, arrow.list_(kind)) for name, kind in words.items()),
            *((name, rows) for name in _OTHER_ROWS),
        ]
    )


def to_arrow(treebank: TreebankLike) -> Any:
    """A ``pyarrow.Table`` with a row a sentence of a treebank, or of a ``Document``; null where a value is not known.

    ``sent_id``, ``text``, ``start``, ``end``, ``tree_probability``, ``comments``; a list with a value a word for each column (``forms``, ``lemmas``, …,
    ``heads``, ``labels``, …; FEATS, DEPS and MISC as text), ``word_starts`` and ``word_ends``, ``head_probabilities``, ``label_probabilities``; ``multiword_tokens`` and
    ``empty_nodes`` as lists of structs.
    """
    arrow, schema, words = library("pyarrow"), arrow_schema(), as_treebank(treebank)
    sentences = list(words)
    starts = arrow.array(words.sentence_words.astype("int32"))
    headers = [header_json(sentence) for sentence in sentences]
    columns: dict[str, Any] = {name: [own.get(key) for own in headers] for name, key in _HEADER.items()}
    for name, values in _word_values(words, sentences).items():
        kind = schema.field(name).type.value_type
        columns[name] = arrow.ListArray.from_arrays(starts, arrow.array(values, kind))
    columns["multiword_tokens"] = [_other_rows(sentence, "-") for sentence in sentences]
    columns["empty_nodes"] = [_other_rows(sentence, ".") for sentence in sentences]
    return arrow.table(columns, schema=schema)


def from_arrow(table: Any) -> Treebank:
    """A treebank from a ``pyarrow.Table`` such as ``to_arrow`` gives, or as ``arcwise parse --to parquet`` writes; ``forms`` alone must be there."""
    return _from_rows(table.column_names, table.to_pylist(), "<arrow>")


def to_polars(treebank: TreebankLike) -> Any:
    """The table of ``to_arrow`` as a ``polars.DataFrame``."""
    return library("polars").from_arrow(to_arrow(treebank))


def from_polars(frame: Any) -> Treebank:
    """A treebank from a ``polars.DataFrame`` such as ``to_polars`` gives."""
    return _from_rows(frame.columns, frame.to_dicts(), "<polars>")


def to_dataset(treebank: TreebankLike) -> Any:
    """The table of ``to_arrow`` as a ``datasets.Dataset`` of Hugging Face."""
    return library("datasets").Dataset(to_arrow(treebank))


def from_dataset(dataset: Any) -> Treebank:
    """A treebank from a ``datasets.Dataset`` such as ``to_dataset`` gives."""
    return from_arrow(dataset.with_format("arrow")[:])


# ---- rows


def _word_values(words: Treebank, sentences: Sequence[Sentence]) -> dict[str, list[Any]]:
    """What there is of each word, flat over all sentences."""
    found: dict[str, list[Any]] = {"forms": words.column("form")}
    for name, key in _WORDS.items():
        if name == "heads":
            found[name] = [None if head < 0 else head for head in words.heads.tolist()]
        elif name != "forms":
            column = words.column("deprel" if name == "labels" else key)
            found[name] = [None if value == "_" else value for value in column]
    places: list[Place | tuple[None, None]] = []
    for sentence, own in zip(sentences, words.surface.places, strict=True):
        for row, place in zip(sentence.token_rows, own, strict=True):
            inside = "-" in row.fields[0]
            places += [(None, None)] * (row.last - row.first + 1) if inside else [place]
    found["word_starts"], found["word_ends"] = [p[0] for p in places], [p[1] for p in places]
    told = [sentence.word_probabilities for sentence in sentences]
    for at, name in enumerate(_SHARES):
        found[name] = [p for own in told for p in own[at]]
    return found


def _other_rows(sentence: Sentence, sign: str) -> list[dict[str, Any]]:
    """Multiword tokens (``-``) or empty nodes (``.``)."""
    if len(sentence.rows) == len(sentence):
        return []
    places = sentence.treebank.surface.places[sentence.number]
    place_of = {row.fields[0]: place for row, place in zip(sentence.token_rows, places, strict=True)}
    return [_fields(row, place_of) for row in sentence.rows if sign in row[0]]


def _fields(row: tuple[str, ...], place_of: Mapping[str, Place]) -> dict[str, Any]:
    start, end = place_of.get(row[0], (None, None))
    found: dict[str, Any] = {"id": row[0], "form": row[1], "start": start, "end": end}
    found |= {name: None if value == "_" else value for name, value in zip(_ROW[1:], row[2:], strict=True)}
    if found["head"] is not None:
        found["head"] = int(row[6])
    return found


def _from_rows(columns: Iterable[str], rows: Iterable[Mapping[str, Any]], source: str) -> Treebank:
    if "forms" not in columns:
        raise InputError(f"table: found the columns {', '.join(columns)}, expected at least 'forms'")
    return Treebank.from_json({"sentences": [_sentence(row) for row in rows]}, source=source)


def _sentence(row: Mapping[str, Any]) -> dict[str, Any]:
    """The values of JSON that a row of the table tells."""
    found = {key: row[name] for name, key in _HEADER.items() if row.get(name) is not None}
    known = {name: row[name] for name in (*_WORDS, *_SHARES) if row.get(name) is not None}
    lengths = {name: len(values) for name, values in known.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{length} of {name}" for name, length in lengths.items())
        raise InputError(f"table: found lists of different lengths ({told}), expected a value a word")
    keys = [(_WORDS | _SHARES)[name] for name in known]
    found["words"] = [dict(zip(keys, word, strict=True)) for word in zip(*known.values(), strict=True)]
    for word in found["words"]:
        if word.get("head") == -1:  # not known
            del word["head"]
    for name, own in _OTHER_ROWS.items():
        found[own] = row.get(name) or []
    return found
