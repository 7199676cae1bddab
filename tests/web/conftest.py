"""A served treebank for every test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from web.served import Served


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A small treebank."""
    from web.served import ROWS

    path = tmp_path / "small.conllu"
    path.write_text(ROWS, encoding="utf-8")
    return path


@pytest.fixture
def served(file: Path) -> Iterator[Served]:
    """It, served without a model."""
    pytest.importorskip("starlette", reason="needs starlette")
    from arcwise.web.annotate_session import Session
    from arcwise.web.events import Events
    from arcwise.web.stand_in import Document
    from web.served import serving

    session = Session(Document.open(file), events=Events())
    with serving(session) as made:
        yield made
    session.close()
