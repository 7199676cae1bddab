"""Reports and answers: HTML, TSV, CoNLL-U, and the file beside the treebank."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from arcwise.errors import InputError
from arcwise.mining import mine
from arcwise.mining.answers import ReviewAnswers, word_key
from arcwise.mining.report import TSV_COLUMNS, html_report, marked_treebank, tsv
from arcwise.mining.words import FlatWords
from arcwise.treebanks import Treebank
from mining.planted import conllu, planted, toy


def test_the_page_shows_trees_before_and_after_and_loads_nothing() -> None:
    bank, _ = planted(30)
    suspects = mine(bank, signals=["variation", "frames"]).suspects(10)
    page = "".join(html_report(suspects, bank))
    assert page.count("<figure") == 10
    assert page.count("<h2>annotated</h2>") == 10
    assert "<h2>proposed</h2>" in page
    assert all(f'name="{name}"' in page for name in ("change", "label", "signals", "document"))
    figures = re.findall(r'<figure[^>]* data-label="([^"]*)"', page)
    assert [json.loads(html.unescape(labels)) for labels in figures] == [[s.label] for s in suspects]
    (counts,) = re.findall(r"<summary>Counts by kind</summary>(.*?)</details>", page, re.DOTALL)
    shown = re.findall(r'<bdi>(.*?)</bdi></td><td class="number">(\d+)<', counts)
    assert {html.unescape(kind): int(number) for kind, number in shown} == Counter(s.change for s in suspects)
    assert not re.findall(r"(?:src|href)\s*=|@import|url\(", page)


def test_the_page_escapes_the_text_of_the_treebank() -> None:
    text = conllu(toy(3)).replace("\t.\t", "\t<script>\t").replace("sent_id = s1", 'sent_id = "><b>')
    bank = Treebank.from_string(text)
    page = "".join(html_report(mine(bank, signals=["frames"]).suspects(), bank))
    assert page.count("<script>") == 1
    assert "<b>" not in page


def test_the_table_has_a_line_for_each_suspect() -> None:
    bank, _ = planted(20)
    suspects = mine(bank, signals=["variation", "frames"]).suspects(7)
    lines = [line.rstrip("\n").split("\t") for line in tsv(suspects, bank)]
    assert lines[0] == list(TSV_COLUMNS)
    assert [len(line) for line in lines] == [len(TSV_COLUMNS)] * 8
    assert [line[0] for line in lines[1:]] == [str(i) for i in range(1, 8)]


def test_marks_change_nothing_but_misc() -> None:
    bank, _ = planted(20)
    suspects = mine(bank, signals=["variation", "frames"]).suspects(7)
    marked = marked_treebank(suspects, bank)
    assert sum("Suspect=" in misc for misc in marked.column("misc")) == 7
    assert marked.annotate(misc=bank.column("misc")).data == bank.data


def answers_about(bank: Treebank, tmp_path: Path) -> ReviewAnswers:
    answers = ReviewAnswers.beside(str(tmp_path / "bank.conllu"))
    words = FlatWords(bank)
    answers.add(words, 3, "acknowledged")
    answers.add(words, 5, "error")
    answers.add(words, 6, "correct")
    return answers


def test_answers_survive_edits_elsewhere_and_end_with_the_arc(tmp_path: Path) -> None:
    bank, _ = planted(10)
    answers_about(bank, tmp_path)
    again = ReviewAnswers.beside(str(tmp_path / "bank.conllu"))
    assert again.answers(FlatWords(bank)) == ({5: True, 6: False}, {3})
    # Another sentence in front, another label elsewhere in the sentence: the answers stay.
    labels = bank.column("deprel")
    labels[0] = "nmod"
    edited = bank.annotate(deprel=labels)
    longer = Treebank.from_string(conllu(toy(1, seed=99)) + edited.text)
    shift = longer.word_count - bank.word_count
    assert again.answers(FlatWords(longer)) == ({5 + shift: True, 6 + shift: False}, {3 + shift})
    labels[3] = "dep"
    judged, acknowledged = again.answers(FlatWords(bank.annotate(deprel=labels)))
    assert (judged, acknowledged) == ({5: True, 6: False}, set())


def test_answers_of_two_people_merge_line_by_line(tmp_path: Path) -> None:
    bank, _ = planted(10)
    words = FlatWords(bank)
    files = []
    for name, word in (("mine", 3), ("theirs", 8)):
        answers = ReviewAnswers.beside(str(tmp_path / name))
        answers.add(words, 1, "correct")
        answers.add(words, word, "acknowledged")
        files.append(answers.path.read_text().splitlines())
    union = dict.fromkeys(files[0] + files[1])
    (tmp_path / "bank.conllu.verdicts").write_text("\n".join(union) + "\n")
    merged = ReviewAnswers.beside(str(tmp_path / "bank.conllu"))
    assert merged.answers(words) == ({1: False}, {3, 8})


def test_answers_given_elsewhere_meanwhile_stay(tmp_path: Path) -> None:
    bank, _ = planted(10)
    words = FlatWords(bank)
    here, editor = (ReviewAnswers.beside(str(tmp_path / "bank.conllu")) for _ in range(2))
    here.add(words, 1, "correct")
    editor.add(words, 3, "error")
    here.add(words, 8, "acknowledged")
    again = ReviewAnswers.beside(str(tmp_path / "bank.conllu"))
    assert again.answers(words) == ({1: False, 3: True}, {8})


def test_a_broken_file_of_answers_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bank.conllu.verdicts"
    path.write_text("# comment\nkey\tperhaps\n")
    with pytest.raises(InputError, match=r"bank\.conllu\.verdicts:2: expected a key"):
        ReviewAnswers.beside(str(tmp_path / "bank.conllu"))


def test_keys_differ_between_words_and_arcs() -> None:
    bank, _ = planted(10)
    words = FlatWords(bank)
    keys = {word_key(words, w) for w in range(int(words.starts[1]))}
    assert len(keys) == int(words.starts[1])
