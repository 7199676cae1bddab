"""Nuclei, frames and lexical consistency against slow, obvious twins."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from arcwise.mining.frames import _STRENGTH, CORE, frame, held_out_probability
from arcwise.mining.lexicon import Usual
from arcwise.mining.mine import no_evidence
from arcwise.mining.ranks import log_ranks, log_ranks_within
from arcwise.mining.signals import SIGNALS
from arcwise.mining.variation import NONE, SPAN, nuclei, variation
from arcwise.mining.words import FlatWords
from arcwise.treebanks import Treebank
from mining.planted import planted


@pytest.mark.parametrize("level", ["form", "lemma", "ends"])
def test_nuclei_agree_with_all_pairs_of_words(level: str) -> None:
    bank, _ = planted(30)
    expected: dict[tuple[str, ...], Counter[str]] = {}
    for sentence in bank:
        words, n = sentence.words, len(sentence)
        for a in range(n):
            for b in range(a + 1, n):
                if b - a >= SPAN:
                    continue
                units = [w.form.lower() if level == "form" else w.lemma for w in words[a : b + 1]]
                key = tuple(units)
                if level == "ends":
                    key = (units[0], *(w.upos for w in words[a : b + 1]), units[-1])
                first, last = words[a], words[b]
                value = NONE
                if sentence.head_ids[a + 1] == b + 1:
                    value = f"<{first.deprel}"
                elif sentence.head_ids[b + 1] == a + 1:
                    value = f">{last.deprel}"
                expected.setdefault(key, Counter())[value] += 1
    expected = {k: c for k, c in expected.items() if len(c) > 1 and set(c) != {NONE}}
    assert {key: nucleus.counts for key, nucleus in nuclei(FlatWords(bank), level).items()} == expected


def test_variation_counts_the_other_places_and_names_them() -> None:
    row = "# sent_id = {}\n1\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n2\thome\thome\tADV\t_\t_\t1\t{}\t_\t_\n\n"
    bank = Treebank.from_string(
        "".join(row.format(f"s{i}", "advmod") for i in range(4)) + row.format("odd", "obj")
    )
    measured = variation(FlatWords(bank), no_evidence(bank))
    assert measured.score[9] == pytest.approx(np.log(4.5 / 0.5))
    assert measured.score[1] == pytest.approx(np.log(1.5 / 3.5))
    (reason,) = measured.reasons(9)
    assert reason == "of 5 places with “go home” 4 have advmod (s0, s1, s2, …)"
    (vote,) = measured.votes(9)
    assert (vote.head, vote.value) == (1, "advmod")


def test_held_out_probability_agrees_with_counting_the_other_words() -> None:
    random = np.random.default_rng(2)
    outcomes, wide, narrow = random.integers(0, 4, 60), np.zeros(60, np.int64), random.integers(0, 5, 60)
    probability = held_out_probability(outcomes, [wide, narrow])
    for word in range(60):
        p = 1 / len(set(outcomes.tolist()))
        for context in (wide, narrow):
            others = [i for i in range(60) if i != word and context[i] == context[word]]
            c = sum(outcomes[i] == outcomes[word] for i in others)
            p = (c + _STRENGTH * p) / (len(others) + _STRENGTH)
        assert probability[word] == pytest.approx(p)


def test_frames_are_the_core_labels_of_the_dependents() -> None:
    bank, _ = planted(20)
    words = FlatWords(bank)
    for sentence in bank:
        for word in sentence.words:
            labels = sorted(w.deprel for w in sentence.words if sentence.head_ids[w.id] == word.id)
            flat = int(words.starts[sentence.number]) + word.id - 1
            assert frame(words, flat) == tuple(label for label in labels if label in CORE)


def test_lexical_surprise_compares_a_value_with_the_usual_one() -> None:
    table = Usual.of(["a", "a", "a", "a", "b"], ["x", "x", "x", "y", "x"])
    surprise = table.surprise()
    assert surprise[3] == pytest.approx(np.log(3.5 / 0.5))
    assert surprise[0] == pytest.approx(np.log(1.5 / 2.5))
    assert np.isnan(surprise[4])
    assert table.clearly_other(3) is None  # three occurrences are not five times as many as one
    many = Usual.of(["a"] * 6, ["x"] * 5 + ["y"])
    assert many.clearly_other(5) == ("x", 5, 6)


def test_a_form_that_differs_from_the_usual_one_of_its_paradigm_cell_is_an_outlier() -> None:
    row = "1\t{}\tgo\tVERB\t_\t{}\t0\troot\t_\t_\n\n"
    forms = [("went", "Tense=Past")] * 6 + [("goed", "Tense=Past"), ("go", "_"), ("goes", "_")]
    bank = Treebank.from_string("".join(row.format(*pair) for pair in forms))
    measured = SIGNALS["lexicon"].measure(FlatWords(bank), no_evidence(bank))
    paradigm = measured.columns["paradigm"]
    assert paradigm[6] == pytest.approx(np.log(6.5 / 0.5))
    assert paradigm[0] == pytest.approx(np.log(1.5 / 5.5))
    assert np.isnan(paradigm[7:]).all()  # without features there is no cell
    assert measured.reasons(6) == ["of 7 VERB “go” with Tense=Past 6 have the form “went”"]
    assert measured.reasons(0) == []


def test_rules_of_validate_are_a_signal() -> None:
    row = "1\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n2\thome\thome\tADV\t_\t_\t1\tadvmood\t_\t_\n\n"
    bank = Treebank.from_string("# sent_id = s\n# text = go home\n" + row)
    measured = SIGNALS["rules"].measure(FlatWords(bank), no_evidence(bank))
    assert measured.columns["arc"].tolist() == [0.0, 1.0]
    assert "advmood" in measured.reasons(1)[0]


def test_every_signal_has_a_line_of_help_and_measures_every_word() -> None:
    bank, _ = planted(12)
    words = FlatWords(bank)
    for name, signal in SIGNALS.items():
        measured = signal.measure(words, no_evidence(bank))
        assert signal.name == name
        assert signal.help
        assert measured.score.shape == (len(words),)
        assert all(column.shape == (len(words),) for column in measured.columns.values())


def test_rules_about_features_are_apart_from_those_about_trees() -> None:
    """In a treebank whose modals have no Mood by design, they would all come first."""
    rows = (
        "1\tit\tit\tPRON\t_\tPronType=Prs\t3\tnsubj\t_\t_\n"
        "2\tmay\tmay\tAUX\t_\tVerbForm=Fin\t3\taux\t_\t_\n"
        "3\train\train\tVERB\t_\tVerbForm=Inf\t0\troot\t_\t_\n"
        "4\tnow\tnow\tADV\t_\t_\t3\tadvmood\t_\t_\n\n"
    )
    bank = Treebank.from_string(rows)
    measured = SIGNALS["rules"].measure(FlatWords(bank), no_evidence(bank))
    assert (measured.columns["word"] > 0).tolist() == [False, True, False, False]
    assert (measured.columns["arc"] > 0).tolist() == [False, False, False, True]
    assert measured.score[3] > measured.score[1] > measured.score[0]
    assert [bool(rule) for rule in measured.kinds["tree_rule"]] == [False, False, False, True]
    assert measured.kinds["word_rule"] == ["", "verbform-fin-without-mood", "", ""]


def test_a_tag_that_does_not_fit_its_label_breaks_a_rule_about_trees() -> None:
    row = "1\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n2\thome\thome\tNOUN\t_\t_\t1\tadvmod\t_\t_\n\n"
    bank = Treebank.from_string(row)
    measured = SIGNALS["rules"].measure(FlatWords(bank), no_evidence(bank))
    assert measured.kinds["tree_rule"] == ["", "rel-upos-advmod"]
    assert measured.kinds["word_rule"] == ["", ""]


def test_unknown_values_rank_as_the_average_word() -> None:
    values = np.array([3.0, np.nan, 1.0, 2.0])
    reference = np.array([True, True, True, False])
    ranks = log_ranks(values, reference)
    assert ranks[1] == 0
    # Words outside the reference are ranked, but no other word's rank depends on them.
    assert ranks[3] == pytest.approx(-np.log(1 / 2) - 1)
    assert ranks[[0, 2]] == pytest.approx(-np.log([1 / 4, 3 / 4]) - 1)


def test_ranks_within_a_kind_agree_with_counting() -> None:
    random = np.random.default_rng(8)
    values, kinds = random.normal(size=50), random.choice(["a", "b", "c"], 50).tolist()
    ranks = log_ranks_within(values, kinds)
    for word in range(50):
        same = [i for i in range(50) if kinds[i] == kinds[word]]
        below = sum(values[i] < values[word] for i in same)
        assert ranks[word] == pytest.approx(-np.log(1 - (below + 0.5) / len(same)) - 1)


def test_the_longest_nucleus_has_so_many_words() -> None:
    rows = [["{}\t{}\t_\tX\t_\t_\t{}\tdep\t_\t_\n", form] for form in "abcdef"]
    # The last two words depend on the first one in one sentence, on the fourth in the other.
    texts = [
        "".join(
            row.format(i, form, head)
            for i, ((row, form), head) in enumerate(zip(rows, heads, strict=True), 1)
        )
        for heads in ((0, 1, 2, 3, 1, 1), (0, 1, 2, 3, 4, 4))
    ]
    table = nuclei(FlatWords(Treebank.from_string("\n".join(texts) + "\n")), "form")
    assert max(map(len, table)) == SPAN == 5
    assert tuple("abcde") in table
