"""Blessing: older cells count as current if a sample computed again has the same figures, else not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from experiments import bless, page
from measuring import inputs, trainings
from measuring.cell_file import Cell, CellFile, differences, packed
from measuring.cells import RecordedCells
from measuring.sources import code_hash
from measuring.trainings import Training

from arcwise.graph import GraphConfig
from arcwise.learning.progress import Progress
from arcwise.transition import TransitionConfig
from arcwise.treebanks import Treebank

OLD = "0" * 12
GRAPH = GraphConfig(epochs=2, arc_bits=14, row_bits=14, labelled=False)
TRANSITION = TransitionConfig(epochs=2, move_bits=12, label_bits=10)


def record(path: Path) -> CellFile:
    """Cells of three kinds, computed now and marked as those of older code."""
    records = CellFile(path)
    for config in (GRAPH, replace(GRAPH, seed=2), TRANSITION):
        Training(
            "Danish-CDT", config, measures=("test decode=mbr",) * (config is GRAPH), records=records
        ).run()
    RecordedCells("data", records).cell("several", partial(inputs.has_several_roots, "Danish-CDT", 5))
    for cell in list(records):
        records.put(replace(cell, code=OLD))
    return CellFile(path)


def test_the_same_figures_are_blessed(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = record(world / "cells.jsonl")
    assert not any(map(records.is_current, records))
    monkeypatch.setenv("ARCWISE_CACHE", str(world / "other"))
    blessings = bless.bless(records, {})
    assert {b.kind: (len(b.sample), b.cells) for b in blessings} == {
        "data": (1, 1),
        "graph": (2, 2),
        "transition": (1, 1),
    }
    again = CellFile(world / "cells.jsonl")
    assert all(map(again.is_current, again))
    assert all(cell.code == OLD for cell in again), "the cells keep the hash that computed them"
    for cell in again:
        again.current(cell.kind, cell.spec, None)
    head = page.origin(again)
    assert f"Sources of graph changed from `{OLD}` to `{code_hash('graph')}`: 2 of 2 cells" in head
    assert bless.bless(again, {}) == [], "there is nothing left to bless"


def test_a_figure_that_moved_is_refused(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records = record(world / "cells.jsonl")
    monkeypatch.setenv("ARCWISE_CACHE", str(world / "other"))
    train: Callable[..., trainings.AnyParser] = trainings._train

    def one_epoch(config: trainings.Config, data: Treebank, dev: Treebank, progress: Progress) -> object:
        return train(replace(config, epochs=1, seed=7), data, dev, progress)

    monkeypatch.setattr(trainings, "_train", one_epoch)
    content = (world / "cells.jsonl").read_text()
    with pytest.raises(SystemExit, match=r"not blessed(.|\n)*Danish-CDT\): .*(right|scores)"):
        bless.bless(records, {})
    assert (world / "cells.jsonl").read_text() == content
    assert not any(map(records.is_current, records))


def test_other_data_are_refused(world: Path) -> None:
    records = record(world / "cells.jsonl")
    for cell in list(records):
        records.put(replace(cell, data="other"))
    with pytest.raises(SystemExit, match="is not the treebank of the page's cells"):
        bless.bless(records, {})


def cell(number: int, seconds: float, code: str = OLD, kind: str = "graph", name: str = "x") -> Cell:
    spec = {"name": name, "number": number}
    return Cell(kind, spec, code, "", {"uas": 0.5}, {"seconds": seconds}, "c", "2026-11-18", "m")


def test_the_sample_depends_on_the_seed_prefers_cheap_cells_and_has_an_expensive_one() -> None:
    group = bless.Group("graph", OLD, tuple(cell(i, seconds=float(i)) for i in range(20)))
    draws = [bless.sample(group, 3, seed) for seed in range(50)]
    assert bless.sample(group, 3, 4) == draws[4]
    assert len({tuple(c.key for c in draw) for draw in draws}) > 10
    assert all(max(c.resources["seconds"] for c in draw) >= 10 for draw in draws)
    assert sum(min(c.resources["seconds"] for c in draw) < 5 for draw in draws) > 35


def test_cells_that_a_time_limit_ends_are_not_compared() -> None:
    names = ("bounds-Max.0k-120s", "wsj-count-rules-0.3s-2", "root-bound-0.5", "root-optimum")
    group = bless.Group("induction", OLD, tuple(cell(i, 1.0, name=n) for i, n in enumerate(names)))
    assert {c.spec["name"] for c in bless.sample(group, 9, 1)} == {"root-bound-0.5", "root-optimum"}


def test_blessings_lead_on_from_one_to_the_next(tmp_path: Path) -> None:
    records = CellFile(tmp_path / "cells.jsonl")
    records.put(cell(1, 1.0))
    step = partial(bless.Blessing, sample=("a",), cells=1, date="2026-11-18", machine="m")
    now = code_hash("graph")
    records.bless(
        [step(kind="graph", before="1" * 12, after=now), step(kind="graph", before=OLD, after="1" * 12)]
    )
    assert all(map(CellFile(records.path).is_current, records))
    records = CellFile(tmp_path / "other.jsonl")
    records.put(cell(1, 1.0))
    records.bless([step(kind="transition", before=OLD, after=now)])
    assert not any(map(records.is_current, records)), "of another kind"


def test_files_of_two_machines_are_merged_by_concatenation(tmp_path: Path) -> None:
    now = code_hash("graph")
    one, other = CellFile(tmp_path / "a.jsonl"), CellFile(tmp_path / "b.jsonl")
    for records, cells in (
        (one, [cell(1, 1.0), cell(2, 1.0, now)]),
        (other, [cell(1, 2.0, now), cell(3, 1.0)]),
    ):
        for each in cells:
            records.put(each)
    both = tmp_path / "both.jsonl"
    for first, second in ((one, other), (other, one)):
        both.write_text(first.path.read_text() + second.path.read_text())
        merged = {c.spec["number"]: c.code for c in CellFile(both)}
        assert merged == {1: now, 2: now, 3: OLD}


def test_a_line_that_was_edited_is_refused(tmp_path: Path) -> None:
    records = CellFile(tmp_path / "cells.jsonl")
    records.put(cell(1, 1.0))
    text = records.path.read_text()
    records.path.write_text(text.replace('"number": 1', '"number": 4'))
    with pytest.raises(SystemExit, match=r"cells\.jsonl:1: not a cell"):
        CellFile(records.path)


def test_differences_are_those_of_numbers_not_of_their_compression() -> None:
    import numpy as np

    flags = np.array([True, False] * 20)
    assert differences({"right": packed(flags)}, {"right": packed(flags)}) == []
    assert differences({"right": packed(flags)}, {"right": packed(~flags)}) == ["right: not the same words"]
    assert differences({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}) == ["a[1] b: 2, now 3"]
    assert differences({"a": 1}, {}) == ["a: 1, now None"]


def test_cells_that_time_limits_ended_stand_with_others_of_their_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code of the same kind, older or newer, gives the same figures: so does what lies between."""
    monkeypatch.setattr(bless, "computed_again", lambda old, _: old)
    records = CellFile(tmp_path / "cells.jsonl")
    records.put(cell(1, 1.0, kind="induction", name="bounds-Max.0k-120s"))
    with pytest.raises(SystemExit, match="no cell can be compared"):
        bless.bless(records, {})
    records.put(optimum := cell(2, 1.0, code="0ther", kind="induction", name="root-optimum"))
    blessings = bless.bless(records, {})
    assert sorted((b.before, b.sample, b.cells) for b in blessings) == sorted(
        [(OLD, (optimum.key,), 1), ("0ther", (optimum.key,), 1)]
    )
