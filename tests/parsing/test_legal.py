"""Parsing under rules: ``ParseOptions(legal=…)``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arcwise.annotation.assistant import Assistant
from arcwise.cli.main import run
from arcwise.errors import ArcwiseError, InputError, OptionError
from arcwise.factors import LegalRules, learned_rules, legal_rules, legal_trees, ud_rules
from arcwise.graph import GraphConfig, GraphParser
from arcwise.inference import Constraints
from arcwise.learning.progress import Progress
from arcwise.models import open_model
from arcwise.models.training import train_parser
from arcwise.parsing import ParseOptions
from arcwise.parsing.legal import NO_LEGAL_TREE
from arcwise.parsing.scored import ScoredParser, decode_settings
from arcwise.parsing.scorer import FunctionScorer
from arcwise.treebanks import Treebank
from arcwise.web.serve_json import read_request

LABELS = ("nsubj", "obj", "det", "root")
RULES = {"at_most_one": [{"labels": ["nsubj"]}], "leaf": [{"labels": ["det"]}]}


def scores_of(sentence: object) -> np.ndarray:
    """Random scores of labelled arcs that prefer subjects; the words are the seed."""
    n = len(sentence)  # type: ignore[arg-type]
    rng = np.random.default_rng([int(form) for form in sentence.forms])  # type: ignore[attr-defined]
    scores = 3 * rng.normal(size=(len(LABELS), n + 1, n + 1))
    scores[0] += 3
    scores[3, 1:], scores[:3, 0] = -np.inf, -np.inf
    return scores


@pytest.fixture
def parser() -> ScoredParser:
    return ScoredParser(FunctionScorer(scores_of, LABELS))


@pytest.fixture(scope="module")
def treebank() -> Treebank:
    rng = np.random.default_rng(0)
    rows = [
        "".join(f"{i}\t{rng.integers(99)}" + "\t_" * 8 + "\n" for i in range(1, n + 1)) + "\n"
        for n in (1, 3, 5, 7, 9, 12) * 4
    ]
    return Treebank.from_string("".join(rows))


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("decode", ["map", "mbr", "mbr-labelled", "max-z"])
def test_every_tree_is_legal_and_legal_trees_stay(
    parser: ScoredParser, treebank: Treebank, decode: str, projective: bool
) -> None:
    options = ParseOptions(decode=decode, projective=projective, confidence=True)  # type: ignore[arg-type]
    rules = LegalRules.of(RULES)
    before = parser.parse(treebank, options=options)
    after = parser.parse(treebank, options=replace(options, legal=rules), threads=2)
    illegal = rules.violated_by(before)
    assert 0 < illegal.sum() < len(treebank)
    assert not rules.violated_by(after).any()
    for s in np.flatnonzero(~illegal).tolist():
        assert after[s].conllu_bytes == before[s].conllu_bytes
    assert "parse_note" not in after.text


def test_probabilities_are_those_of_the_tree_without_rules(parser: ScoredParser, treebank: Treebank) -> None:
    options = ParseOptions(legal=LegalRules.of(RULES), confidence=True)
    parses = parser.parses(treebank, options=options)
    trees = parser.distributions(treebank)
    first = 0
    assert parses.probabilities is not None
    for s, (arcs, labelled) in enumerate(zip(trees.marginals, trees.label_marginals, strict=True)):
        n = len(treebank[s])
        words, at = np.arange(1, n + 1), slice(first, first + n)
        heads, labels = parses.heads[at], parses.labels[at]
        np.testing.assert_allclose(parses.probabilities.head[at], arcs[heads, words], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(
            parses.probabilities.label[at], labelled[labels, heads, words], rtol=1e-5, atol=1e-7
        )
        log_probability = sum(np.log(1.0) for _ in words)  # labels summed out below
        weights = np.log(np.exp(scores_of(treebank[s])).sum(axis=0))
        log_probability += weights[heads, words].sum()
        assert parses.probabilities.log_tree[s] == pytest.approx(
            log_probability - trees.log_partition[s], abs=1e-6
        )
        first += n


def test_decisions_count(parser: ScoredParser) -> None:
    words = Treebank.from_string("".join(f"{i}\t{i}" + "\t_" * 8 + "\n" for i in (1, 2, 3, 4)) + "\n")
    decided = words.annotate(heads=np.array([2, 0, -1, -1], np.int32), deprel=["nsubj", "_", "_", "_"])
    options = ParseOptions(legal=LegalRules.of(RULES), keep_heads=True)
    tree = parser.parse(decided, options=options)[0]
    assert tree.deprels[0] == "nsubj"
    assert [label for h, label in zip(tree.heads[1:], tree.deprels, strict=True) if h == 2].count(
        "nsubj"
    ) == 1
    # Subjects that are both decided are kept; the note says why the tree is illegal.
    both = words.annotate(heads=np.array([2, 0, 2, -1], np.int32), deprel=["nsubj", "_", "nsubj", "_"])
    tree = parser.parse(both, options=options)[0]
    assert tree.deprels[0] == tree.deprels[2] == "nsubj"
    assert NO_LEGAL_TREE in tree.comments.get("parse_note", "")


def test_constraints_hold_in_legal_trees(parser: ScoredParser, treebank: Treebank) -> None:
    constraints = [
        Constraints(subtrees=[(2, 3)], forbidden=[(1, 2)]) if len(sentence) >= 3 else None
        for sentence in treebank
    ]
    options = ParseOptions(legal=LegalRules.of(RULES), projective=True)
    parsed = parser.parse(treebank, options=options, constraints=constraints)
    assert not LegalRules.of(RULES).violated_by(parsed).any()
    for sentence in parsed:
        if len(sentence) >= 3:
            heads = sentence.heads.tolist()
            assert sum(heads[m] not in (2, 3) for m in (2, 3)) == 1
            assert heads[2] != 1


def test_suggestions_are_those_of_a_parse(parser: ScoredParser, treebank: Treebank) -> None:
    rules = LegalRules.of(RULES)
    parsed = parser.parse(treebank, options=ParseOptions(legal=rules))
    assistant = Assistant(parser, legal=rules)
    for before, after in zip(treebank, parsed, strict=True):
        words = assistant.suggest(before).words
        assert [word.head for word in words] == after.heads[1:].tolist()
        assert [word.label for word in words] == after.deprels


def test_rules_are_learned_stored_and_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clause = "1 Birds _ NOUN _ _ 2 nsubj _ _", "2 eat _ VERB _ _ 0 root _ _", "3 seeds _ NOUN _ _ 2 obj _ _"
    twice = *clause, "4 crumbs _ NOUN _ _ 2 obj _ _"
    text = "".join("\n".join(rows).replace(" ", "\t") + "\n\n" for rows in [clause] * 100 + [twice])
    treebank = Treebank.from_string(text)
    learned = learned_rules(treebank)
    # Two objects were seen; a subject is the group of UD, and `nsubj` alone says nothing more.
    assert [rule.name for rule in learned.at_most_one] == ["subject", "nsubj"]
    options = {"epochs": 1, "arc_bits": 12, "row_bits": 12}
    parser = train_parser(
        "graph", treebank, "none", config=None, options=options, threads=1, progress=Progress(shown=False)
    )
    model = tmp_path / "m.arcwise"
    parser.save(model)
    assert LegalRules.of(open_model(model).info["legal"]) == learned
    data = tmp_path / "in.conllu"
    data.write_text(text)
    assert run(["parse", str(data), "--model", str(model), "--legal", "learned"]) == 0
    assert not learned.violated_by(Treebank.from_string(capsys.readouterr().out)).any()
    assert run(["info", str(model)]) == 0
    assert "at_most_one" in capsys.readouterr().out


def test_labels_unlike_any_in_training_are_searched() -> None:
    """The heads are kept. No noun had the label advmod, but one of the two must take it."""
    rows = [
        ("1 Birds _ NOUN _ _ 2 nsubj _ _", "2 eat _ VERB _ _ 0 root _ _", "3 seeds _ NOUN _ _ 2 obj _ _"),
        ("1 Birds _ NOUN _ _ 2 nsubj _ _", "2 eat _ VERB _ _ 0 root _ _", "3 well _ ADV _ _ 2 advmod _ _"),
    ]
    text = "".join("\n".join(clause).replace(" ", "\t") + "\n\n" for clause in rows * 20)
    parser = GraphParser.train(
        Treebank.from_string(text), config=GraphConfig(epochs=2, arc_bits=12, row_bits=12)
    )
    sentence = Treebank.from_string("\n".join(rows[0]).replace(" ", "\t") + "\n\n")
    rules = LegalRules.of({"at_most_one": [{"labels": ["nsubj", "obj"]}]})
    tree = parser.parse(sentence, options=ParseOptions(legal=rules, keep=("head",)))[0]
    assert tree.deprels in (["nsubj", "root", "advmod"], ["advmod", "root", "obj"])
    scores = parser.scorer.scores(
        sentence, trees=parser.decoding.trees, required=np.asarray(sentence.heads, np.int32)
    )
    found = legal_trees(scores, rules, decode_settings(parser.decoding, parser.temperatures))
    assert found.parses.labels.tolist() == [parser.labels.index(label) for label in tree.deprels]


@pytest.mark.parametrize(
    ("labels", "violated"),
    [
        (("nsubj", "obj"), False),
        (("nsubj", "nsubj"), True),
        (("nsubj:pass", "csubj"), True),
        (("nsubj:outer", "nsubj"), False),
        (("csubj:outer", "nsubj"), False),
        (("nsubj:outer", "nsubj:outer"), False),
        (("obj", "obj"), True),
        (("obj", "iobj"), False),
    ],
)
def test_the_guidelines_on_subjects_and_objects(labels: tuple[str, str], violated: bool) -> None:
    assert ud_rules().violated_by(one_clause(*labels)).tolist() == [violated]


def one_clause(*labels: str, times: int = 1) -> Treebank:
    """Sentences of a verb with dependents."""
    rows = [
        "1 eat _ VERB _ _ 0 root _ _",
        *(f"{i} x _ X _ _ 1 {label} _ _" for i, label in enumerate(labels, 2)),
    ]
    return Treebank.from_string(("\n".join(rows).replace(" ", "\t") + "\n\n") * times)


@pytest.mark.parametrize("together", [True, False])
def test_a_pair_of_relations_is_a_rule_unless_a_head_has_both(together: bool) -> None:
    clauses = [one_clause("ccomp"), one_clause("xcomp"), one_clause("iobj", times=legal_rules.LEAST_HEADS)]
    clauses += [one_clause("ccomp", "xcomp")] * together
    rules = learned_rules(Treebank.from_string("".join(clause.text for clause in clauses)))
    names = [rule.name for rule in rules.at_most_one]
    assert ("ccomp or xcomp" in names) is not together
    assert "iobj" in names


def test_rules_come_from_a_file(parser: ScoredParser, treebank: Treebank, tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('[[at_most_one]]\nlabels = ["nsubj"]\n[[leaf]]\nlabels = ["det"]\n')
    assert LegalRules.read(path) == LegalRules.of(RULES)
    from_file = parser.parse(treebank, options=ParseOptions(legal=str(path)))
    assert from_file.data == parser.parse(treebank, options=ParseOptions(legal=LegalRules.of(RULES))).data
    assert LegalRules.of(ud_rules().plain()) == ud_rules()


def test_a_cost_lets_a_tree_break_a_rule(parser: ScoredParser, treebank: Treebank) -> None:
    free, cheap, dear = (
        parser.parses(
            treebank,
            options=ParseOptions(
                legal=None
                if cost is None
                else LegalRules.of({"at_most_one": [{"labels": ["nsubj"], "cost": cost}]})
            ),
        )
        for cost in (None, 1e-6, 1e6)
    )
    hard = parser.parses(
        treebank, options=ParseOptions(legal=LegalRules.of({"at_most_one": [{"labels": ["nsubj"]}]}))
    )
    np.testing.assert_array_equal(free.heads, cheap.heads)
    np.testing.assert_array_equal(dear.heads, hard.heads)
    assert (free.heads != hard.heads).any() or (free.labels != hard.labels).any()


@pytest.mark.parametrize(
    ("make_it", "message"),
    [
        (lambda: ParseOptions(legal=3), "legal: found 3, expected ud, learned, a TOML file or LegalRules"),
        (lambda: ParseOptions(legal="no-such.toml"), "no-such.toml"),
        (lambda: LegalRules.of({"at_most": []}), "found key 'at_most', expected one of at_most_one, leaf"),
        (lambda: LegalRules.of({"leaf": [{"dependents": []}]}), "leaf 1: has no labels"),
        (lambda: LegalRules.of({"leaf": 3}), "expected tables"),
        (lambda: LegalRules.of({"leaf": [{"labels": ["a"], "cost": 0}]}), "cost: found 0.0, expected"),
        (lambda: LegalRules((legal_rules.AtMostOne(("a",)),) * 65), "found 65 of one kind"),
    ],
)
def test_bad_rules_are_refused_in_one_sentence(make_it: object, message: str) -> None:
    with pytest.raises(ArcwiseError, match=message):
        make_it()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ParseOptions(legal="ud", k_best=2), "legal: found 'ud' with k_best=2, expected one tree"),
        (ParseOptions(legal="ud", decode="greedy"), "expected another decoder"),
        (ParseOptions(legal="learned"), "the model has no rules; train it again"),
    ],
)
def test_what_no_rules_fit_is_refused(
    parser: ScoredParser, treebank: Treebank, options: ParseOptions, message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        parser.parse(treebank, options=options)
    unlabelled = ScoredParser(FunctionScorer(lambda sentence: np.zeros((len(sentence) + 1,) * 2)))
    with pytest.raises(OptionError, match="which a scored parser does not support"):
        unlabelled.parse(treebank, options=ParseOptions(legal="ud"))


def test_a_request_names_no_files() -> None:
    from arcwise.web.serve_json import _options

    class Model:
        parser = ScoredParser(FunctionScorer(scores_of, LABELS))
        pipeline = None

    assert _options(read_request(b'{"text": "a", "legal": "ud"}'), Model()).legal == "ud"  # type: ignore[arg-type]
    with pytest.raises(InputError, match="legal: found '/etc/passwd', expected one of ud, learned"):
        _options(read_request(b'{"text": "a", "legal": "/etc/passwd"}'), Model())  # type: ignore[arg-type]
