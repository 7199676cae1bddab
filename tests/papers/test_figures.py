"""benchmarks.figures draws what the tables of RESULTS.md say, and every figure of that page."""

import re
from pathlib import Path

import pytest
from benchmarks import figures
from benchmarks.report import RESULTS

pytest.importorskip("matplotlib", reason="needs matplotlib")

GROWTH = """<!-- scaling -->
| what |  | from | value | to | value | log-log slope |
| --- | --- | --- | --- | --- | --- | --- |
| kernel, µs over n | eisner_decode | 25 | 11 | 400 | 10651 | 2.49 |
| kernel, µs over n | wilson_sample | 25 | 60 | 400 | 22246 | 2.20 |
| MB over beam | transition, arc-eager | 1 | 0.6 | 64 | 1.6 | 0.22 |
<!-- /scaling -->
"""


def test_every_figure_of_the_page_is_drawn(tmp_path: Path) -> None:
    figures.main(folder=tmp_path)
    drawn = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert set(drawn) == set(re.findall(r"\]\(([\w-]+\.png)\)", RESULTS.read_text("utf-8")))
    assert all((RESULTS.parent / name).exists() for name in drawn)


def test_growth_shows_both_ends_of_a_row() -> None:
    figure = figures.draw_growth(GROWTH)
    first, second = figure.axes
    assert [line.get_xydata().tolist() for line in first.lines] == [
        [[25, 11], [400, 10651]],
        [[25, 60], [400, 22246]],
    ]
    assert (first.get_xlabel(), first.get_ylabel()) == ("n", "kernel, µs")
    assert [text.get_text() for text in second.get_legend().get_texts()] == ["transition, arc-eager: 0.22"]


def test_the_learning_curve_shows_the_rows() -> None:
    figure = figures.draw_learning_curve(RESULTS.read_text("utf-8"))
    points = figures.learning_curve.written(RESULTS.read_text("utf-8"))
    for axis in figure.axes:
        for parser, line in zip(figures.learning_curve.PARSERS, axis.lines, strict=True):
            for size, las in line.get_xydata():
                assert points[axis.get_title(), int(size), parser].las == las


def test_peers_are_triangles() -> None:
    figure = figures.draw_accuracy_and_speed(RESULTS.read_text("utf-8"))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "UDPipe" in labels
    assert "arcwise: neural, base" in labels
