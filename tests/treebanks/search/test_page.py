"""The table of examples in docs/reference/search.md: every query finds what its row says."""

import re
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.treebanks.search import Query

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "search.md").read_text("utf-8")
TABLE = PAGE.split("## Examples")[1].split("## Grammar")[0]
ROWS = re.findall(r"^\| `(.+?)` \| (.*?) \| ?(.*?) ?\|$", TABLE, re.MULTILINE)


@pytest.fixture(scope="module")
def treebank() -> Treebank:
    text = re.search(r'>>> text = """(.*?)\n\.\.\. """', PAGE, re.DOTALL)
    assert text
    lines = [line.removeprefix("...").removeprefix(" ") for line in text[1].split("\n")]
    return Treebank.from_string(
        "\n".join(line if line.startswith("#") else line.replace(" ", "\t") for line in lines) + "\n"
    )


def test_the_table_is_read() -> None:
    assert len(ROWS) > 30


@pytest.mark.parametrize("query, expected", [(q, hits) for q, _, hits in ROWS], ids=[r[0] for r in ROWS])
def test_example(query: str, expected: str, treebank: Treebank) -> None:
    found = []
    for hit in Query.parse(query.replace("\\|", "|")).hits(treebank):
        sentence = treebank[hit.sentence]
        words = [sentence.forms[number - 1] for number in hit.words.values()]
        found.append(" ".join(words) if words else sentence.sent_id)
    assert " / ".join(map(str, found)) == expected
