"""Same words, different analysis: against the definition, and the command."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.errors import InputError
from arcwise.treebanks.validation import find_inconsistencies

Row = tuple[str, str, str, str, str]
"""FORM, LEMMA, UPOS, HEAD, DEPREL."""


def conllu(*sentences: list[Row]) -> str:
    lines = []
    for sentence in sentences:
        for number, (form, lemma, upos, head, label) in enumerate(sentence, 1):
            lines.append("\t".join([str(number), form, lemma, upos, "_", "_", head, label, "_", "_"]))
        lines.append("")
    return "\n".join([*lines, ""])


def london(label: str = "compound", head: str = "4", lemma: str = "York") -> list[Row]:
    return [
        ("We", "we", "PRON", "0", "root"),
        ("see", "see", "VERB", "1", "dep"),
        ("New", "new", "ADJ", head, label),
        ("York", lemma, "PROPN", "2", "obj"),
        (".", ".", "PUNCT", "1", "punct"),
    ]


def found(text: str, **options: object) -> list[tuple[str, tuple[str, ...], dict[str, int]]]:
    return [
        (item.kind, item.words, {v.analysis: len(v.occurrences) for v in item.variants})
        for item in find_inconsistencies(Treebank.from_string(text), **options)  # type: ignore[arg-type]
    ]


def test_labels_and_heads_that_vary() -> None:
    text = conllu(*[london()] * 3, london("amod"))
    expected = {"York > compound New": 3, "York > amod New": 1}
    assert found(text) == [("arc", ("New", "York"), expected)]
    # Attached to another word: both arcs are named, each with the places that lack it.
    text = conllu(*[london()] * 3, london("dep", head="2"))
    assert found(text) == [
        ("arc", ("New", "York"), {"York > compound New": 3, "no arc": 1}),
        ("arc", ("see", "New"), {"no arc": 3, "see > dep New": 1}),
    ]


def test_only_the_same_context_counts_unless_asked() -> None:
    other = [
        ("Old", "old", "ADJ", "3", "amod"),
        ("New", "new", "ADJ", "3", "amod"),
        ("York", "York", "PROPN", "0", "root"),
    ]
    text = conllu(london(), other)
    assert found(text) == []
    assert found(text, context=0) == [
        ("arc", ("New", "York"), {"York > amod New": 1, "York > compound New": 1})
    ]
    # The edge of a sentence is a context of its own.
    edge = [("New", "new", "ADJ", "0", "root"), ("York", "York", "PROPN", "1", "flat")]
    turned = [("New", "new", "ADJ", "2", "amod"), ("York", "York", "PROPN", "0", "root")]
    assert found(conllu(edge, turned)) == [
        ("arc", ("New", "York"), {"New > flat York": 1, "York > amod New": 1})
    ]


def test_tags_and_lemmas_that_vary() -> None:
    retagged = [(f, x, "ADJ" if f == "York" else u, h, d) for f, x, u, h, d in london()]
    assert found(conllu(london(), london(), retagged)) == [("upos", ("York",), {"PROPN": 2, "ADJ": 1})]
    assert found(conllu(london(), london(lemma="york"))) == [
        ("lemma", ("York", "PROPN"), {"York": 1, "york": 1})
    ]
    assert found(conllu(london(), london(lemma="york")), kinds=["arc", "upos"]) == []


def test_what_is_not_annotated_yet_is_left_out() -> None:
    open_row = ("New", "_", "_", "_", "_")
    unfinished = [*london()[:2], open_row, ("York", "_", "PROPN", "_", "obj"), london()[4]]
    assert found(conllu(london(), london(), unfinished)) == []
    assert find_inconsistencies(Treebank.from_string("")) == []


def test_the_context_and_the_places_are_given() -> None:
    first, second = conllu(london(), london("amod")), conllu(london("amod"), london("amod"))
    (item,) = find_inconsistencies([Treebank.from_string(first), Treebank.from_string(second)])
    assert (item.before, item.words, item.after) == (("see",), ("New", "York"), (".",))
    places = [(w.treebank, w.sentence, w.first, w.last) for w in item.variants[0].occurrences]
    assert places == [(0, 1, 3, 4), (1, 0, 3, 4), (1, 1, 3, 4)]


def test_likely_errors_come_first() -> None:
    rare = [("a", "a", "X", "0", "root"), ("b", "b", "X", "1", "dep")]
    half = [("c", "c", "X", "0", "root"), ("d", "d", "X", "1", "dep")]
    text = conllu(
        *[rare] * 9, [rare[0], (*rare[1][:4], "obj")], *[half] * 2, *[[half[0], (*half[1][:4], "obj")]] * 2
    )
    assert [words for _, words, _ in found(text)] == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize("options", [{"context": -1}, {"longest": 1}, {"kinds": ["head"]}])
def test_bad_options(options: dict[str, object]) -> None:
    with pytest.raises(InputError, match="expected"):
        found("", **options)


# ---- against the definition


def slow(sentences: list[list[Row]], context: int) -> set[tuple[str, tuple[str, ...], str, int, int, int]]:
    """Kind, forms with their context, analysis and place of every analysis of a group that varies."""
    groups: dict[tuple[str, tuple[str, ...]], set[tuple[str, int, int, int]]] = defaultdict(set)
    for number, sentence in enumerate(sentences):
        forms = ["<"] * context + [row[0] for row in sentence] + ["<"] * context
        for a in range(len(sentence)):
            for b in range(a, len(sentence)):
                key = tuple(forms[a : b + 1 + 2 * context])
                left, right = sentence[a], sentence[b]
                if a == b:
                    groups["upos", key].add((left[2], number, a + 1, b + 1))
                    groups["lemma", (left[0], left[2])].add((left[1], number, a + 1, b + 1))
                elif int(right[3]) == a + 1:
                    groups["arc", key].add((f"{left[0]} > {right[4]} {right[0]}", number, a + 1, b + 1))
                elif int(left[3]) == b + 1:
                    groups["arc", key].add((f"{right[0]} > {left[4]} {left[0]}", number, a + 1, b + 1))
                else:
                    groups["arc", key].add(("no arc", number, a + 1, b + 1))
    return {
        (kind, key, *place)
        for (kind, key), places in groups.items()
        if len({analysis for analysis, *_ in places}) > 1
        for place in places
    }


def _random_row(chosen: random.Random, head: int) -> Row:
    label = chosen.choice("rs") if head else "root"
    return chosen.choice("ab"), chosen.choice("xy"), chosen.choice("NV"), str(head), label


@pytest.mark.parametrize("context", [0, 1, 2])
@pytest.mark.parametrize("seed", range(5))
def test_all_groups_that_vary_are_found(context: int, seed: int) -> None:
    chosen = random.Random(seed)
    sentences = []
    for _ in range(25):
        heads = [0, *(chosen.randint(1, n) for n in range(1, chosen.randint(1, 6)))]
        sentences.append([_random_row(chosen, head) for head in heads])
    items = find_inconsistencies(Treebank.from_string(conllu(*sentences)), context=context)
    ours = set()
    for item in items:
        inside = item.kind != "lemma"
        before = ("<",) * (context - len(item.before)) * inside + item.before
        after = item.after + ("<",) * (context - len(item.after)) * inside
        for variant in item.variants:
            for where in variant.occurrences:
                place = (where.sentence, where.first, where.last)
                ours.add((item.kind, before + item.words + after, variant.analysis, *place))
    assert ours == slow(sentences, context)
    assert len(items) == len({(kind, key) for kind, key, *_ in ours})


# ---- the command


def test_the_command_lists_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, other = tmp_path / "a.conllu", tmp_path / "b.conllu"
    file.write_text(conllu(*[london()] * 7))
    other.write_text("# sent_id = x\n" + conllu(london("amod", lemma="york")))
    assert run(["validate", "--consistency", str(file), str(other)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines() == [
        "arc: see [New York] .",
        f"  7 × York > compound New: {file}:3, {file}:9, {file}:15, {file}:21, {file}:27, and 2 more",
        f"  1 × York > amod New: {other}:4 (x)",
        "lemma: [York] PROPN",
        f"  7 × York: {file}:4, {file}:10, {file}:16, {file}:22, {file}:28, and 2 more",
        f"  1 × york: {other}:5 (x)",
    ]
    assert err == "2 files: 2 inconsistencies\n"
    assert run(["validate", "--consistency", "--json", "--max-errors", "1", str(file), str(other)]) == 0
    out, err = capsys.readouterr()
    values = json.loads(out)
    assert len(values["variants"][0]["occurrences"]) == 7
    assert values["variants"][1]["occurrences"] == [
        {"path": str(other), "line": 4, "sentence": 0, "sent_id": "x", "first": 3, "last": 4}
    ]
    assert "stopped after 1 of 2 inconsistencies" in err


def test_bad_input_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.conllu"
    file.write_text("this is not CoNLL-U\n")
    assert run(["validate", "--consistency", str(file)]) == 2
    assert run(["validate", "--consistency", "--learn", str(file)]) == 2
    assert "--consistency: cannot be combined with --learn" in capsys.readouterr().err
    file.write_text("")
    assert run(["validate", "--consistency", str(file)]) == 0
