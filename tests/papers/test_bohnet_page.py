"""What the page of Bohnet et al. 2016 says of its own tables."""

from __future__ import annotations

import re
from pathlib import Path

from experiments.bohnet2016 import FINDINGS, GRID, few_active_tokens

from arcwise.transition import system

PAGE = Path(__file__).parents[2] / "experiments" / "results" / "bohnet2016.md"


def grids() -> list[list[list[str]]]:
    """The rows of the tables over D, as they stand on the page."""
    parts = re.findall(r"^## Arcs at distance.*?(?=^## )", PAGE.read_text(), flags=re.M | re.S)
    return [
        [
            [cell.strip() for cell in line.strip("| ").split("|")]
            for line in part.splitlines()
            if re.match(r"\| \d", line)
        ]
        for part in parts
    ]


def test_few_active_tokens_are_compared_with_all_of_them_and_the_same_distance() -> None:
    rows = [
        [4, "∞", "87.00", "82.00", "", "", "90.58 / 85.50"],
        [5, "∞", "87.00", "84.00", "", "", "90.58 / 86.00"],
        [5, 6, "86.00", "83.25", "", "", "91.00 / 86.50"],
    ]
    assert "K = 6, D = 5: -0.75 (paper: +0.50)" in few_active_tokens(rows)


def test_the_page_says_of_few_active_tokens_what_its_tables_say() -> None:
    found = [few_active_tokens(rows) for rows in grids()]
    assert len(found) == 2
    assert all(text in PAGE.read_text() for text in found)
    differences = [float(d) for text in found for d in re.findall(r": ([+-][\d.]+) \(paper", text)]
    assert "score below all active tokens in all four rows" in " ".join(FINDINGS.split())
    assert len(differences) == 4
    assert max(differences) < 0


def test_the_root_node_is_on_the_right_as_the_page_says() -> None:
    assert "the root node on the right" in " ".join(PAGE.read_text().split())
    assert all(system(name).root == "right" for name in GRID)
