"""Rows of Parquet files: the column of the texts, and that of the names."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from arcwise.errors import InputError
from arcwise.optional import require

_ROWS = 1024
"""Rows that are read at a time."""

Rows = tuple[list[Any], list[Any] | None]
"""Texts and names of some rows."""


def row_batches(path: str, text: str, name: str | None, *, first_row: int = 0) -> Iterator[Rows]:
    """The texts and the names of the rows from ``first_row`` (from 0) on, some at a time. Groups of rows before it are not read."""
    require("pyarrow")
    import pyarrow
    import pyarrow.parquet as parquet

    columns = [text, *([name] if name is not None else [])]
    try:
        with parquet.ParquetFile(path) as file:
            for column in columns:
                if column not in file.schema_arrow.names:
                    known = ", ".join(file.schema_arrow.names)
                    raise InputError(f"{path}: found no column {column!r}, but {known}")
            groups, skipped = _groups_from(file, first_row)
            for batch in file.iter_batches(_ROWS, row_groups=groups, columns=columns):
                taken = batch.slice(min(skipped, batch.num_rows))
                skipped -= batch.num_rows - taken.num_rows
                if taken.num_rows:
                    names = None if name is None else taken.column(name).to_pylist()
                    yield taken.column(text).to_pylist(), names
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (pyarrow.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"{path}: is no intact Parquet file ({error})") from error


def _groups_from(file: Any, first_row: int) -> tuple[list[int], int]:
    """The groups of rows that are needed, and how many rows of the first are not."""
    before = 0
    for group in range(file.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if before + rows > first_row:
            return list(range(group, file.num_row_groups)), first_row - before
        before += rows
    return [], 0
