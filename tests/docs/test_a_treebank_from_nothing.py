"""docs/tutorials/a-treebank-from-nothing.md, done through the JSON API against a server in a process of its
own, and by its commands."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from arcwise.optional import is_installed
from arcwise.treebanks import Sentence
from docs.tavi import (
    ALL_BUT_LATER,
    BY_HAND,
    GOLD,
    SECOND,
    annotate,
    blocks,
    edits_of,
    said,
    sentences,
    surface_tokens,
)

if TYPE_CHECKING:
    from web.served import Process

pytestmark = pytest.mark.process


def options(which: int) -> list[str]:
    """The options with which the page starts the server."""
    command = [block for block in blocks("sh") if block.startswith("arcwise annotate")][which]
    start, file, *rest = shlex.split(command)[1:]
    assert (start, file) == ("annotate", "tavi.conllu")
    return rest


def found_by(server: Process) -> list[dict[str, Any]]:
    findings: list[dict[str, Any]] = server.get("/api/validate").json()["findings"]
    return findings


def decisions(server: Process, number: int, gold: Sentence) -> int:
    """Decide what is wrong, each answer with what the parser makes of it; accept the rest. How many answers
    it took."""
    answers = 0
    target = f"/api/sentence/{number}"
    own = server.post(f"{target}/edits", {"edits": edits_of(gold, "upos")}).json()
    words = [row for row in own["rows"] if row["kind"] == "word"]
    for row, head, label in zip(words, gold.heads[1:], gold.deprels, strict=True):
        thought = own["thoughts"]["words"][row["id"]]
        if (thought["head"], thought["label"]) != (head, label):
            fields = [("head", str(head)), ("deprel", label)]
            edits = [{"kind": "set-field", "row": row["id"], "column": c, "value": v} for c, v in fields]
            own = server.post(f"{target}/edits", {"version": own["version"], "edits": edits}).json()
            answers += 1
    own = server.post(f"{target}/accept", {"version": own["version"]}).json()
    assert {row["state"] for row in own["rows"] if row["kind"] == "word"} == {"decided"}
    return answers


def right(server: Process, number: int, gold: Sentence) -> int:
    """How many words of an open sentence the parser proposes right."""
    words = server.sentence(number)["thoughts"]["words"]
    proposed = [(words[str(k)]["head"], words[str(k)]["label"]) for k in range(1, len(gold.forms) + 1)]
    return sum(p == g for p, g in zip(proposed, zip(gold.heads[1:], gold.deprels, strict=True), strict=True))


def begin(server: Process, gold: list[Sentence]) -> None:
    """Sentences come in, and twenty are annotated."""
    added = server.post("/api/insert", {"before": None, "text": blocks("text")[0]}).json()
    assert (added["sentences"], added["tokenizer"]) == (ALL_BUT_LATER, None)
    for number in range(ALL_BUT_LATER):
        rows = server.sentence(number)["rows"]
        forms = [line.split("\t")[1] for line in surface_tokens(gold[number]).splitlines()]
        assert [row["form"] for row in rows] == forms
    annotate(server, 0, gold[0])
    full_stops = {
        "query": said("search `(.+?)`"),
        "changes": said(r"\*Mass edit\*, change to `(.+?)`"),
        "apply": True,
    }
    assert server.post("/api/mass-edit", full_stops).json()["edits"] == ALL_BUT_LATER - 1
    for number in range(1, BY_HAND):
        annotate(server, number, gold[number])
    assert found_by(server) == []


def learn(server: Process) -> None:
    """A parser is trained; how good it is agrees with what the page says."""
    from web.waiting import until

    server.post("/api/train")
    until(lambda: server.get("/api/train").json()["state"] != "training", 60)
    (line,) = server.get("/api/train").json()["history"]
    assert line["sentences"] == BY_HAND
    assert 100 * line["las"] == pytest.approx(float(said(r"(\d+) % of the words had the right head")), abs=3)
    assert until(lambda: server.get("/api/document").json()["model"])["kind"] == "pipeline"


def go_on(server: Process, gold: list[Sentence]) -> None:
    """The worklist says what to do; proposals are accepted, and corrected where they are wrong."""
    from web.waiting import until

    def listed() -> Any:
        found = server.get("/api/sentences?worklist=gain").json()
        return found["ready"] and found["items"]

    order = until(listed)
    assert len(order) == ALL_BUT_LATER - BY_HAND
    assert gold[order[0]["number"]].text.startswith(said(r"!\[The worklist.*\n\n\*(.+?)\*"))
    words = sum(len(gold[n].forms) for n in range(BY_HAND, ALL_BUT_LATER))
    assert str(words) == said(r"Of the (\d+) words")
    proposed = sum(right(server, n, gold[n]) for n in range(BY_HAND, ALL_BUT_LATER))
    assert proposed == pytest.approx(int(said(r"the first parser has (\d+) right")), abs=2)
    answers = sum(decisions(server, item["number"], gold[item["number"]]) for item in order)
    assert answers <= words - proposed + 1


def add_more(server: Process, gold: list[Sentence]) -> None:
    """The trained tokenizer cuts the text added later, and the rest is annotated with suggestions."""
    added = server.post("/api/insert", {"before": None, "text": blocks("text")[1]}).json()
    assert added["sentences"] == len(gold)
    assert added["tokenizer"] is not None
    for number in range(ALL_BUT_LATER, len(gold)):
        rows = server.sentence(number)["rows"]
        assert [(row["id"], row["form"]) for row in rows] == [tuple(row[:2]) for row in gold[number].rows]
    annotate(server, ALL_BUT_LATER, gold[ALL_BUT_LATER])
    words = sum(len(gold[n].forms) for n in range(ALL_BUT_LATER + 1, len(gold)))
    assert str(words) == said(r"of the other (\d+) words")
    proposed = sum(right(server, n, gold[n]) for n in range(ALL_BUT_LATER + 1, len(gold)))
    assert proposed == pytest.approx(int(said(r"the parser has (\d+) right")), abs=2)
    tagged = sum(right_tags(server, n, gold[n]) for n in range(ALL_BUT_LATER + 1, len(gold)))
    assert tagged == pytest.approx(int(said(r"the tagger has (\d+) right")), abs=2)
    for number in range(ALL_BUT_LATER + 1, len(gold)):
        decisions(server, number, gold[number])


def right_tags(server: Process, number: int, gold: Sentence) -> int:
    """How many UPOS of an open sentence the tagger suggests right."""
    words = server.sentence(number)["thoughts"]["words"]
    return sum(words[str(k)]["tags"]["upos"] == upos for k, upos in enumerate(gold.upos, 1))


def compare_with_itself(server: Process) -> None:
    """A rarer analysis of the same words is listed with its place."""
    from web.waiting import until

    server.set(18, said(r"If word `(.+?)` of"), head="3")
    server.post("/api/consistency", {})
    found = until(lambda: (got := server.get("/api/consistency?from=0&count=10").json())["ready"] and got)
    (group,) = found["groups"]
    words = " ".join([*group["before"], f"[{' '.join(group['words'])}]", *group["after"]])
    assert words == said(r"the words `(.+?)` twice")
    assert [variant["count"] for variant in group["variants"]] == [1, 1]
    assert server.post("/api/undo").status == 200


def check(server: Process) -> None:
    """A slip is found, and repaired by what the server offers."""
    slip = said("mistyped as `(.+?)`")
    server.set(20, "2", deprel=slip)
    (finding,) = found_by(server)
    assert finding["rule"] == "unknown-udeprel"
    assert slip in finding["message"]
    server.post("/api/sentence/20/edits", {"edits": finding["repair"]["edits"]})
    assert found_by(server) == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the tutorial after its work in the page."""
    for library in ("starlette", "uvicorn"):
        if not is_installed(library):
            pytest.skip(f"needs {library}: pip install 'arcwise[web]'")
    from web.served import process

    made = tmp_path_factory.mktemp("tavi")
    gold = sentences(GOLD)
    with process(made / "tavi.conllu", *options(0)) as server:
        begin(server, gold)
        learn(server)
        go_on(server, gold)
        add_more(server, gold)
        check(server)
        compare_with_itself(server)
        assert server.post("/api/save").status == 200
        assert server.end(signal.SIGINT)[0] == 0
    (made / "second.conllu").write_bytes(SECOND.read_bytes())
    (made / "new.txt").write_text(said(r"`new.txt` has .*\*(.+?)\*") + "\n", "utf-8")
    return made


def arcwise(folder: Path, *line: str) -> tuple[int, list[str]]:
    """A command: its exit status and what it says."""
    command = [sys.executable, "-m", "arcwise", *line]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", check=False)
    return done.returncode, [said.rstrip() for said in (done.stdout + done.stderr).rstrip("\n").split("\n")]


def test_the_sentences_of_the_page_are_those_of_the_treebank() -> None:
    assert "".join(blocks("text")).splitlines() == [own.text for own in sentences(GOLD)]


def test_what_was_annotated_is_the_treebank_of_the_repository(folder: Path) -> None:
    assert (folder / "tavi.conllu").read_bytes() == GOLD.read_bytes()


def test_both_treebanks_are_valid(folder: Path) -> None:
    for file in ("tavi.conllu", "second.conllu"):
        assert arcwise(folder, "validate", "--level", "ud", file) == (0, ["1 file: nothing wrong"])


def test_the_commands_print_what_the_page_shows(folder: Path) -> None:
    shown = [block.split("\n", 1) for block in blocks("console")]
    assert [line.split()[2] for line, _ in shown] == ["validate", "validate", "diff", "train", "parse"]
    for line, expected in shown:
        name, *arguments = shlex.split(line.removeprefix("$ arcwise "))
        status, printed = arcwise(folder, name, *arguments)
        assert status == (name == "diff"), printed
        assert printed == expected.rstrip("\n").split("\n")


def test_the_parser_of_the_page_reads_raw_text(folder: Path) -> None:
    status, printed = arcwise(folder, "parse", "--model", "tavi.conllu.arcwise", "new.txt")
    assert status == 0
    words = [line.split("\t") for line in printed if "\t" in line]
    tokens = re.findall(r"\w+|\.", (folder / "new.txt").read_text("utf-8"))
    inside = {"na", "ul"}
    assert [word[1] for word in words if word[1] not in inside] == tokens
    assert inside < {word[1] for word in words}
    assert all(word[7] != "_" for word in words if "-" not in word[0])


def test_the_second_file_beside(folder: Path) -> None:
    from web.served import process

    with process(
        folder / "tavi.conllu", *[str(folder / o) if ".conllu" in o else o for o in options(1)]
    ) as server:
        found = server.get("/api/differences").json()
        assert found["total"] == 4
        assert [row["form"] for row in found["items"][0]["rows"]] == ["ne"]
        place = {"sentence": found["items"][1]["sentence"], "row": "4", "column": "deprel", "choice": "b"}
        assert server.post("/api/adjudicate", place).status == 200
        assert server.sentence(place["sentence"])["rows"][3]["deprel"] == "obl:with"
        assert server.post("/api/undo").status == 200
