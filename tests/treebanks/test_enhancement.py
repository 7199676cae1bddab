"""Enhanced dependencies by rule: hand-written sentences with the arcs that they must get."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.errors import InputError
from arcwise.treebanks import Sentence
from arcwise.treebanks.edits import ENHANCEMENT_RULES, EnhancementRule, generated_arcs, generated_deps
from arcwise.treebanks.edits.enhancement import (
    MAX_WORDS,
    RULE_DESCRIPTIONS,
    enhanced,
    has_case_feature,
    obstacle,
)
from arcwise.treebanks.validation import check_treebank

Arcs = set[tuple[str, str, str]]


def sentence(*rows: str) -> Sentence:
    """Rows of FORM LEMMA UPOS HEAD DEPREL, and FEATS if there are any."""
    lines = []
    for number, row in enumerate(rows, 1):
        form, lemma, upos, head, label, *feats = row.split()
        lines.append(
            "\t".join([str(number), form, lemma, upos, "_", *(feats or ["_"]), head, label, "_", "_"])
        )
    return Treebank.from_string("\n".join(lines) + "\n\n")[0]


def added(of: Sentence, rule: EnhancementRule, **options: bool) -> Arcs:
    """Head, label and dependent of the arcs that a rule makes, as forms."""
    forms = ["0", *of.forms]
    arcs = generated_arcs(of, **options)  # type: ignore[arg-type]
    return {(forms[arc.head], arc.label, forms[arc.word]) for arc in arcs if arc.rule == rule}


WANTS = sentence(
    "She she PRON 2 nsubj", "wants want VERB 0 root", "to to PART 4 mark", "try try VERB 2 xcomp",
    "to to PART 6 mark", "sleep sleep VERB 4 xcomp", "and and CCONJ 8 cc", "dream dream VERB 6 conj",
)  # fmt: skip
TOLD = sentence(
    "We we PRON 2 nsubj", "told tell VERB 0 root", "them they PRON 2 iobj", "to to PART 5 mark",
    "go go VERB 2 xcomp",
)  # fmt: skip


def test_the_subject_of_an_open_complement() -> None:
    assert added(WANTS, "xcomp-subject") == {
        ("try", "nsubj:xsubj", "She"), ("sleep", "nsubj:xsubj", "She"), ("dream", "nsubj:xsubj", "She"),
    }  # fmt: skip
    assert added(TOLD, "xcomp-subject") == {("go", "nsubj:xsubj", "them")}


def test_conjuncts_share_heads_and_dependents() -> None:
    bought = sentence(
        "Ann Ann PROPN 4 nsubj", "and and CCONJ 3 cc", "Ben Ben PROPN 1 conj", "bought buy VERB 0 root",
        "and and CCONJ 6 cc", "ate eat VERB 4 conj", "bread bread NOUN 4 obj", "today today ADV 4 advmod",
    )  # fmt: skip
    assert added(bought, "conj-head") == {("bought", "nsubj", "Ben")}
    assert added(bought, "conj-dependent") == {("ate", "nsubj", "Ann"), ("ate", "obj", "bread")}
    assert added(bought, "case") == {("Ann", "conj:and", "Ben"), ("bought", "conj:and", "ate")}
    # Its own subject, or an object that comes before the last conjunct, is not shared.
    own = sentence(
        "Ann Ann PROPN 2 nsubj", "bought buy VERB 0 root", "bread bread NOUN 2 obj", "and and CCONJ 6 cc",
        "Ben Ben PROPN 6 nsubj", "ate eat VERB 2 conj",
    )  # fmt: skip
    assert added(own, "conj-dependent") == set()


def test_a_shared_subject_is_passive_where_its_predicate_is() -> None:
    seen = sentence(
        "It it PRON 3 nsubj:pass", "was be AUX 3 aux:pass", "seen see VERB 0 root VerbForm=Part",
        "and and CCONJ 5 cc", "heard hear VERB 3 conj VerbForm=Part", "and and CCONJ 7 cc",
        "vanished vanish VERB 3 conj VerbForm=Fin",
    )  # fmt: skip
    assert added(seen, "conj-dependent") == {("heard", "nsubj:pass", "It"), ("vanished", "nsubj", "It")}


def test_labels_with_markers() -> None:
    marked = sentence(
        "If if SCONJ 3 mark", "you you PRON 3 nsubj", "go go VERB 4 advcl", "sit sit VERB 0 root",
        "out out ADP 7 case", "of of ADP 5 fixed", "doors door NOUN 4 obl", "or or CCONJ 10 cc",
        "by by ADP 10 case", "trees tree NOUN 7 conj", ", , PUNCT 13 punct", "including include VERB 13 case",
        "oaks oak NOUN 10 nmod",
    )  # fmt: skip
    assert added(marked, "case") == {
        ("sit", "advcl:if", "go"), ("sit", "obl:out_of", "doors"), ("doors", "conj:or", "trees"),
        ("trees", "nmod:including", "oaks"),
    }  # fmt: skip
    assert added(marked, "conj-head") == {("sit", "obl:by", "trees")}
    listed = sentence(
        "in in ADP 2 case", "A a NOUN 0 root", "B b NOUN 2 conj", "and and CCONJ 5 cc", "C c NOUN 2 conj",
    )  # fmt: skip
    assert added(listed, "case") == {("A", "conj:and", "B"), ("A", "conj:and", "C")}


def test_a_conjunct_without_marker_has_that_of_the_first() -> None:
    in_and = sentence(
        "live live VERB 0 root", "in in ADP 3 case", "Rome Rome PROPN 1 obl", "and and CCONJ 5 cc",
        "Oslo Oslo PROPN 3 conj",
    )  # fmt: skip
    assert added(in_and, "conj-head") == {("live", "obl:in", "Oslo")}


def test_labels_with_case() -> None:
    czech = sentence("Bydlí bydlet VERB 0 root", "v v ADP 3 case", "Praze Praha NOUN 1 obl Case=Loc")
    assert added(czech, "case", with_case_feature=True) == {("Bydlí", "obl:v:loc", "Praze")}
    assert added(czech, "case") == {("Bydlí", "obl:v", "Praze")}
    assert has_case_feature(czech.treebank)
    assert not has_case_feature(TOLD.treebank)


def test_relative_clauses() -> None:
    who = sentence(
        "the the DET 2 det", "man man NOUN 0 root", "who who PRON 4 nsubj PronType=Rel",
        "came come VERB 2 acl:relcl", "and and CCONJ 6 cc", "left leave VERB 4 conj",
    )  # fmt: skip
    assert added(who, "relative") == {
        ("came", "nsubj", "man"),
        ("left", "nsubj", "man"),
        ("man", "ref", "who"),
    }
    assert [arc.rule for arc in generated_arcs(who) if arc.word == 3] == ["relative"]
    where = sentence(
        "place place NOUN 0 root", "where where ADV 4 advmod PronType=Rel", "they they PRON 4 nsubj",
        "met meet VERB 1 acl:relcl",
    )  # fmt: skip
    assert added(where, "relative") == {("met", "obl", "place"), ("place", "ref", "where")}
    reduced = sentence(
        "book book NOUN 0 root", "I I PRON 3 nsubj", "want want VERB 1 acl:relcl", "to to PART 5 mark",
        "read read VERB 3 xcomp",
    )  # fmt: skip
    assert added(reduced, "relative-object") == {("read", "obj", "book")}
    full = sentence(
        "day day NOUN 0 root", "I I PRON 3 nsubj", "saw see VERB 1 acl:relcl", "him he PRON 3 obj"
    )
    assert added(full, "relative-object") == set()


def test_rules_can_be_chosen() -> None:
    assert {arc.rule for arc in generated_arcs(WANTS, rules=[])} == {"basic"}
    only = generated_arcs(WANTS, rules=["conj-head"])
    assert {arc.rule for arc in only} == {"basic", "conj-head"}
    assert set(RULE_DESCRIPTIONS) == {"basic", *ENHANCEMENT_RULES}
    with pytest.raises(InputError, match="rules: found 'x', expected case, conj-head"):
        generated_arcs(WANTS, rules=["x"])  # type: ignore[list-item]


def test_what_someone_wrote_stays() -> None:
    text = WANTS.treebank.text
    has_deps = Treebank.from_string(text.replace("nsubj\t_", "nsubj\t2:nsubj", 1))[0]
    has_node = Treebank.from_string(text.rstrip("\n") + "\n8.1\tX\t_\t_\t_\t_\t_\t_\t2:dep\t_\n\n")[0]
    is_open = Treebank.from_string(text.replace("2\tnsubj", "_\t_", 1))[0]
    for other, reason in (
        (has_deps, "has DEPS"), (has_node, "has empty nodes"), (is_open, "has words without HEAD or DEPREL"),
    ):  # fmt: skip
        assert obstacle(other) == reason
        assert generated_deps(other) == []
    assert obstacle(has_deps, overwrite=True) is None
    assert obstacle(has_node, overwrite=True) == "has empty nodes"


def test_long_sentences_are_left_alone() -> None:
    rows = ["a a X 0 root", *["b b X 1 conj"] * MAX_WORDS]
    assert obstacle(sentence(*rows)) == f"has more than {MAX_WORDS} words"
    with pytest.raises(InputError, match=f"expected at most {MAX_WORDS}"):
        generated_arcs(sentence(*rows))
    assert len(generated_arcs(sentence(*rows[:MAX_WORDS]))) == MAX_WORDS


LABELS = (
    "nsubj", "obj", "obl", "nmod", "conj", "cc", "case", "mark", "xcomp", "acl:relcl", "acl", "advcl", "amod",
    "aux:pass", "iobj", "fixed",
)  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_any_tree_gives_a_valid_graph(seed: int) -> None:
    """Every arc once, sorted, between words, and connected: no finding about DEPS."""
    chosen = random.Random(seed)
    rows = ["w w VERB 0 root"]
    for _ in range(chosen.randint(1, 12)):
        head = chosen.randint(1, len(rows))
        feats = chosen.choice(["_", "PronType=Rel", "VerbForm=Part", "Case=Acc"])
        upos = chosen.choice(["NOUN", "VERB", "ADV", "PRON"])
        rows.append(
            f"w {chosen.choice(['in', 'Ab-c', '3', 'd'])} {upos} {head} {chosen.choice(LABELS)} {feats}"
        )
    made = sentence(*rows)
    deps = generated_deps(made, with_case_feature=bool(seed % 2))
    assert [generated.row for generated in deps] == [str(word) for word in range(1, len(rows) + 1)]
    after = enhanced(made.treebank, {0: deps})
    assert [f for f in check_treebank(after) if f.column == "deps" and f.rule != "goeswith-edeps"] == []
    rules = {finding.rule for finding in check_treebank(after, level=2)}
    assert "unconnected-egraph" not in rules


# ---- the command


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, target = tmp_path / "a.conllu", tmp_path / "b.conllu"
    mine = TOLD.treebank.text.replace("2\tnsubj\t_", "2\tnsubj\t2:mine")
    file.write_text("# sent_id = x\n# note = kept\n" + TOLD.treebank.text + mine)
    assert run(["enhance", str(file), "-o", str(target)]) == 0
    err = capsys.readouterr().err
    assert err == "1 sentence enhanced: xcomp-subject 1\nleft unchanged: 1 sentence that has DEPS\n"
    text = target.read_text()
    assert text.endswith(mine)
    assert "3\tthem\tthey\tPRON\t_\t_\t2\tiobj\t2:iobj|5:nsubj:xsubj\t_\n" in text
    without = "\n".join(
        "\t".join([*line.split("\t")[:8], "_", "_"]) if "\t" in line else line for line in text.split("\n")
    )
    original = file.read_text().replace("2:mine", "_")
    assert without == original
    assert run(["enhance", str(file), "--overwrite"]) == 0
    assert "mine" not in capsys.readouterr().out


def test_the_preview_names_the_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.conllu"
    file.write_text("# sent_id = x\n" + TOLD.treebank.text)
    assert run(["enhance", str(file), "--preview"]) == 0
    assert capsys.readouterr().out == "x: 5:go > nsubj:xsubj 3:them [xcomp-subject]\n"
    assert run(["enhance", str(file), "--preview", "--rules", "case,relative"]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", "1 sentence enhanced: basic arcs alone\n")


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--rules", "cases"], "--rules: found 'cases', expected case, conj-head"),
        (["--preview", "-o", "x.conllu"], "--preview: cannot be combined with --output"),
        (["-o", "a.conllu"], "a.conllu: is an input too"),
    ],
)
def test_bad_input_of_the_command(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("a.conllu").write_text(TOLD.treebank.text)
    assert run(["enhance", "a.conllu", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["a.conllu"]
