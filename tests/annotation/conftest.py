"""Fixtures of the tests of documents."""

import os
from pathlib import Path

import pytest

from treebanks.samples import ALL


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A treebank of three sentences."""
    path = tmp_path / "a.conllu"
    path.write_bytes(ALL.encode())
    return path


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that write often: what matters when the power fails is left out."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
