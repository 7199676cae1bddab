"""The benchmark of features of the papers: that its trainings can be done, and what its tables say."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from benchmarks.feature_choices import CHOICES, Choice, choice_table
from measuring.trainings import Training

from arcwise.graph import GraphConfig


@pytest.mark.parametrize("name", list(CHOICES))
def test_every_training_of_a_choice_is_another_one_and_reads_its_options(name: str) -> None:
    choice = CHOICES[name]
    for config in choice.configs.values():
        config.refuse_unread()
    cells = [training for trainings in choice.cells(100).values() for training in trainings]
    assert len({training.folder for training in cells}) == len(choice.configs) * len(choice.treebanks)
    assert {training.sentences for training in cells} == {100}


def test_gains_and_times_are_against_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(training: Training) -> SimpleNamespace:
        wide = training.config.epochs == 2
        dev = SimpleNamespace(uas=0.8, las=0.72 if wide else 0.7)
        return SimpleNamespace(dev=dev, seconds=3.0 if wide else 2.0)

    monkeypatch.setattr(Training, "run", run)
    choice = Choice("…", ("X",), {"narrow": GraphConfig(epochs=1), "wide": GraphConfig(epochs=2)})
    lines = choice_table(choice, choice.cells(10)).splitlines()
    assert lines[2:] == [
        "| X | narrow | 80.00 / 70.00 |  | 1.00 |",
        "| X | wide | 80.00 / 72.00 | +2.00 | 1.50 |",
    ]
