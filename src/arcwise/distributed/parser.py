"""``CorpusParser``: a parser for other engines, which adds trees to batches of rows with texts.

Ray Data, Hugging Face datasets, dask and Spark call it on many batches in many processes;
docs/how-to/a-billion-words.md has a recipe for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from arcwise.errors import InputError, OptionError
from arcwise.models import load
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline.document import Document
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks import Sentence

_SENTENCE_COLUMNS: dict[str, Callable[[Sentence], Any]] = {
    "forms": lambda s: s.forms,
    "lemmas": lambda s: s.lemmas,
    "upos": lambda s: s.upos,
    "xpos": lambda s: s.xpos,
    "feats": lambda s: s.feats,
    "heads": lambda s: s.heads[1:].tolist(),
    "labels": lambda s: s.deprels,
    "head_probabilities": lambda s: s.head_probabilities or [],
    "label_probabilities": lambda s: s.label_probabilities or [],
}
COLUMNS = ("conllu", *_SENTENCE_COLUMNS)
"""Columns that can be added."""
ERROR = "error"
"""Column with the error message of a text; empty if there is none."""


@dataclass(frozen=True)
class CorpusParser:
    """Adds columns with the trees to a batch of rows.

    The columns are ``conllu`` (text), or lists of sentences that are lists of words: ``forms``, ``heads``,
    ``labels``, ``head_probabilities``, … A row without a text gets empty values and a message in ``error``.

    A batch is a mapping of columns (Ray Data, datasets), a pandas table (dask), an Arrow table, or an
    iterator of those (Spark's ``mapInPandas``); the result is of the same type. Only the fields below are
    pickled; each process opens the model once.

    >>> CorpusParser("en", columns=("forms", "heads"))({"text": ["Birds sing."]})
    {'text': ['Birds sing.'], 'forms': [[['Birds', 'sing', '.']]], 'heads': [[[2, 0, 2]]], 'error': ['']}
    """

    model: str = "en"
    text: str = "text"
    """Column with the texts."""
    columns: tuple[str, ...] = ("conllu",)
    """Columns to add."""
    options: ParseOptions = field(default_factory=ParseOptions)
    threads: int = 1
    """Threads per process; more than one only helps with fewer processes than cores."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        unknown = [name for name in self.columns if name not in COLUMNS]
        if unknown or not self.columns:
            names = ", ".join(unknown) or "none"
            raise OptionError("columns", f"found {names}, expected some of {', '.join(COLUMNS)}")

    def __call__(self, batch: Any) -> Any:
        """Return the batch with the added columns."""
        if isinstance(batch, Iterator):
            return map(self, batch)
        if isinstance(batch, Mapping):
            rows = batch[self._text_column(batch)]
            added = self._added(list(rows))
            as_arrays = isinstance(rows, np.ndarray)
            return {**batch, **{name: _objects(v) if as_arrays else v for name, v in added.items()}}
        # By name of the module, so that neither library has to be installed or imported.
        library = type(batch).__module__.partition(".")[0]
        if library == "pandas":
            added = self._added(list(batch[self._text_column(batch)]))
            return batch.assign(**{name: _objects(values) for name, values in added.items()})
        if library == "pyarrow":
            return self._add_to_table(batch)
        raise InputError(
            f"batch: found {type(batch).__name__}, expected a mapping of columns, a pandas or Arrow table, "
            "or an iterator of those"
        )

    def _text_column(self, names: Any) -> str:
        if self.text not in names:
            raise InputError(
                f"batch: found the columns {', '.join(map(str, names))}, expected {self.text!r} for the texts"
            )
        return self.text

    def _added(self, texts: Sequence[Any]) -> dict[str, list[Any]]:
        """The new columns."""
        valid = [number for number, text in enumerate(texts) if isinstance(text, str)]
        parsed = self._documents([texts[number] for number in valid])
        documents: dict[int, Document | str] = dict(zip(valid, parsed, strict=True))
        rows = [documents.get(number) for number in range(len(texts))]
        errors = [_error(text, row) for text, row in zip(texts, rows, strict=True)]
        return {**{name: [_value(name, row) for row in rows] for name in self.columns}, ERROR: errors}

    def _documents(self, texts: Sequence[str]) -> list[Document | str]:
        """The documents, or error messages; if a batch fails, its texts are tried one by one."""
        pipeline = _pipeline(self.model)
        try:
            return [*pipeline.analyse_texts(texts, options=self.options, threads=self.threads)]
        except Exception as error:
            # Any error belongs to a row: a billion rows must not fail because of one.
            if len(texts) > 1:
                return [document for text in texts for document in self._documents([text])]
            return [f"cannot be parsed ({type(error).__name__}: {error})"]

    def _add_to_table(self, table: Any) -> Any:
        import pyarrow as pa

        types = {"conllu": pa.string(), ERROR: pa.string(), "heads": pa.list_(pa.list_(pa.int32()))}
        floats, strings = pa.list_(pa.list_(pa.float32())), pa.list_(pa.list_(pa.string()))
        texts = table.column(self._text_column(table.column_names)).to_pylist()
        for name, values in self._added(texts).items():
            kind = types.get(name, floats if name.endswith("_probabilities") else strings)
            table = table.append_column(name, pa.array(values, kind))
        return table


def _value(column: str, row: Document | str | None) -> Any:
    """The value of a row in a column; empty if the row has no trees."""
    if not isinstance(row, Document):
        return "" if column == "conllu" else []
    if column == "conllu":
        return row.treebank.text
    return [_SENTENCE_COLUMNS[column](sentence) for sentence in row.treebank]


def _error(text: object, row: Document | str | None) -> str:
    if row is None:
        return f"found {type(text).__name__}, expected a string"
    return row if isinstance(row, str) else ""


def _objects(values: Sequence[Any]) -> Any:
    """A numpy column of Python objects."""
    column = np.empty(len(values), object)  # np.array would turn lists of equal length into a matrix
    column[:] = values
    return column


@cache
def _pipeline(model: str) -> Pipeline:
    """The model, opened once per process."""
    return load(model)
