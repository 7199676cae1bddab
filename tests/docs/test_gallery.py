"""docs/gallery.md shows ten things in at most ten lines each, with output (which runs as a test)."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "gallery.md"


def test_ten_things_in_ten_lines_each_with_output() -> None:
    _, *sections = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    assert [section.partition(".")[0] for section in sections] == [str(number) for number in range(1, 11)]
    for section in sections:
        title = section.partition("\n")[0]
        examples = doctest.DocTestParser().get_examples(section)
        assert 0 < sum(example.source.count("\n") for example in examples) <= 10, title
        assert examples[-1].want, title
