"""Planted faults: each changes one place of error mining, and the named test must then fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest

from faults.python_faults import planted
from mining import (
    test_benchmark,
    test_combiner,
    test_conditionals,
    test_error_model,
    test_folds,
    test_labeller,
    test_precedents,
    test_similar_words,
    test_statistics,
)


@dataclass(frozen=True)
class Fault:
    """In a function of a module ``old`` is replaced by ``new``; the test must then fail."""

    module: str
    function: str
    old: str
    new: str
    test: Callable[[], object]


def mining(name: str, old: str, new: str, test: Callable[[], object]) -> Fault:
    """A fault in ``arcwise.mining``."""
    module, function = name.split(".", 1)
    return Fault(f"arcwise.mining.{module}", function, old, new, test)


def figures(name: str, old: str, new: str, test: Callable[[], object]) -> Fault:
    """A fault in the benchmark."""
    module, function = name.split(".", 1)
    return Fault(f"benchmarks.{module}", function, old, new, test)


RATIOS = test_error_model.test_ratios_compare_the_rate_of_a_kind_with_that_of_all_words
RATES = test_error_model.test_rates_are_means_over_treebanks_and_shrink_where_few_have_the_kind
RULES = test_error_model.test_rates_of_rules_are_weighted_means_of_log_odds
OTHERS = test_error_model.test_a_treebank_is_described_by_the_rates_of_the_others_in_training
COLUMNS = test_error_model.test_columns_are_ranks_ranks_within_kinds_and_rates
MONOTONE = partial(test_error_model.test_trees_rise_everywhere_although_other_features_interact, 0)
WEIGHTS = test_error_model.test_the_weight_of_a_treebank_does_not_depend_on_its_size
HISTORY = test_error_model.test_a_history_tells_sweeps_and_new_labels_under_the_same_head
TWO_MODELS = test_combiner.test_a_model_of_planted_errors_adds_what_revisions_do_not_show
PLANTING = test_benchmark.test_planted_errors_change_only_their_words_and_keep_trees
BOOTSTRAP = test_benchmark.test_the_bootstrap_resamples_whole_sentences
AVERAGE = test_benchmark.test_average_precision_is_the_mean_precision_at_each_error
CALIBRATION = test_benchmark.test_calibration_error_compares_probabilities_with_frequencies
HEADS = partial(test_conditionals.test_possible_heads_are_those_of_the_trees_that_agree_elsewhere, True)
GAPS = partial(test_conditionals.test_gaps_compare_the_best_trees_with_and_without_an_arc, True, True)
PARADIGM = test_statistics.test_a_form_that_differs_from_the_usual_one_of_its_paradigm_cell_is_an_outlier
SIMILAR = test_similar_words.test_a_sibling_is_looked_for_on_the_side_of_the_proposed_head
NUCLEI = test_statistics.test_the_longest_nucleus_has_so_many_words
HELD_OUT = test_statistics.test_held_out_probability_agrees_with_counting_the_other_words


def duplicates() -> None:
    """The test of cross-fitting, with a monkeypatch of its own."""
    with pytest.MonkeyPatch.context() as patch:
        test_folds.test_no_parser_is_trained_on_the_sentence_that_it_judges_or_on_a_copy(patch)


QUESTIONS = test_combiner.test_questions_are_spread_over_kinds_until_these_run_out
PRECEDENTS = test_precedents.test_kinds_revised_more_often_than_others_are_precedents

FAULTS = {
    "rates without a prior": mining("error_model._ratios", "(count + _PRIOR)", "count", RATIOS),
    "rates not relative to the base": mining("error_model._ratios", ") / base)", "))", RATIOS),
    "words that were not compared": mining(
        "error_model._counts", "np.flatnonzero(history.compared)", "np.arange(len(history.compared))", RATIOS
    ),
    "no shrinkage of rates": mining("error_model._rates", "(len(values) + 1)", "len(values)", RATES),
    "a treebank knows its own rates": mining("error_model._rates_of_others", "if other != name", "", OTHERS),
    "punctuation in the ranks": mining(
        "error_model._matrix", "features.is_word if features.is_word.any() else", "", COLUMNS
    ),
    "unknown kinds are suspicious": mining(
        "error_model._rate_column", "table.get(_UNSEEN_RULE, 0.0)", "table.get(_UNSEEN_RULE, 1.0)", COLUMNS
    ),
    "rare rules weigh as much": mining(
        "error_model._rule_rates", "count / (count + _RULE_WORDS)", "1.0", RULES
    ),
    "rules are not drawn to the average": mining(
        "error_model._rule_rates", "_ALL_RULES * average + ", "", RULES
    ),
    "rules speak for the annotation": mining("error_model._rule_rates", "max(mean, 0.0)", "mean", RULES),
    "rules are ignored": mining(
        "error_model.ErrorModel.log_odds", "if _ADDED in self.rates", "if not self.rates",
        test_error_model.test_the_rates_of_rules_about_trees_are_added_to_the_log_odds,
    ),
    "severity is read": mining(
        "error_model.ErrorModel.train", "if not name.startswith(_REPLACED)", "",
        test_error_model.test_the_severity_of_rules_is_not_read,
    ),
    "outliers count for calibration": mining(
        "combiner._shift_to_rate", "np.median(means)", "np.mean(means)",
        test_combiner.test_the_mean_probability_is_that_of_a_usual_treebank,
    ),
    "length counts as evidence": mining(
        "error_model._is_evidence", "not name.startswith(_CONTEXT)", "True",
        test_error_model.test_only_signals_and_rates_are_evidence,
    ),
    "the regression alone": mining(
        "error_model.ErrorModel.log_odds", "+ self.trees.predict(values)", "+ self.regression.predict(values)",
        test_error_model.test_the_log_odds_are_the_mean_of_both_models,
    ),
    "the other columns rise": mining(
        "boosting._GrownTree._split", "if rising[feature]", "if not rising[feature]", MONOTONE
    ),
    "leaves are not bounded": mining("boosting._GrownTree.grown", "np.clip(leaves, low, high)", "leaves", MONOTONE),
    "bounds are not passed on": mining(
        "boosting._GrownTree.grown", "np.where(np.isfinite(middle), middle, high)", "high", MONOTONE
    ),
    "left and right exchanged": mining(
        "boosting.BoostedTrees.predict", "> bins[node]", "<= bins[node]",
        test_combiner.test_prediction_agrees_with_walking_each_tree,
    ),
    "large treebanks weigh more": mining("history.RevisionHistory.weights", "/ count", "/ 100", WEIGHTS),
    "sweeps weigh as much": mining("history.RevisionHistory.weights", "SWEPT, 1.0", "1.0, 1.0", WEIGHTS),
    "single corrections as sweeps": mining(
        "history.RevisionHistory.of", "& ~revisions.scattered", "", HISTORY
    ),
    "new labels of moved words": mining("history.RevisionHistory.of", "& ~revisions.moved", "", HISTORY),
    "planted errors ignored": mining("combiner.Combiner.log_odds", "self.planted is not None", "False", TWO_MODELS),
    "probabilities added": mining(
        "combiner.either", "np.logaddexp(np.logaddexp(a, b), a + b)", "np.logaddexp(a, b)",
        test_combiner.test_either_is_the_probability_of_a_union,
    ),
    "NaN is the lowest rank": mining(
        "ranks.log_ranks", "ranks = np.zeros(len(values))", "ranks = np.full(len(values), -1.0)",
        test_statistics.test_unknown_values_rank_as_the_average_word,
    ),
    "half of equal values": mining(
        "ranks.log_ranks", '"right")) / 2', '"left")) / 2', test_combiner.test_ranks_do_not_depend_on_the_scale_of_a_signal
    ),
    "cycles are possible heads": mining(
        "conditionals.possible_heads", "above = int(heads[above - 1])", "above = 0", HEADS
    ),
    "two roots": mining("conditionals.possible_heads", "possible[0] = heads == 0", "pass", HEADS),
    "gaps have no sign": mining("conditionals.best_tree_gaps", "np.where(stands, 1, -1)", "1", GAPS),
    "another label is no other arc": mining(
        "conditionals.best_tree_gaps", "rivals[number, head, word] = without_arc[number]",
        "rivals[number, head, word] = -np.inf", GAPS,
    ),
    "paradigms without features": mining("lexicon.lexicon", 'and feats != "_"', "", PARADIGM),
    "the proposed head may be any sibling": mining(
        "similar_words._path", "; @word {side} @new", "", SIMILAR,
    ),
    "nuclei one word too long": mining("variation.spans", "a + SPAN", "a + SPAN + 1", NUCLEI),
    "nuclei one word too short": mining("variation.spans", "a + SPAN", "a + SPAN - 1", NUCLEI),
    "a word counts itself": mining("frames.held_out_probability", "np.bincount(both)[both] - 1", "np.bincount(both)[both]", HELD_OUT),
    "duplicates in different folds": mining(
        "folds.document_folds", "duplicate_groups(treebank)", "np.arange(len(treebank))",
        duplicates,
    ),
    "a label reads itself": mining(
        "labeller._columns", "if c != word", "", test_labeller.test_no_feature_of_a_word_reads_its_own_label
    ),
    "all of a kind is asked": mining("adaptation.Adaptation.questions", "of[kind] >= most", "of[kind] >= 99", QUESTIONS),
    "precedents carry over in full": mining(
        "precedents.Precedents.log_odds", "_CARRIED_OVER * ", "", PRECEDENTS
    ),
    "the same label planted": figures(
        "planted_errors.with_planted_errors", "if universal(label) != universal(labels[word])", "", PLANTING
    ),
    "words drawn one by one": figures(
        "mining_figures.bootstrap_difference", "np.unique(sentence, return_inverse=True)",
        "np.unique(np.arange(len(sentence)), return_inverse=True)", BOOTSTRAP,
    ),
    "precision of all ranks": figures("mining_figures.average_precision", "precision[ranked].mean()", "precision.mean()", AVERAGE),
    "bins of the wrong width": figures("mining_figures.calibration_error", "(10 * p)", "(2 * p)", CALIBRATION),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_planted_fault_is_caught(fault: Fault) -> None:
    with (
        planted(fault.module, fault.function, fault.old, fault.new),
        pytest.raises((AssertionError, ArithmeticError, ValueError, IndexError)),
    ):
        fault.test()
