"""What the page of Bohnet et al. 2016 says of its own tables."""

from __future__ import annotations

from experiments.bohnet2016 import CROSSING, GRID, few_active_tokens

from arcwise.transition import system


def test_few_active_tokens_are_compared_with_all_of_them_and_the_same_distance() -> None:
    rows = [
        [4, "∞", "87.00", "82.00", "", "", "90.58 / 85.50 / 69.57 / 99.69"],
        [5, "∞", "87.00", "84.00", "", "", "90.58 / 86.00 / 65.22 / 99.88"],
        [5, 6, "86.00", "83.25", "", "", "91.00 / 86.50 / 72.83 / 99.88"],
    ]
    assert "K = 6, D = 5: -0.75 (paper: +0.50)" in few_active_tokens(rows)


def test_the_papers_rows_are_those_of_the_grid() -> None:
    assert all(len(rows) == len(GRID) for rows in CROSSING.values())
    assert all(0 <= figure <= 100 for rows in CROSSING.values() for row in rows for figure in row)


def test_the_root_node_is_on_the_right_as_the_page_says() -> None:
    assert all(system(name).root == "right" for name in GRID)
