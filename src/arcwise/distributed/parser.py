"""``CorpusParser``: a parser for the engines of others. It takes a batch of rows with texts and gives the rows with their trees.

Ray Data, Hugging Face datasets, dask and Spark call such a thing on many batches, in many processes; docs/how-to/a-billion-words.md has a
recipe for each.
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

_OF_SENTENCE: dict[str, Callable[[Sentence], Any]] = {
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
COLUMNS = ("conllu", *_OF_SENTENCE)
"""The columns that can be asked for."""
ERROR = "error"
"""The column that says what is wrong with a text; empty where nothing is."""


@dataclass(frozen=True)
class CorpusParser:
    """Adds columns with the trees to a batch of rows: ``conllu`` (text), or lists of sentences that are lists of words: ``forms``, ``heads``,
    ``labels``, ``head_probabilities``, … A row whose text is no text gets empty ones, and a sentence in the column ``error``.

    A batch is a mapping of columns (Ray Data, datasets), a pandas table (dask), an Arrow table, or an iterator of those (Spark's
    ``mapInPandas``); what comes back is of the same kind. It is pickled as what is written here; each process opens the model once.

    >>> CorpusParser("en", columns=("forms", "heads"))({"text": ["Birds sing."], "n": [1]})
    {'text': ['Birds sing.'], 'n': [1], 'forms': [[['Birds', 'sing', '.']]], 'heads': [[[2, 0, 2]]], 'error': ['']}
    """

    model: str = "en"
    text: str = "text"
    """The column that has the texts."""
    columns: tuple[str, ...] = ("conllu",)
    """What is added."""
    options: ParseOptions = field(default_factory=ParseOptions)
    threads: int = 1
    """For each process: more only where there are fewer processes than cores."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        unknown = [name for name in self.columns if name not in COLUMNS]
        if unknown or not self.columns:
            found = ", ".join(unknown) or "none"
            raise OptionError("columns", f"found {found}, expected some of {', '.join(COLUMNS)}")

    def __call__(self, batch: Any) -> Any:
        """The batch with the columns that were asked for."""
        if isinstance(batch, Iterator):
            return map(self, batch)
        if isinstance(batch, Mapping):
            rows = batch[self._known(batch)]
            added = self._added(list(rows))
            as_arrays = isinstance(rows, np.ndarray)
            return {**batch, **{name: _objects(v) if as_arrays else v for name, v in added.items()}}
        library = type(batch).__module__.partition(".")[0]
        if library == "pandas":
            return batch.assign(
                **{n: _objects(v) for n, v in self._added(list(batch[self._known(batch)])).items()}
            )
        if library == "pyarrow":
            return self._table(batch)
        raise InputError(
            f"batch: found {type(batch).__name__}, expected a mapping of columns, a table of pandas or Arrow, or an iterator of those"
        )

    def _known(self, names: Any) -> str:
        if self.text not in names:
            raise InputError(
                f"batch: found the columns {', '.join(map(str, names))}, expected {self.text!r} for the texts"
            )
        return self.text

    def _added(self, texts: Sequence[Any]) -> dict[str, list[Any]]:
        """The new columns."""
        good = [number for number, text in enumerate(texts) if isinstance(text, str)]
        found = self._documents([texts[number] for number in good])
        made: dict[int, Document | str] = dict(zip(good, found, strict=True))
        errors = [_complaint(text, made.get(number)) for number, text in enumerate(texts)]
        rows = [made.get(number) for number in range(len(texts))]
        return {**{name: [_value(name, row) for row in rows] for name in self.columns}, ERROR: errors}

    def _documents(self, texts: Sequence[str]) -> list[Document | str]:
        """The documents; or why there is none. Where a batch fails, its texts are tried one by one."""
        pipeline = _pipeline(self.model)
        try:
            return [*pipeline.analyse_texts(texts, options=self.options, threads=self.threads)]
        except Exception as error:
            if len(texts) > 1:
                return [found for text in texts for found in self._documents([text])]
            return [f"cannot be parsed ({type(error).__name__}: {error})"]

    def _table(self, table: Any) -> Any:
        import pyarrow as pa

        kinds = {"conllu": pa.string(), ERROR: pa.string(), "heads": pa.list_(pa.list_(pa.int32()))}
        shares, strings = pa.list_(pa.list_(pa.float32())), pa.list_(pa.list_(pa.string()))
        for name, values in self._added(table.column(self._known(table.column_names)).to_pylist()).items():
            kind = kinds.get(name, shares if name.endswith("_probabilities") else strings)
            table = table.append_column(name, pa.array(values, kind))
        return table


def _value(column: str, row: Document | str | None) -> Any:
    """What a row has in a column; nothing where it has no trees."""
    if not isinstance(row, Document):
        return "" if column == "conllu" else []
    if column == "conllu":
        return row.treebank.text
    return [_OF_SENTENCE[column](sentence) for sentence in row.treebank]


def _complaint(text: object, made: Document | str | None) -> str:
    if made is None:
        return f"found {type(text).__name__}, expected a string"
    return made if isinstance(made, str) else ""


def _objects(values: Sequence[Any]) -> Any:
    """A column of Python objects, as numpy has it."""
    column = np.empty(len(values), object)
    column[:] = values
    return column


@cache
def _pipeline(model: str) -> Pipeline:
    """The model, opened once in a process."""
    return load(model)
