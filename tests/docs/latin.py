"""The tutorial "A treebank from nothing": what its page says, and its treebank of Latin sentences."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcwise.treebanks import Sentence, Treebank

if TYPE_CHECKING:
    from web.served import Client

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
PAGE = TUTORIALS / "a-treebank-from-nothing.md"
NAMES = {"→": "ArrowRight", "←": "ArrowLeft"}


def blocks(language: str) -> list[str]:
    """The blocks of the page in a language."""
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


def said(pattern: str) -> str:
    """What the page says at a place."""
    found = re.search(pattern, PAGE.read_text("utf-8"))
    assert found, f"the page says nothing like {pattern}"
    return found[1]


def pressed() -> list[list[str]]:
    """The keys of the page's example: those that give the tags, and those that give the arcs."""
    rows = [line.split("|")[1:-1] for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| *")]
    columns = [[key for row in rows for key in re.findall("`(.+?)`", row[column])] for column in (1, 2)]
    return [[NAMES.get(key, key) for key in keys] for keys in columns]


def sentences(path: Path) -> list[Sentence]:
    return list(Treebank.read(path))


def bare(treebank: Path) -> str:
    """Its words alone, as the page of ``arcwise annotate`` makes them of text."""
    lines = [line.split("\t") for line in treebank.read_text("utf-8").split("\n")]
    return "\n".join(
        "\t".join([*line[:2], *"_______", line[9]]) if len(line) == 10 else line[0] for line in lines
    )


def edits_of(sentence: Sentence, *columns: str) -> list[dict[str, Any]]:
    """What sets the annotation of a sentence: all of it, or these columns."""
    found = {
        "upos": sentence.upos,
        "head": [str(head) for head in sentence.heads[1:]],
        "deprel": sentence.deprels,
    }
    return [
        {"kind": "set-field", "row": str(row), "column": column, "value": value}
        for column in columns or found
        for row, value in enumerate(found[column], 1)
    ]


def annotate(server: Client, number: int, gold: Sentence) -> None:
    """Give a sentence its tags, heads and labels."""
    version = server.sentence(number)["version"]
    answer = server.post(f"/api/sentence/{number}/edits", {"version": version, "edits": edits_of(gold)})
    assert answer.status == 200, answer.json()


def asked() -> list[str]:
    """The keys that answer what the worklist of the page asks first."""
    text = PAGE.read_text("utf-8")
    place = text[text.index("which is right:") : text.index("Each answer is a condition")]
    return [key for keys in re.findall("`(.+?)`", place) for key in ([keys] if keys == "Enter" else keys)]
