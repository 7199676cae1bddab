"""Conversion to and from pandas: one row per word."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from arcwise.errors import InputError
from arcwise.optional import import_optional
from arcwise.treebanks.coerce import as_treebank
from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.treebank import Treebank
from arcwise.treebanks.words import Token

if TYPE_CHECKING:
    from arcwise.treebanks.coerce import TreebankLike


def to_conllu_library(treebank: TreebankLike) -> Any:
    """Convert to a ``SentenceList`` of the conllu library, without loss."""
    return import_optional("conllu").parse(as_treebank(treebank).text)


def from_conllu_library(sentences: Iterable[Any]) -> Treebank:
    """Make a treebank from ``TokenList`` sentences of the conllu library."""
    return Treebank.from_string("".join(s.serialize() for s in sentences), source="<conllu>")


_NAMES = {"deprel": "label"}
"""Columns with another key in JSON."""


def to_pandas(treebank: TreebankLike) -> Any:
    """Convert a treebank or a ``Document`` to a ``pandas.DataFrame`` with one row per word.

    Columns: ``sentence`` (from 0), ``sent_id``, the ten columns as written in the file, but ``id`` and
    ``head`` as numbers (-1: unknown); ``head_probability`` and ``label_probability``; the token of the word
    as ``token_id`` (``1-2`` for a multiword token), ``token_form``, ``token_misc``, ``start``, ``end``; and
    the ``text`` of its sentence. Empty nodes and other comments are lost.
    """
    pandas = import_optional("pandas")
    words = as_treebank(treebank)
    lengths = words.sentence_lengths.tolist()
    sentences = list(words)
    table: dict[str, Any] = {
        "sentence": [number for number, length in enumerate(lengths) for _ in range(length)],
        "sent_id": [name for s in sentences for name in [s.sent_id] * len(s)],
        "id": [i for length in lengths for i in range(1, length + 1)],
    }
    for name in COLUMNS[1:]:
        table[name] = words.heads if name == "head" else words.column(name)
    probabilities = [s.word_probabilities for s in sentences]
    for index, name in enumerate(("head_probability", "label_probability")):
        values = [p for of_sentence in probabilities for p in of_sentence[index]]
        # Through the nullable type of pandas, which turns None into NaN.
        table[name] = pandas.array(values, dtype="Float64").to_numpy("float64", na_value=float("nan"))
    tokens = [token for s in sentences for token in s.tokens for _ in token.words]
    return pandas.DataFrame(
        table | _token_columns(tokens) | {"text": [s.text for s in sentences for _ in s.words]}
    )


def _token_columns(tokens: list[Token]) -> dict[str, Any]:
    """The columns of the token of each word."""
    return {
        "token_id": [token.id for token in tokens],
        "token_form": [token.form for token in tokens],
        "token_misc": [token.misc_text for token in tokens],
        "start": [token.start for token in tokens],
        "end": [token.end for token in tokens],
    }


def from_pandas(table: Any) -> Treebank:
    """Make a treebank from a table like that of ``to_pandas``; missing columns become ``_``."""
    if "form" not in table:
        raise InputError(f"table: the column 'form' is missing (columns: {', '.join(map(str, table))})")
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in table.to_dict("records"):
        present = {name: value for name, value in row.items() if not _is_missing(value)}
        groups.setdefault(present.get("sentence"), []).append(present)
    sentences = [_sentence(rows) for rows in groups.values()]
    return Treebank.from_json({"sentences": sentences}, source="<pandas>")


def _sentence(rows: list[dict[str, Any]]) -> dict[str, Any]:
    sentence: dict[str, Any] = {name: rows[0][name] for name in ("sent_id", "text") if name in rows[0]}
    sentence["words"] = [_word(row) for row in rows]
    spans = {str(row["token_id"]): row for row in rows if "-" in str(row.get("token_id", ""))}
    sentence["tokens"] = [
        {"id": span, "form": str(row.get("token_form", "_")), "misc": str(row.get("token_misc", "_"))}
        for span, row in spans.items()
    ]
    return sentence


def _word(row: dict[str, Any]) -> dict[str, Any]:
    word: dict[str, Any] = {
        _NAMES.get(name, name): str(row[name]) for name in COLUMNS[1:] if name in row and name != "head"
    }
    head = row.get("head", -1)
    if head != -1:
        # A column with missing values holds its numbers as floats.
        word["head"] = int(head) if float(head).is_integer() else head
    word |= {name: float(row[name]) for name in ("head_probability", "label_probability") if name in row}
    return word


def _is_missing(value: Any) -> bool:
    return value is None or value != value  # NaN is not equal to itself
