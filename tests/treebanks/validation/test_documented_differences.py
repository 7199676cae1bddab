"""Each difference that docs/reference/validation.md lists, shown on a sentence of its own."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.treebanks.validation import RULES, check_treebank
from treebanks.validation.official import official_ids
from treebanks.validation.sound import SOUND, with_field

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "validation.md").read_text("utf-8")
SECTION = " ".join(PAGE.split("These are all the differences:")[1].split("\n## ")[0].split())
VERB = "1 w w VERB _ _ 0 root _ _"
VERB_IN_GRAPH = "1 w w VERB _ _ 0 root 0:root _"


def sentence(*rows: str, text: str) -> str:
    lines = [row.replace(" ", "\t") for row in rows]
    return "\n".join(["# sent_id = a", f"# text = {text}", *lines, "", ""])


def our_ids(text: str) -> set[str]:
    found = check_treebank(Treebank.from_string(text, strict=False))
    return {finding.rule for finding in found if RULES[finding.rule].official}


def test_after_a_serious_error_only_we_check_the_rest_of_the_sentence() -> None:
    cycle = ("2 x x NOUN _ _ 3 obj _ _", "3 y y NOUN _ _ 2 obj _ _")
    text = sentence(VERB, *cycle, text="w x y").replace("# sent_id = a\n", "")
    assert official_ids(text) == {"non-tree"}
    assert our_ids(text) == {"non-tree", "missing-sent-id"}
    text = sentence(VERB_IN_GRAPH, "2 x x NOUN _ _ 1 obj  _", text="w x")
    assert our_ids(text) - official_ids(text) == {"unconnected-egraph"}  # an empty DEPS has no arc


@pytest.mark.parametrize(
    ("row", "left_out", "reported"),
    [
        ("2 x x NOUN _ _ z obj _ _", "unknown-head", "invalid-head"),
        ("2 x x NOUN _ _ 1 obj z:obj _", "unknown-ehead", "invalid-ehead"),
        ("3 x x NOUN _ _ 1 obj _ _", "word-interval-out", "word-id-sequence"),
        ("2 x x NOUN  _ 1 obj _ _", "empty-string-in-xpos", "empty-column"),
        ("2 x x NOUN _  1 obj _ _", "invalid-feature", "empty-column"),
        ("2 x x NOUN _ _ 1 obj  _", "invalid-deps", "empty-column"),
    ],
)
def test_a_problem_that_is_reported_twice_officially_is_reported_once(
    row: str, left_out: str, reported: str
) -> None:
    text = sentence(VERB_IN_GRAPH, row, text="w x")
    assert {left_out, reported} <= official_ids(text)
    ours = our_ids(text)
    assert reported in ours
    assert left_out not in ours
    assert f"`{left_out}`" in SECTION
    assert f"`{reported}`" in SECTION


def test_after_a_form_that_is_not_in_the_text_the_comparison_stops() -> None:
    text = sentence(VERB, "2 x x NOUN _ _ 1 obj _ SpaceAfter=No", text="w y z")
    assert official_ids(text) - our_ids(text) == {"text-extra-chars"}
    assert "text-form-mismatch" in our_ids(text)


def test_a_missing_relation_is_reported_where_the_official_validator_crashes() -> None:
    text = sentence(VERB, "2 x x NOUN _ _ 1 _ _ _", text="w x")
    with pytest.raises(TypeError):
        official_ids(text)
    assert our_ids(text) == {"invalid-deprel"}


def test_features_of_an_empty_node_alone_count_for_both() -> None:
    """Once a difference: a treebank that has features only in an empty node."""
    empty = "2.1 y y NOUN _ Case=Nom _ _ 1:obj _"
    text = sentence(VERB_IN_GRAPH, "2 he he PRON _ _ 1 obj 1:obj _", empty, text="w he")
    assert official_ids(text) == our_ids(text) == {"pron-det-without-prontype"}
    assert "pron-det-without-prontype" not in SECTION


def test_an_empty_file_is_valid_for_both() -> None:
    assert official_ids("") == our_ids("") == set()
    assert "An empty file is valid for both." in SECTION


def test_findings_of_one_rule_in_one_field_end_with_one_that_says_so() -> None:
    many = "|".join(f"a{number}=x" for number in range(300))
    found = list(
        check_treebank(Treebank.from_string(with_field(SOUND, "d", "2", "feats", many), strict=False))
    )
    assert Counter(finding.rule for finding in found)["invalid-feature"] == 101
    last = [finding for finding in found if finding.rule == "invalid-feature"][-1]
    assert last.message == "and more of this rule; the first 100 are listed"
    assert "at most 100 findings of one rule in one field" in SECTION
