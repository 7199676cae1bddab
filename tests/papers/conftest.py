"""Small treebanks in place of the real ones, and an empty cache."""

import lzma
from collections.abc import Iterator
from pathlib import Path

import pytest
from measuring import inputs

from contracts.small_treebank import small_treebank

TREEBANKS = (
    "Arabic-PADT-rs",
    "Czech-Mix-rs",
    "Danish-CDT",
    "Dutch-Alpino-cdbl",
    "English-EWT",
    "English-WSJsample",
    "Japanese-GSD",
    "Slovenian-SSJ-rs",
    "Spanish-AnCora-rs",
    "Turkish-IMST",
)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of treebanks, all of them the same small one, and an empty cache.

    Trainings run in this process, one after the other, and know no deadline.
    """
    text = lzma.compress(small_treebank(crossing=True).data)
    for name in TREEBANKS:
        (tmp_path / "treebanks" / name).mkdir(parents=True)
        for part in inputs.PARTS:
            (tmp_path / "treebanks" / name / f"{part}.conllu.xz").write_bytes(text)
    (tmp_path / "treebanks" / "English-WSJsample" / "wsj10-200.conllu.xz").write_bytes(text)
    monkeypatch.setenv("ARCWISE_TREEBANKS", str(tmp_path / "treebanks"))
    monkeypatch.setenv("ARCWISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("experiments.page.run_all", lambda wanted, **_: [t.run() for t in wanted])
    inputs.read.cache_clear()
    yield tmp_path
    inputs.read.cache_clear()
