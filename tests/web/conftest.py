"""Fixtures: served treebanks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from web.served import Served


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A small treebank."""
    from web.served import ROWS

    path = tmp_path / "small.conllu"
    path.write_bytes(ROWS.encode())
    return path


@pytest.fixture
def served(file: Path) -> Iterator[Served]:
    """It, served without a model."""
    from web.served import open_session, serving

    with serving(open_session(file)) as made:
        yield made


@pytest.fixture(scope="session")
def parser() -> Any:
    """A parser of a few sentences."""
    from arcwise.graph import GraphConfig, GraphParser
    from contracts.small_treebank import small_treebank

    return GraphParser.train(small_treebank(), config=GraphConfig(epochs=2, arc_bits=12, row_bits=13))


@pytest.fixture
def thinking(file: Path, parser: Any) -> Iterator[Served]:
    """The small treebank, served with a parser for suggestions."""
    from web.served import open_session, serving

    with serving(open_session(file, model=parser)) as made:
        yield made
