"""What all tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


def treebank_folder() -> Path | None:
    """Where the real treebanks are, if they are here."""
    folder = os.environ.get("ARCWISE_TREEBANKS")
    return Path(folder) if folder and Path(folder).is_dir() else None


@pytest.fixture(scope="session", autouse=True)
def _state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests write nothing into the user's home: ``arcwise annotate`` keeps a secret there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(scope="session")
def treebanks() -> Path:
    """The folder of real treebanks; the test is skipped where there is none."""
    folder = treebank_folder()
    if folder is None:
        pytest.skip("needs real treebanks: set ARCWISE_TREEBANKS to their folder")
    return folder
