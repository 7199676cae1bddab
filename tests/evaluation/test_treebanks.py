"""Damaged copies of real treebanks get the official scorer's figures, to the last digit."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
from udtools import udeval

from arcwise import Treebank
from conftest import treebank_folder
from evaluation.damage import damaged
from evaluation.official import official_figures, our_figures

TRAIN_SENTENCES = None if os.environ.get("ARCWISE_LONG_TESTS") else 1500
_folder = treebank_folder()
FILES = sorted(str(p.relative_to(_folder)) for p in _folder.glob("*/*.conllu.xz")) if _folder else [""]


@pytest.mark.slow
@pytest.mark.treebanks
@pytest.mark.parametrize("file", FILES)
def test_equal_to_the_official_scorer(treebanks: Path, file: str) -> None:
    """The official scorer takes about 0.1 ms per word, minutes for everything: of training files the first
    1500 sentences are scored, the others whole (``make test-long`` scores all of everything). Sentences that
    it refuses (several roots: Danish, Swedish) are left out.
    """
    whole = Treebank.read(treebanks / file)
    gold = _accepted(whole[:TRAIN_SENTENCES] if "train" in file else whole)
    system = damaged(gold, seed=20)
    ours = our_figures(gold, system)
    assert ours == official_figures(gold, system)
    assert 0.5 < ours["LAS"][2] < 0.95


def _accepted(treebank: Treebank) -> Treebank:
    """The sentences with exactly one root."""
    return Treebank.from_sentences(s for s in treebank if len(s.tree.roots) == 1)


@pytest.mark.treebanks
def test_the_official_scorer_refuses_what_is_left_out(treebanks: Path) -> None:
    gold = Treebank.read(treebanks / "Danish-CDT/dev.conllu.xz")
    refused = next(s for s in gold if len(s.tree.roots) > 1)
    with pytest.raises(udeval.UDError, match="multiple roots"):
        udeval.load_conllu(io.StringIO(refused.to_conllu()), "refused", {})
    scores = our_figures(gold, gold)
    assert scores["LAS"] == (1.0, 1.0, 1.0, 1.0)
