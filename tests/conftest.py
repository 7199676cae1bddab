"""What all tests share."""

import os
from pathlib import Path

import pytest


def treebank_folder() -> Path | None:
    """Where the real treebanks are, if they are here."""
    folder = os.environ.get("ARCWISE_TREEBANKS")
    return Path(folder) if folder and Path(folder).is_dir() else None


@pytest.fixture(scope="session")
def treebanks() -> Path:
    """The folder of real treebanks; the test is skipped where there is none."""
    folder = treebank_folder()
    if folder is None:
        pytest.skip("needs real treebanks: set ARCWISE_TREEBANKS to their folder")
    return folder
