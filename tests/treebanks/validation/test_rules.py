"""Every rule finds its defect, at its place, as the official validator does; nothing is found where nothing
is wrong."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.treebanks import COLUMNS
from arcwise.treebanks.edits import edited
from arcwise.treebanks.validation import (
    RULES,
    Finding,
    Inventory,
    check_files,
    check_sentence,
    check_treebank,
)
from treebanks.test_fuzz import mutated
from treebanks.validation.defects import DEFECTS
from treebanks.validation.official import official_ids, verdicts
from treebanks.validation.sound import SENTENCES, SOUND, with_field


def found_in(text: str, **options: bool | int) -> list[Finding]:
    return list(check_treebank(Treebank.from_string(text, strict=False), **options))  # type: ignore[arg-type]


def test_nothing_is_wrong_with_the_sound_treebank() -> None:
    assert found_in(SOUND) == []
    assert official_ids(SOUND) == set()


def test_every_rule_has_a_defect() -> None:
    assert set(DEFECTS) == {name for name, rule in RULES.items() if rule.official and rule.level <= 3}


@pytest.mark.parametrize("rule", DEFECTS)
def test_each_defect_is_found(rule: str) -> None:
    defect = DEFECTS[rule]
    found = found_in(defect.text)
    assert {f.rule for f in found} == {rule} | defect.also
    own = next(f for f in found if f.rule == rule)
    if defect.row is not None:
        assert (own.row, own.column) == (defect.row, defect.column)
    if defect.repaired is not None:
        assert own.repair is not None
        edit = own.repair.edits[0]
        assert (edit.row, edit.column, edit.value) == (defect.row, defect.column, defect.repaired)  # type: ignore[union-attr]
    assert own.level == RULES[rule].level
    assert "\n" not in own.message
    assert json.loads(json.dumps(own.to_json()))["rule"] == rule


@pytest.mark.parametrize("rule", DEFECTS)
def test_the_official_validator_says_the_same(rule: str) -> None:
    text = DEFECTS[rule].text
    assert rule in official_ids(text)
    theirs, ours = verdicts(text)
    assert ours == theirs


def test_an_empty_node_after_a_word_with_a_wrong_number() -> None:
    """Found in a real treebank: a word numbered 51 before the empty node 10.1, which stands where it
    should."""
    theirs, ours = verdicts(with_field(SOUND, "b", "1", "id", "51"))
    assert ours == theirs


@pytest.mark.parametrize("rule", DEFECTS)
def test_repairs_are_declared(rule: str) -> None:
    """A rule that offers a repair says in the reference what it does."""
    for finding in found_in(DEFECTS[rule].text):
        assert finding.repair is None or RULES[finding.rule].repair, finding


@pytest.mark.parametrize(
    ("lines", "row", "column", "message"),
    [
        (["3 head theirs=5"], "3", "head", "HEAD: unresolved merge conflict; theirs: '5'"),
        (
            ["comment text theirs="],
            None,
            None,
            "comment text: unresolved merge conflict; theirs: it was removed",
        ),
        (
            ["sentence theirs=# sent_id = b", "sentence theirs=1\tHi"],
            None,
            None,
            "sentence: unresolved merge conflict; theirs: another version",
        ),
    ],
)
def test_conflicts_that_a_merge_left_are_errors(
    lines: list[str], row: str | None, column: str | None, message: str
) -> None:
    comments = "".join(f"# conflict = {line}\n" for line in lines)
    text = SOUND.replace("# sent_id = b\n", f"# sent_id = b\n{comments}")
    (found,) = found_in(text)
    assert (found.rule, found.row, found.column, found.message) == ("merge-conflict", row, column, message)
    assert not found.warning
    assert found.repair is not None
    block = Treebank.from_string(text)[found.sentence].source_bytes
    assert edited(block, found.repair.edits).decode() in SOUND


def test_lines_and_sentences() -> None:
    text = with_field(SOUND, "d", "2", "upos", "SUBST")
    (found,) = found_in(text)
    assert text.split("\n")[found.line - 1].startswith("2\tsaid")
    assert (found.sentence, found.sent_id) == (3, "d")
    (alone,) = check_sentence(Treebank.from_string(text)[3], Inventory.of(Treebank.from_string(text)))
    assert alone == found


def test_levels() -> None:
    text = with_field(
        with_field(with_field(SOUND, "c", "4", "lemma", " big"), "c", "5", "upos", "N"),
        "c",
        "2",
        "upos",
        "VERB",
    )
    rules = {1: ["leading-whitespace"], 2: ["leading-whitespace", "unknown-upos"]}
    rules[3] = ["rel-upos-cop", *rules[2]]
    for level, expected in rules.items():
        assert [f.rule for f in found_in(text, level=level)] == expected
        assert [f.rule for f in check_sentence(Treebank.from_string(text)[2], level=level)] == [
            rule for rule in ("leading-whitespace", "unknown-upos", "rel-upos-cop") if rule in expected
        ]


def test_words_that_are_not_annotated_yet() -> None:
    text = SOUND
    for column in ("head", "deprel", "upos"):
        text = with_field(text, "c", "4", column, "_")
    assert {f.rule for f in found_in(text)} >= {"invalid-head", "unknown-upos", "invalid-deprel"}
    assert found_in(text, partial=True) == []
    # what is annotated is checked as before: the tag of the copula, and the two subjects of its predicate
    text = with_field(with_field(text, "c", "2", "upos", "VERB"), "c", "8", "deprel", "nsubj")
    assert [f.rule for f in found_in(text, partial=True)] == ["rel-upos-cop", "too-many-subjects"]
    # a cycle among the heads that are there
    assert "non-tree" in {f.rule for f in found_in(with_field(text, "c", "5", "head", "8"), partial=True)}


@pytest.mark.slow
def test_nothing_that_is_open_makes_a_sound_sentence_wrong() -> None:
    columns = {"upos": 3, "head": 6, "deprel": 7}
    for sentence in SOUND.split("\n\n")[:-1]:
        rows = [line.split("\t") for line in sentence.split("\n")]
        words = [k for k, row in enumerate(rows) if row[0].isdecimal()]
        for count in (1, 2, 3):
            for opened in combinations(columns, count):
                for places in [*[[word] for word in words], *combinations(words, 2), words]:
                    made = [row[:] for row in rows]
                    for place in places:
                        for column in opened:
                            made[place][columns[column]] = "_"
                    text = "\n".join("\t".join(row) for row in made) + "\n\n"
                    (own,) = Treebank.from_string(text, strict=False)
                    assert [str(f) for f in check_sentence(own, partial=True)] == [], (opened, text)


def test_punctuation_is_not_judged_before_the_tree_is_whole() -> None:
    text = DEFECTS["punct-is-nonproj"].text
    assert [f.rule for f in found_in(text, partial=True)] == ["punct-is-nonproj"]
    assert found_in(with_field(text, "d", "9", "head", "_"), partial=True) == []


def test_features_are_required_where_the_treebank_has_any() -> None:
    text = "# sent_id = s\n# text = She\n1\tShe\tshe\tPRON\t_\t_\t0\troot\t_\t_\n\n"
    assert found_in(text) == []
    assert [f.rule for f in found_in(text + SENTENCES[0] + "\n")][:1] == ["pron-det-without-prontype"]


def test_a_label_that_is_rare_and_nearly_another() -> None:
    row = "1\tw\tw\tNOUN\t_\t_\t0\troot\t_\t_\n"
    sentence = "# sent_id = {0}\n# text = w v\n" + row + "2\tv\tv\tNOUN\t_\t_\t1\t{1}\t_\t_\n\n"
    text = "".join(sentence.format(i, "nmod:poss") for i in range(60))
    assert found_in(text) == []
    (found,) = found_in(text + sentence.format("x", "nmod:pos"))
    assert found.rule == "rare-label"
    assert found.warning
    assert (
        found.message
        == "DEPREL: 'nmod:pos' may be a typo; did you mean nmod:poss? (nmod:pos occurs once, nmod:poss 60 "
        "times)"
    )
    assert found.repair is not None


def test_no_sentence(tmp_path: Path) -> None:
    (tmp_path / "comments").write_text("# nothing else\n")
    assert "no-sentence" in [f.rule for _, f in check_files([tmp_path / "comments"])]
    assert "no-sentence" in [f.rule for f in found_in("# nothing else\n")]


def test_an_empty_file_is_valid_at_every_level_of_the_official_validator(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("")
    assert official_ids("") == set()
    for level in (1, 2, 3):
        assert list(check_files([tmp_path / "empty"], level=level)) == []
    assert found_in("") == []
    assert run(["validate", "--level", "ud", str(tmp_path / "empty")]) == 0


@pytest.mark.parametrize(
    "feats, deps, empty_node",
    [("", "_", ""), ("_", "", ""), ("_", "0:root", "2.1\tx\tx\tNOUN\t_\tCase=Nom\t_\t_\t1:obj\t_\n")],
    ids=["empty FEATS", "empty DEPS", "features of an empty node alone"],
)
def test_the_same_verdicts_on_empty_fields_and_features_of_empty_nodes(
    feats: str, deps: str, empty_node: str
) -> None:
    graph = "1:obj" if empty_node else "_"
    text = (
        "# sent_id = a\n# text = w he\n"
        f"1\tw\tw\tVERB\t_\t{feats}\t0\troot\t{deps}\t_\n2\the\the\tPRON\t_\t_\t1\tobj\t{graph}\t_\n"
        f"{empty_node}\n"
    )
    theirs, ours = verdicts(text)
    assert ours == theirs != set()


@pytest.mark.slow
def test_a_file_is_read_piece_by_piece_and_told_as_one(tmp_path: Path) -> None:
    """Larger than a piece: lines, sentence numbers and ids go through."""
    copies = 420
    parts = [
        SOUND.replace("sent_id = ", f"sent_id = {i}").replace("zoo/1/alt1", f"zoo/{i}") for i in range(copies)
    ]
    parts[-1] = with_field(parts[-1], f"{copies - 1}d", "2", "upos", "SUBST").replace(
        f"{copies - 1}c\n", "0c\n"
    )
    path = tmp_path / "large.conllu"
    path.write_text("".join(parts))
    assert path.stat().st_size > 1 << 20
    twice, unknown = (f for _, f in check_files([path]))
    assert (twice.rule, twice.sentence) == ("non-unique-sent-id", 4 * copies - 2)
    assert (unknown.rule, unknown.sentence) == ("unknown-upos", 4 * copies - 1)
    lines = path.read_text().split("\n")
    assert lines[unknown.line - 1].startswith("2\tsaid\tsay\tSUBST")
    assert [f for _, f in check_files([path])] == found_in(path.read_text())


def test_ids_are_unique_across_files(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text(SOUND)
    b.write_text(SOUND.replace("zoo/1", "zoo/2"))
    found = [(path, f.rule, f.sent_id) for path, f in check_files([a, b])]
    assert found == [(str(b), "non-unique-sent-id", sent_id) for sent_id in "abcd"]


@pytest.mark.slow
def test_nothing_stops_the_checks() -> None:
    """Mutated files: findings or none, but no exception; and a sentence alone tells no more than the file."""
    rng = random.Random(19)
    for _ in range(300):
        data = mutated(SOUND.encode(), rng)
        treebank = Treebank(data, strict=False)
        inventory = Inventory.of(treebank)
        found = set(check_treebank(treebank, inventory))
        for finding in found:
            str(finding).encode()
            json.dumps(finding.to_json(), ensure_ascii=False).encode()
            assert finding.column is None or finding.column in COLUMNS
        for sentence in () if treebank.layout.problems else treebank:
            assert set(check_sentence(sentence, inventory)) <= found
