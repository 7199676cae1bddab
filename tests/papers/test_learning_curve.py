"""The table of the learning curve: what is trained is told, and what an earlier run told stays where nothing
better is at hand."""

import json
import math
from pathlib import Path

import pytest
from benchmarks import learning_curve
from benchmarks.learning_curve import HEADER, PARSERS, Cell, Point, report, trained, written
from measuring.tables import table

EMPTY = ["–"] * (len(HEADER) - 2)


def section(*rows: list[str]) -> str:
    return f"<!-- learning_curve -->\n{table(HEADER, rows)}<!-- /learning_curve -->\n"


def point_of(row: str, parser: str = "udpipe") -> Point:
    return written(section(["Turkish-IMST", "20", *row.split("|")]))["Turkish-IMST", 20, parser]


@pytest.mark.parametrize("told", ["41.7 ± 2.1 (10)", "42.1 (1)", "–"])
def test_a_table_is_read_as_it_is_written(told: str) -> None:
    read = Point.read(told, "8" if told != "–" else "–")
    assert str(read) == told
    assert Point.read(str(read), read.seconds) == read or math.isnan(read.deviation)


def test_each_parser_has_its_own_columns() -> None:
    row = "59.1 ± 2.5 (10)|10|13.4 ± 4.1 (9)|19|42.1 (1)|366"
    assert [str(point_of(row, parser)) for parser in PARSERS] == row.split("|")[::2]
    assert [point_of(row, parser).seconds for parser in PARSERS] == row.split("|")[1::2]


@pytest.mark.parametrize(
    ("now", "before", "told"),
    [
        (Point(60, 2, 3, "9"), Point(50, 1, 10, "7"), "50.0 ± 1.0 (10), 7"),  # fewer draws than stand there
        (Point(60, 2, 10, "9"), Point(50, 1, 10, "7"), "60.0 ± 2.0 (10), 9"),
        (Point(60, 2, 10), Point(50, 1, 1, "7"), "60.0 ± 2.0 (10), 7"),  # not timed
        (Point(), Point(50, math.nan, 1, "7"), "50.0 (1), 7"),
        (Point(60, math.nan, 1, "9"), Point(), "60.0 (1), 9"),
        (Point(), Point(), "–, –"),
    ],
)
def test_more_draws_win(now: Point, before: Point, told: str) -> None:
    better = now.merged_with(before)
    assert f"{better}, {better.seconds}" == told


def test_trainings_are_told_and_the_rest_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = tmp_path / "RESULTS.md"
    results.write_text(section(["Turkish-IMST", "20", "41.7 ± 2.1 (10)", "8", *EMPTY[2:]]))
    monkeypatch.setattr(learning_curve, "RESULTS", results)
    monkeypatch.setattr(learning_curve, "write_section", lambda _, __, body: results.write_text(body))
    monkeypatch.setattr(learning_curve, "folder", lambda treebank: tmp_path / treebank)
    monkeypatch.setattr(Cell, "las", property(lambda cell: 40.0 + 2 * cell.draw))
    for number, figures in enumerate(({"training_seconds": 7.0}, {})):
        cell = Cell("udpipe", "Turkish-IMST", 20, number)
        cell.place.mkdir(parents=True)
        (cell.place / learning_curve.FIGURES).write_text(json.dumps(figures))
    assert trained(1)["Turkish-IMST", 20, "udpipe"].draws == 1
    report(3)
    assert "| Turkish-IMST | 20 | 41.7 ± 2.1 (10) | 8 | 41.0 ± 1.4 (2) | 7 | – | – |" in results.read_text()
    assert "| English-EWT | 50 | – | – | – | – | – | – |" in results.read_text()
