"""On real treebanks with planted defects the official validator and we say the same, and repairs repair."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.treebanks import Sentence, stream
from arcwise.treebanks.validation import Inventory
from conftest import treebank_folder
from treebanks.validation.official import verdicts
from treebanks.validation.planting import PLANTS, plant_all
from treebanks.validation.repairing import failures
from treebanks.validation.sound import SOUND

LONG = bool(os.environ.get("ARCWISE_LONG_TESTS"))
SENTENCES = 41  # of a file; every second one gets a defect, and the last stays sound
_folder = treebank_folder()
FILES = sorted(str(p.relative_to(_folder)) for p in _folder.glob("*/*.conllu.xz")) if _folder else [""]


def sentences_of(path: Path) -> list[Sentence]:
    """Some sentences from the start of a file; all of them in the long tests."""
    if LONG:
        return [sentence for batch in stream(path) for sentence in batch]
    batch = next(stream(path, batch_bytes=1 << 17))
    return [sentence for sentence in batch if len(sentence) < 60][:SENTENCES]


@pytest.mark.treebanks
@pytest.mark.parametrize("file", FILES)
def test_the_same_verdicts_as_the_official_validator(treebanks: Path, file: str) -> None:
    """Sentence by sentence and rule by rule, up to the deviations that docs/reference/validation.md lists."""
    text, counts = plant_all(sentences_of(treebanks / file), seed=FILES.index(file))
    assert sum(counts.values()) > 15
    theirs, ours = verdicts(text)
    assert ours == theirs


@pytest.mark.slow
@pytest.mark.treebanks
@pytest.mark.parametrize("file", FILES if LONG else FILES[::6])
def test_repairs_of_planted_defects(treebanks: Path, file: str) -> None:
    some = sentences_of(treebanks / file)
    text, _ = plant_all(some if LONG else some[:17], seed=100 + FILES.index(file))
    treebank = Treebank.from_string(text, strict=False)
    count, failed = failures(treebank, Inventory.of(treebank))
    assert count > 0
    assert failed == []


@pytest.mark.parametrize("seed", range(8))
def test_the_same_verdicts_on_a_small_treebank(seed: int) -> None:
    """All kinds of defects, in copies of four sentences with everything that CoNLL-U has."""
    sound = SOUND.replace("Rex", "Réx").replace("# parallel_id = zoo/1/alt1\n", "")
    many = "".join(sound.replace("sent_id = ", f"sent_id = {i}") for i in range(len(PLANTS)))
    copies = list(Treebank.from_string(many))[: 2 * len(PLANTS) + 1 + seed % 4]
    text, counts = plant_all(copies, seed)
    assert (
        sum(bool(count) for count in counts.values()) >= len(PLANTS) - 3
    )  # accents are in one sentence alone
    theirs, ours = verdicts(text)
    assert ours == theirs
