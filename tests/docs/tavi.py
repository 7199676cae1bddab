"""The tutorial "A treebank from nothing": what its page says, and its treebank of an invented language."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcwise.treebanks import Sentence, Treebank

if TYPE_CHECKING:
    from web.served import Client

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
PAGE = TUTORIALS / "a-treebank-from-nothing.md"
GOLD, SECOND = TUTORIALS / "tavi" / "tavi.conllu", TUTORIALS / "tavi" / "second.conllu"
BY_HAND, ALL_BUT_LATER = 20, 24
"""Sentences annotated before the first training; sentences in the file then."""
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


def surface_tokens(sentence: Sentence) -> str:
    """Its rows as the page makes them of text without a model: a word for each token."""
    tokens, covered = [], 0
    for row in sentence.rows:
        first, _, last = row[0].partition("-")
        if last or int(first) > covered:
            tokens.append((row[1], row[9]))
        covered = int(last) if last else covered
    rows = ["\t".join([str(n), form, *"_______", misc]) for n, (form, misc) in enumerate(tokens, 1)]
    return "\n".join(rows)


def splits_of(sentence: Sentence) -> list[dict[str, Any]]:
    """The edits that split its tokens of several words, the last one first."""
    ranges = [row[0].partition("-")[::2] for row in sentence.rows if "-" in row[0]]
    shift, edits = 0, []
    for first, last in ranges:
        forms = sentence.forms[int(first) - 1 : int(last)]
        row = str(int(first) - shift)
        edits.append({"kind": "split-word", "row": row, "forms": forms, "keep": 1, "multiword": True})
        shift += int(last) - int(first)
    return edits[::-1]


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
    """Split the tokens of several words of a sentence; give it its tags, heads and labels."""
    present = server.sentence(number)
    are_split = any(row["kind"] == "multiword" for row in present["rows"])
    edits = [*([] if are_split else splits_of(gold)), *edits_of(gold)]
    target = f"/api/sentence/{number}/edits"
    answer = server.post(target, {"version": present["version"], "edits": edits})
    assert answer.status == 200, answer.json()


def asked() -> list[str]:
    """The keys that answer what the worklist of the page asks first."""
    text = PAGE.read_text("utf-8")
    place = text[text.index("which is right:") : text.index("Each answer is a condition")]
    return [key for keys in re.findall("`(.+?)`", place) for key in ([keys] if keys == "Enter" else keys)]
