"""docs/reference/exchange.md runs, section by section, where the libraries that a section is about are
installed."""

import doctest
import re
from pathlib import Path

import pytest

from arcwise.optional import is_installed

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "exchange.md"
INTRODUCTION, *SECTIONS = re.split(r"(?m)^## ", PAGE.read_text("utf-8"))
NEEDS = {section.partition("\n")[0]: re.findall(r"<!-- needs (.*) -->", section) for section in SECTIONS}
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.parametrize("section", SECTIONS, ids=list(NEEDS))
@pytest.mark.filterwarnings("ignore")  # of the other libraries
def test_a_section_runs(section: str) -> None:
    (needed,) = NEEDS[section.partition("\n")[0]]
    missing = [library for library in needed.split() if not is_installed(library)]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    found = doctest.DocTestParser().get_doctest(INTRODUCTION + section, {}, PAGE.name, str(PAGE), 0)
    told: list[str] = []
    doctest.DocTestRunner(optionflags=OPTIONS).run(found, out=told.append)
    assert not told, "".join(told)
    assert len(found.examples) > 5


def test_every_pair_of_functions_is_on_the_page() -> None:
    from arcwise.treebanks import exchange

    assert [name for name in exchange.__all__ if f"exchange.{name}(" not in PAGE.read_text("utf-8")] == []
