"""Planted faults of the graph-based parser: its trainers, its scorer, and the engine after scores. How to add
one: ``table.py``."""

from __future__ import annotations

from faults.planting import Fault

MARGIN = "graph/arc_margin.cpp"
MARGIN_TESTS = "tests/graph/test_margin_updates.py::"
TRAINER_TESTS = "tests/graph/test_trainers.py::"
ONE_TREE = (
    MARGIN_TESTS
    + "test_mira_with_one_tree_makes_the_smallest_change_that_gives_the_margin[True-True-True-True]"
)
FIVE_TREES = MARGIN_TESTS + "test_mira_with_five_trees_solves_the_quadratic_program[True-False-True-True]"
FACTORED = MARGIN_TESTS + "test_factored_mira_wants_a_margin_for_every_arc[False-True-True]"
PERCEPTRON = MARGIN_TESTS + "test_a_step_of_the_perceptron_is_gold_minus_best[False-True-True]"
PARTIAL = (
    MARGIN_TESTS
    + "test_the_perceptron_fills_unknown_heads_with_the_best_tree_around_the_known_ones[False-True-True]"
)
GRAPH_DROPOUT = (
    "tests/graph/test_word_dropout.py::test_a_word_of_frequency_f_is_dropped_with_probability_a_of_a_plus_f"
)

AUGMENTED = "options_.update == MarginUpdate::mira && costs"
RISKY = "options_.minimum_risk ? options_.risk_augmented : options_.loss_augmented"
LEAST_RISK = MARGIN_TESTS + "test_minimum_risk_is_that_of_the_weights_even_with_loss_augmentation"
ROOT_LABEL = "tests/contracts/test_root_label.py::"
VIOLATED = "cost > 0 && violation > most"

BATCHES = "learning/batched_changes.hpp"
BATCH = "tests/graph/test_batches.py::test_a_batch_changes_a_cell_by_the_sum_of_the_changes_over_the_root_of_their_number[4-mira]"
ROOT = "entries[i].value / std::sqrt(own.counts[i])"

MARGIN_FAULTS = [
    Fault("changes of a batch are added up", BATCHES, ROOT, "entries[i].value", BATCH),
    Fault("changes of a batch are averaged", BATCHES, ROOT, "entries[i].value / own.counts[i]", BATCH),
    Fault("batches of any lengths", BATCHES, "length(a) > length(b)", "a < b", BATCH),
    Fault("Hildreth changes nothing", MARGIN, "steps_[0].for_each_change([&](uint32_t place, double change) { weights_.add(place, change); });", "", ONE_TREE),
    Fault("one Hildreth pass", MARGIN, "pass < HILDRETH_PASSES", "pass < 1", FIVE_TREES),
    Fault("ten Hildreth passes", MARGIN, "pass < HILDRETH_PASSES", "pass < 10", FIVE_TREES),
    Fault("Hildreth soon content", MARGIN, "moved <= SETTLED * longest", "moved <= 0.01 * longest", FIVE_TREES),
    Fault("idle constraints never asked again", MARGIN, "settled || pass % 10 == 9", "false", FACTORED),
    Fault("Hildreth by the weights of before", MARGIN, "for (const auto& [number, value] : constraint.local) violation -= value * change_[number];", "", FIVE_TREES),
    Fault("C ignored", MARGIN, "options_.C - constraint.multiplier", "1e9", ONE_TREE),
    Fault("multipliers below nothing", MARGIN, "-constraint.multiplier", "-1e9", FIVE_TREES),
    Fault("multipliers forgotten", MARGIN, "constraint.multiplier += step;", "", FIVE_TREES),
    Fault("loss augmentation ignored", MARGIN, AUGMENTED, "false", MARGIN_TESTS + "test_loss_augmentation_chooses_the_tree_that_is_best_with_its_costs[True-True]"),
    Fault("loss augmentation of the perceptron", MARGIN, AUGMENTED, "costs", PERCEPTRON),
    Fault("a margin of nothing", MARGIN, "constraint.loss += gold_.cost(h, scores_.label_of(h, m, state), m);", "", ONE_TREE),
    Fault("k ignored", MARGIN, "options_.update == MarginUpdate::perceptron ? 1 : options_.k", "1", FIVE_TREES),
    Fault("MIRA of minimum risk takes the best tree", MARGIN, "if (options_.minimum_risk) take_marginals();", "", TRAINER_TESTS + "test_with_minimum_risk_mira_learns_from_the_tree_of_minimum_risk[True]"),
    Fault("costs before the marginals of minimum risk", MARGIN, RISKY, "options_.loss_augmented", LEAST_RISK + "[True-True-True-False]"),
    Fault("minimum risk without the costs asked for", MARGIN, RISKY, "!options_.minimum_risk && options_.loss_augmented", LEAST_RISK + "[True-True-True-True]"),
    Fault("MIRA does not step away from the tree found", MARGIN, "add_arc(constraint.difference, h, m, state, -1);", "", PERCEPTRON),
    Fault("known heads not kept in filling in", MARGIN, "gold_.heads.data()", "static_cast<int32_t*>(nullptr)", PARTIAL),
    Fault("unknown labels filled with the first", MARGIN, "(found < 0 || values[s] > values[found])", "found < 0", PARTIAL),
    Fault("gold arcs of any label", MARGIN, "gold_.agrees(scores_.label_of(h, m, s), m)", "true", PERCEPTRON),
    Fault("factored MIRA does not mind labels", MARGIN, VIOLATED, "h != target_[m] && violation > most", FACTORED),
    Fault("factored MIRA wants margins that there are", MARGIN, VIOLATED, "cost > 0 && (worst < 0 || violation > most)", FACTORED),
    Fault("steps of margin training not counted", MARGIN, "++weights_.steps;", "", TRAINER_TESTS + "test_averaged_weights_are_the_average_of_all_steps"),
    Fault("margin training without dropout", MARGIN, "options_.dropout.draw(table_, data_, sentence, epoch, keep_);", "", GRAPH_DROPOUT + "[mira]"),
]  # fmt: skip

LOSS = "graph/arc_loss_trainer.cpp"
LOSS_TESTS = "tests/graph/test_likelihood_steps.py::"
GRADIENT = "graph/arc_gradient.hpp"
SGD = LOSS_TESTS + "test_a_step_of_sgd_is_rate_times_the_gradient"
OBJECTIVE = LOSS_TESTS + "test_the_likelihood_is_that_of_all_trees_one_by_one[True-True-True-whole]"
PRIOR = LOSS_TESTS + "test_the_prior_shrinks_weights_once_a_run_for_all_its_sentences[False]"
NOISE = LOSS_TESTS + "test_the_noise_of_the_start_is_normal_and_on_features_of_gold_arcs_alone"
FLOOR = LOSS_TESTS + "test_arcs_that_hardly_matter_are_left_alone[0.2]"
BLOCKS = LOSS_TESTS + "test_the_objective_of_many_sentences_is_the_sum_of_theirs"

LOSS_FAULTS = [
    Fault("AdaGrad ignored", LOSS, "!options_.adagrad", "true", LOSS_TESTS + "test_a_step_of_adagrad_is_divided_by_the_root_of_all_squares[whole]"),
    Fault("prior ignored", LOSS, "options_.prior > 0", "false", PRIOR),
    Fault("prior of one sentence", LOSS, "static_cast<double>(count)", "1.0", PRIOR),
    Fault("averages do not know of the prior", LOSS, "weights_.add(static_cast<uint32_t>(i), (factor - 1) * weights_.weights[i]);", "weights_.weights[i] *= static_cast<float>(factor);", LOSS_TESTS + "test_the_prior_counts_for_the_averages_from_the_next_step_on"),
    Fault("rate ignored", LOSS, "-rate * value", "-value", SGD + "[True-True-True-whole]"),
    Fault("no noise at the start", LOSS, "options_.noise > 0", "false", NOISE),
    Fault("noise for the first cluster alone", LOSS, "state < states", "state < 1", NOISE),
    Fault("noise even and not normal", LOSS, "std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v)", "std::sqrt(12.0) * (v - 0.5)", NOISE),
    Fault("noise without its seed", LOSS, "hash_pair(options_.dropout.seed, place)", "hash_pair(0, place)", LOSS_TESTS + "test_the_noise_of_the_start_depends_on_the_seed"),
    Fault("floor ignored", LOSS, "std::abs(g) > options_.floor", "true", FLOOR),
    Fault("floor of the first state alone", LOSS, "own + count", "own + 1", FLOOR),
    Fault("steps by gradients not counted", LOSS, "++weights_.steps;", "", LOSS_TESTS + "test_averaged_weights_are_the_mean_over_all_steps[False-0.0]"),
    Fault("gradient training without dropout", LOSS, "options_.dropout.draw(table_, data_, s, epoch, keep_);", "", GRAPH_DROPOUT + "[log-linear]"),
    Fault("gold trees of the first block for all", LOSS, "data_.known_tree(start + i, mine.gold);", "data_.known_tree(i, mine.gold);", BLOCKS),
    Fault("gradients of the last point kept", LOSS, "gradient_[places_[i]] = 0;", "", TRAINER_TESTS + "test_l_bfgs_and_conjugate_gradient_reach_the_same_optimum[True]"),
    Fault("features that occur seldom forgotten", LOSS, "places_.push_back(static_cast<uint32_t>(place));", "if (gradient_[place] > 40) places_.push_back(static_cast<uint32_t>(place));", TRAINER_TESTS + "test_the_batch_objective_knows_the_features_that_occur_and_no_others[True]"),
    Fault("sentences left out are not counted", LOSS, "++skipped_;", "", "tests/graph/test_parser.py::test_sentences_that_no_tree_fits_are_left_out_and_told[log-linear-batch]"),
    Fault("no gradient for one side alone", GRADIENT, "totals_[role][at] += total;", "", OBJECTIVE),
    Fault("no gradient for what labels share", GRADIENT, "if (table.shared_cell()) row_[0] = total;", "", OBJECTIVE),
    Fault("no gradient for what the labels of a side share", GRADIENT, "if (table.shared_cell()) side[0] += total;", "", OBJECTIVE),
    Fault("the gradient of a side without direction", GRADIENT, "(role == HEAD_ROLE ? h : m) * 2 + direction", "(role == HEAD_ROLE ? h : m) * 2", OBJECTIVE),
]  # fmt: skip

TREE_LOSS = "inference/tree_loss.cpp"
TAUGHT_TESTS = "tests/graph/test_taught_steps.py::"
CROSS_ENTROPY = (
    TAUGHT_TESTS + "test_the_loss_is_the_cross_entropy_between_tree_distributions[True-True-True-whole]"
)
TAUGHT_CLUSTERS = CROSS_ENTROPY.replace("whole", "latent")
TAUGHT_STEP = TAUGHT_TESTS + "test_an_online_step_is_rate_times_the_gradient"
EXPECTED_COSTS = TAUGHT_TESTS + "test_softmax_margin_adds_the_costs_that_the_teacher_expects[True]"
TAUGHT_WEIGHTS = TAUGHT_TESTS + "test_the_objective_weighs_sentences_and_does_not_depend_on_threads"

RISK = "tests/inference/test_losses.py::test_the_gradient_is_that_of_finite_differences[whole-True-risk-False-True]"
TAUGHT_RISK = TAUGHT_TESTS + "test_risk_is_the_cost_that_student_and_teacher_expect[True-True-True]"

TAUGHT_FAULTS = [
    Fault("the risk moves no arcs", TREE_LOSS, "slopes_[at]", "0.0", TAUGHT_RISK),
    Fault("the risk moves no labels", TREE_LOSS, "marginals_[at] * (cost - costs_[at])", "0 * cost", RISK),
    Fault("no counts of the teacher", TREE_LOSS, "marginals_[at] * shares[s] - targets_[first + s]", "marginals_[at] * shares[s]", CROSS_ENTROPY),
    Fault("the score that the teacher expects left out", TREE_LOSS, "expected.add(-p * sum);", "", CROSS_ENTROPY),
    Fault("the teacher's labels ignored", TREE_LOSS, "scores.label_of(h, m, s) == label", "true", CROSS_ENTROPY),
    Fault("labels that cannot be are lost", TREE_LOSS, "taught.shares[at] * (arc / labelled) / kept", "taught.shares[at] / kept", TAUGHT_TESTS + "test_labels_that_an_arc_cannot_have_leave_their_share_to_its_others"),
    Fault("arcs without labels are lost", TREE_LOSS, "if (labelled == 0) give(scores.arc(h, m).start, scores.count(h, m), arc / kept);", "", TAUGHT_TESTS + "test_an_arc_that_can_have_none_of_its_labels_is_taught_without[whole]"),
    Fault("clusters all alike to the teacher", TREE_LOSS, "count == 1 ? p : p * shares[s]", "p / count", TAUGHT_CLUSTERS),
    Fault("arcs beyond reach left out", LOSS, "filtered &= table.reaches(sentence.class_of(table, h, m), h, std::abs(h - m));", "", TAUGHT_TESTS + "test_arcs_beyond_reach_are_scored_where_the_teacher_says_something_of_them[True]"),
    Fault("sentences of which nothing is said", "graph/arc_table.hpp", "!taught.empty() && !taught_tree(sentence).empty()", "!taught.empty()", TAUGHT_TESTS + "test_a_sentence_of_which_the_teacher_says_nothing_is_learned_by_its_tree"),
    Fault("costs that the teacher expects left out", TREE_LOSS, "add_costs(with_costs_, taught);", "", EXPECTED_COSTS),
    Fault("expected costs of heads alone", "inference/taught_tree.hpp", "(label >= 0 && l >= 0 && label != l)", "0", EXPECTED_COSTS),
    Fault("online training does not listen to the teacher", LOSS, "data_.is_taught(s)", "false", TAUGHT_STEP),
    Fault("online training weighs all sentences the same", LOSS, "step(data_.taught.weight(s) * rate);", "step(rate);", TAUGHT_TESTS + "test_a_step_is_as_large_as_the_sentence_weighs[False]"),
    Fault("values of sentences weigh the same", LOSS, "own.value *= data_.taught.weight(start + i);", "", TAUGHT_WEIGHTS),
    Fault("gradients of sentences weigh the same", LOSS, "by_state *= data_.taught.weight(start + i);", "", TAUGHT_TESTS + "test_the_gradient_of_a_sentence_weighs_as_much_as_its_value"),
    Fault("what the teacher says of the first block", LOSS, "data_.taught_tree(start + i)", "data_.taught_tree(i)", TAUGHT_TESTS + "test_the_objective_of_many_sentences_is_the_sum_of_theirs"),
]  # fmt: skip

DUAL = "graph/exponentiated_gradient.cpp"
DUAL_TESTS = "tests/graph/test_dual_steps.py::"
DUAL_STEP = DUAL_TESTS + "test_every_step_is_the_one_of_the_paper[True-True-True]"
TAKEN_BACK = DUAL_TESTS + "test_a_step_that_lowers_the_dual_is_taken_back_and_tried_shorter[True-True-True]"
START = DUAL_TESTS + "test_the_start_gives_gold_arcs_beta_and_others_nothing[1.0-True-True-True]"
PRIMAL = (
    DUAL_TESTS + "test_the_primal_is_that_of_the_worst_trees_and_never_below_the_dual[0.01-True-True-True]"
)

MOVES = (
    DUAL_TESTS
    + "test_moves_go_from_the_worst_part_to_the_worst_violator_as_far_as_the_dual_rises[3.0-9.0-True-False-True]"
)
LOG_LINEAR_TESTS = "tests/graph/test_log_linear_dual.py::"
LOG_LINEAR = (
    LOG_LINEAR_TESTS + "test_every_step_moves_scores_towards_those_of_the_weights[0.3-2.0-True-True-True]"
)
LOG_LINEAR_OPTIMUM = LOG_LINEAR_TESTS + "test_it_reaches_the_optimum_of_the_batch_solver[5.0-True-True-True]"
NO_TREE = DUAL_TESTS + "test_sentences_that_are_no_trees_of_the_class_are_left_out_and_counted"

DUAL_FAULTS = [
    Fault("beta ignored", DUAL, "options_.beta", "0.0", START),
    Fault("C left out of w", DUAL, "factor * values[i + k]", "factor / options_.C * values[i + k]", START),
    Fault("a dual step without costs", DUAL, "mixture.step * gains_[i]", "mixture.step * scores_.values[i]", DUAL_STEP),
    Fault("a dual step by costs alone", DUAL, "mixture.step * gains_[i]", "mixture.step * costs_[i]", DUAL_STEP),
    Fault("old marginals kept", DUAL, "mu[i] += change_[i];", "", DUAL_STEP),
    Fault("every dual step taken", DUAL, "top >= 0.5", "true", TAKEN_BACK),
    Fault("w not taken back", DUAL, "add_features(options_.C);", "", TAKEN_BACK),
    Fault("one length of step for all", DUAL, "std::min(mixture.step * std::min(top, LENGTHEN), longest_)", "mixture.step", DUAL_STEP),
    Fault("steps never shorter", DUAL, "std::max(top, SHORTEN)", "1.0", TAKEN_BACK),
    Fault("steps of any length", DUAL, "std::min(mixture.step * std::min(top, LENGTHEN), longest_)", "mixture.step * std::min(top, LENGTHEN)", DUAL_TESTS + "test_steps_grow_up_to_a_bound[True-True-True]"),
    Fault("eta without C", DUAL, "sum / (options_.C * static_cast<double>(mixtures_.size()))", "sum / static_cast<double>(mixtures_.size())", DUAL_STEP),
    Fault("a step that moves nothing is not taken", DUAL, "mixture.step = std::min(mixture.step * LENGTHEN, longest_);\n      return take_change(mixture);", "std::copy(old_theta_.begin(), old_theta_.end(), theta);\n      return;", DUAL_TESTS + "test_a_start_too_sure_of_gold_is_left_by_the_steps_alone"),
    Fault("marginals that do not add up", DUAL, "change_[likeliest_[m]] = rest_[m];", "", START),
    Fault("no violator", DUAL, "found < options_.violators", "false", MOVES),
    Fault("moves from the smooth part alone", DUAL, "tree.share > 0 && tree.gain < lowest", "false", MOVES),
    Fault("violators get everything", DUAL, "if (part < 1) add_difference(taker, giver, C * most * (1 - part));", "", MOVES),
    Fault("moves of half the way", DUAL, "curvature > slope ? slope / curvature : 1", "curvature > slope ? slope / curvature / 2 : 1", MOVES),
    Fault("violators without costs", DUAL, "given_.values = gains_;", "given_.values = scores_.values;", MOVES),
    Fault("trees are not balanced", DUAL, "move_between_trees(mixture, *giver, *taker);", "return;", MOVES),
    Fault("gains of trees without their costs", DUAL, "tree.gain = tree.cost;", "tree.gain = 0;", MOVES),
    Fault("the trees of a mixture left out of its marginals", DUAL, "for (const Part& tree : mixture.trees) add_tree(after_, tree, tree.share);", "", MOVES),
    Fault("unknown labels count as gold", DUAL, "(table_.states.labels > 0 && gold_.labels[m] < 0)", "false", DUAL_TESTS + "test_whole_trees_are_needed"),
    Fault("sentences that are no trees not counted", DUAL, "++skipped_;", "", NO_TREE),
    Fault("primal without costs", DUAL, "options_.log_linear ? surprisal() : worst_violator().gain - gold_gain()", "options_.log_linear ? surprisal() : worst_violator().gain - worst_violator().cost - gold_gain()", PRIMAL),
    Fault("primal with the whole norm", DUAL, "squared_norm() / 2 + options_.C * losses", "squared_norm() + options_.C * losses", PRIMAL),
    Fault("primal with gold arcs of any label", DUAL, "if (costs_[i] == 0) gain += gains_[i];", "gain += gains_[i];", PRIMAL),
    Fault("entropy is the log partition", DUAL, "entropy_ -= std::inner_product(after_.begin(), after_.end(), given_.values.begin(), 0.0);", "", LOG_LINEAR),
    Fault("costs in the dual of a log-linear model", DUAL, "options_.log_linear ? entropy_ : cost", "cost", LOG_LINEAR),
    Fault("log-linear steps without theta", DUAL, "gains_[i] = scores_.values[i] - theta[i];", "gains_[i] = scores_.values[i];", LOG_LINEAR),
    Fault("the entropy of a log-linear step ignored", DUAL, "curvature += 2 * mixture.step * slope;", "", LOG_LINEAR),
    Fault("half the entropy of a log-linear step", DUAL, "curvature += 2 * mixture.step * slope;", "curvature += mixture.step * slope;", LOG_LINEAR),
    Fault("log-linear steps beyond the scores of w", DUAL, "options.log_linear ? 1 : LONGEST", "LONGEST", LOG_LINEAR_TESTS + "test_a_step_ends_at_the_scores_of_the_weights_at_most"),
    Fault("violators in a log-linear dual", DUAL, "options.log_linear && options.violators != 0", "false", LOG_LINEAR_TESTS + "test_violators_have_no_place_in_a_log_linear_dual"),
    Fault("the primal of max-margin training", DUAL, "options_.log_linear ? surprisal() : worst_violator().gain - gold_gain()", "worst_violator().gain - gold_gain()", LOG_LINEAR_OPTIMUM),
    Fault("the log-linear primal without its gold trees", DUAL, "inference_.log_partition(arcs_.data(), scores_.n, options_.trees) - gold_gain()", "inference_.log_partition(arcs_.data(), scores_.n, options_.trees)", LOG_LINEAR_OPTIMUM),
    Fault("dual with the whole norm", DUAL, "sum - squared_norm() / 2", "sum - squared_norm()", DUAL_STEP),
]  # fmt: skip

PARSE, SCORER, TABLE = "graph/arc_parse.cpp", "graph/arc_scorer.cpp", "graph/arc_table.cpp"
FILTER_TESTS = "tests/graph/test_arc_filter.py::"
UNSEEN = FILTER_TESTS + "test_arcs_and_labels_never_seen_have_the_scores_that_make_them_improbable[4.0-1]"
NO_ZERO = FILTER_TESTS + "test_no_tree_of_the_class_has_the_probability_0[True-True]"
ENOUGH = FILTER_TESTS + "test_a_class_is_cut_only_where_enough_longer_arcs_were_there_to_choose_from"
FREQUENT = FILTER_TESTS + "test_what_is_not_seen_is_as_frequent_as_what_was_seen_once"
ONE_ARC = FILTER_TESTS + "test_an_arc_of_a_class_never_seen_has_the_mass_of_one_arc"
CLASSES = FILTER_TESTS + "test_a_class_of_arcs_has_the_labels_and_lengths_seen_with_it[True]"
SUM = TRAINER_TESTS + "test_a_score_is_the_sum_of_the_weights_of_its_features"
KEPT = "tests/contracts/test_scorers.py::test_kept_heads_stay[graph]"
DECODER_TESTS = "tests/graph/test_decoders.py::"
K_BEST = DECODER_TESTS + "test_k_best_are_the_best_trees_each_with_its_best_labels[True-True-True]"
AGREEMENT = "tests/contracts/test_agreement.py::"
ASKED = AGREEMENT + "test_what_is_asked_of_a_tree_are_the_marginals_of_its_arcs[latent]"
PROBABILITIES = AGREEMENT + "test_probabilities_are_the_marginals_of_the_distribution[latent-False-True]"

PARSE_FAULTS = [
    Fault("labels never seen left out", PARSE, "parser.score(true)", "parser.score(false)", NO_ZERO),
    Fault("labels never seen have no share of heads", "inference/tree_decoder.hpp", "probabilities || decoder == Decoder::minimum_risk || decoder == Decoder::minimum_labelled_risk", "decoder == Decoder::minimum_risk || decoder == Decoder::minimum_labelled_risk", AGREEMENT + "test_probabilities_are_the_marginals_of_the_distribution[latent-True-True]"),
    Fault("kept heads ignored", PARSE, "required_.empty() ? nullptr : required_.data()", "nullptr", KEPT),
    Fault("kept heads of the first sentence", PARSE, "required + data.first(sentence)", "required", KEPT),
    Fault("one of the k best", PARSE, "own[s].keep(parser.decoder(settings), k, settings.probabilities)", "own[s].keep(parser.decoder(settings), 1, settings.probabilities)", K_BEST),
    Fault("trees asked for ignored", PARSE, "result.keep(decoder(settings), number, first_word, settings.probabilities, asked)", "result.keep(decoder(settings), number, first_word, settings.probabilities, AskedTrees{})", ASKED),
    Fault("filter ignored", SCORER, "mask.filtered && !table.reaches(arc_class, h, std::abs(h - m))", "false", UNSEEN),
    Fault("unseen arcs do not share", SCORER, "mask.unseen->one_arc_of(beyond_count[m])", "mask.unseen->arc", UNSEEN),
    Fault("unseen arcs without the temperature", SCORER, "std::max(heads_temperature, 1.0) * std::log(table.unseen)", "std::log(table.unseen)", UNSEEN),
    Fault("unseen labels do not share", SCORER, "std::clamp<double>(table.novelty[c], LEAST, MOST) / others", "std::clamp<double>(table.novelty[c], LEAST, MOST)", UNSEEN),
    Fault("labels of arcs never seen not lowered", SCORER, "if (s / clusters != best_label) values[s] += by;", "", ONE_ARC),
    Fault("any few arcs are enough to cut", TABLE, "farther[c] < enough", "false", ENOUGH),
    Fault("candidates of unknown heads", TABLE, "if (heads[m - 1] < 0) continue;", "", ENOUGH),
    Fault("what several were as long as counts as seen once", TABLE, "alone += longest[c] == 1;", "alone += longest[c] >= 1;", FREQUENT),
    Fault("new labels are as frequent as kinds", TABLE, "kinds == 0 ? 1 : kinds / (seen + kinds)", "kinds == 0 ? 1 : kinds / seen", FREQUENT),
    Fault("the last of an odd number of features lost", SCORER, "if (i < pairs.size()) even += at(head[pairs[i]] ^ modifier[pairs[i]] ^ salt);", "", SUM + "[1.0-True-1]"),
    Fault("scores without what stands between", SCORER, "arc += cells.at(hash);", "", SUM + "[1.0-True-1]"),
    Fault("scores without the modifier's side", SCORER, "side_cells[HEAD_ROLE][h * 2 + direction] + side_cells[MODIFIER_ROLE][m * 2 + direction]", "side_cells[HEAD_ROLE][h * 2 + direction]", SUM + "[1.0-True-1]"),
    Fault("occupied by the first cell alone", SCORER, "cells + 8", "cells + 1", SUM + "[0.03-True-1]"),
    Fault("occupied bits beside their rows", SCORER, "bits[group / 64] |= uint64_t{1} << group % 64;", "bits[group / 64] |= uint64_t{1} << (group + 1) % 64;", SUM + "[0.03-True-1]"),
    Fault("occupied bits beside their cells", SCORER, "bits[cell / 64] |= uint64_t{1} << cell % 64;", "bits[cell / 64] |= uint64_t{1} << (cell + 1) % 64;", SUM + "[0.03-True-1]"),
    Fault("zeros read from a cell that is none", SCORER, "std::find(weights, weights + table.row_start(), 0.0f)", "std::find_if(weights, weights + table.row_start(), [](float w) { return w != 0; })", SUM + "[0.03-True-1]"),
    Fault("the blocks of a row after the eighth added to the first", SCORER, "sum + 8 * first", "sum", TRAINER_TESTS + "test_a_score_of_many_labels_is_the_sum_of_its_weights_too"),
    Fault("labels of arcs not seen", TABLE, "++seen[arc_class].counts[label];", "", CLASSES),
    Fault("a class never seen has all labels", TABLE, "++of_modifier[modifier_of(arc_class)].counts[label];", "", CLASSES),
    Fault("labels of arcs whatever the rule of the root", "graph/arc_table.hpp", "root_label < 0 || (label == root_label) == is_root_class(arc_class)", "true", ROOT_LABEL + "test_trees_keep_the_rule[graph-eg]"),
    Fault("the shortest reach", TABLE, "std::max(reach[arc_class], length)", "length", CLASSES),
    Fault("collisions not counted", TABLE, "wide.arc_bits = wide.row_bits = 28;", "", TRAINER_TESTS + "test_collisions_are_counted"),
]  # fmt: skip

DECODER, BATCH = "inference/tree_decoder.cpp", "inference/score_batch.cpp"
WEIGHTS = "inference/arc_weights.hpp"
SMOOTHING = "tests/inference/test_smoothing.py::"
SMOOTHED = SMOOTHING + "test_probabilities_are_those_of_the_definition[False-True]"
CONDITIONAL = SMOOTHING + "test_under_constraints_it_is_conditional[array-False-True]"
REMEMBERED = SMOOTHING + "test_scores_remember_what_constraints_took_away"
MAP = DECODER_TESTS + "test_map_is_the_best_labelled_tree_with_its_clusters_summed_out[True-False-True]"
MAX_Z = DECODER_TESTS + "test_max_z_is_the_best_tree_with_its_best_clusters[True-False-True]"
CONFIDENCE = DECODER_TESTS + "test_confidences_are_those_of_all_trees_one_by_one[True-False-True]"
DISTRIBUTION = "tests/inference/test_distribution.py::"
TEMPERATURES = DISTRIBUTION + "test_temperatures_change_probabilities_as_they_are_defined[False-True]"

ALTERNATIVES = "tests/contracts/test_alternatives.py::"

DECODER_FAULTS = [
    Fault("max-z ignored", DECODER, "Z == 1 || settings_.decoder == Decoder::max_z", "Z == 1", MAX_Z),
    Fault("max-z ignored for labels", DECODER, "if (settings_.decoder == Decoder::max_z)\n    return scores_->label_of(h, m, static_cast<int>(std::max_element(values, values + count) - values));", "", MAX_Z),
    Fault("clusters maximised, not summed", DECODER, "log_sum(values, Z, scale) / scale", "*std::max_element(values, values + Z)", MAP),
    Fault("label temperature ignored", DECODER, "1 / settings_.temperatures.labels", "1 / settings_.temperatures.heads", PROBABILITIES),
    Fault("head temperature ignored", WEIGHTS, "arcs_by_sum(scores, 1 / temperatures.heads, arcs);", "arcs_by_sum(scores, 1.0, arcs);", CONFIDENCE),
    Fault("smoothing ignored", WEIGHTS, "temperatures.smoothing == 0", "true", SMOOTHED),
    Fault("smoothing whatever the length", WEIGHTS, "std::log(temperatures.smoothing / n)", "std::log(temperatures.smoothing)", SMOOTHED),
    Fault("smoothing by the weight of the arc itself", WEIGHTS, "highest[m] + share", "weight + share", SMOOTHED),
    Fault("smoothing by what constraints left", WEIGHTS, "!highest", "true", CONDITIONAL),
    Fault("constraints forget what they took away", BATCH, "highest.empty() ? highest_ : std::move(highest)", "highest_", REMEMBERED),
    Fault("minimum risk is the best tree", DECODER, "find_marginals() && decode_marginals(false)", "has_tree()", DECODER_TESTS + "test_mbr_is_the_tree_with_the_most_expected_right_heads[1-True-False-True]"),
    Fault("minimum labelled risk counts heads only", DECODER, "decode_marginals(true)", "decode_marginals(false)", AGREEMENT + "test_the_two_minimum_risks_differ_where_they_should"),
    Fault("greedy is the best tree", DECODER, "return best_heads();", "return has_tree();", DECODER_TESTS + "test_greedy_is_the_best_head_of_each_word[1-True]"),
    Fault("probability of a tree without Z", DECODER, "score - log_partition_", "score", CONFIDENCE),
    Fault("probability of a label without its head", DECODER, "head * decoder.label_given_arc(h, m, labels[word])", "decoder.label_given_arc(h, m, labels[word])", PROBABILITIES),
    Fault("entropy without scores", DECODER, "std::max(highest.plus(log_partition_) + lost, 0.0)", "log_partition_", PROBABILITIES),
    Fault("what is asked is what is found", DECODER, "decoder.marginal(asked_head, m)", "head", ASKED),
    Fault("the label asked for ignored", DECODER, "decoder.label_given_arc(asked_head, m, asked_label)", "decoder.label_given_arc(asked_head, m, decoder.best_label(asked_head, m))", ASKED),
    Fault("greedy heads are always a tree", DECODER, "settings_.decoder == Decoder::greedy && !is_tree(heads, n(), settings_.trees)", "false", ALTERNATIVES + "test_greedy_heads_that_are_no_tree_of_the_class_have_no_probability[heads0-False-False-False]"),
    Fault("greedy heads may cross", "inference/tree_inference.hpp", "if (heads[between] < low || heads[between] > high) return false;", "", ALTERNATIVES + "test_greedy_heads_that_are_no_tree_of_the_class_have_no_probability[heads3-True-True-False]"),
    Fault("k best are all certain", DECODER, "log_probability.push_back(decoder.log_probability(tree));", "log_probability.push_back(0.0);", ALTERNATIVES + "test_k_best_trees_have_rank_and_probability[scorer-function]"),
    Fault("k best: labels without their heads", DECODER, "decoder.marginal(h, m) * decoder.label_given_arc(h, m, label)", "decoder.label_given_arc(h, m, label)", ALTERNATIVES + "test_k_best_trees_have_rank_and_probability[scorer-function-labelled]"),
    Fault("labels of the first of the k best", DECODER, "labels.push_back(label);", "labels.push_back(0);", K_BEST),
]  # fmt: skip

SCORES = "inference/arc_scores.hpp"
LOSSES = "tests/inference/test_losses.py::"
VALUE = LOSSES + "test_the_value_is_that_of_enumeration"
SLOPE = LOSSES + "test_the_gradient_is_that_of_finite_differences"
KNOWN = "known_marginals_[at] * known_shares[s]"
CONSTRAINED = (
    "tests/inference/test_scores.py::test_constrained_scores_are_without_what_is_ruled_out[given3-True]"
)

ENGINE_FAULTS = [
    Fault("costs left out of the hinge", TREE_LOSS, "add_costs(with_costs_, gold);", "", VALUE + "[whole-True-hinge-True-True]"),
    Fault("known heads ignored", TREE_LOSS, "if (!gold.agrees_with_head(h, m)) return;", "", VALUE + "[partial-True-likelihood-True-True]"),
    Fault("known labels ignored", TREE_LOSS, "return gold.agrees(scores.states->label_of(set, s), m);", "return true;", VALUE + "[whole-True-likelihood-True-True]"),
    Fault("known marginals without their probability", TREE_LOSS, KNOWN, "known_shares[s]", SLOPE + "[partial-True-likelihood-False-True]"),
    Fault("known marginals of labels that do not agree", TREE_LOSS, "is_known && agrees(s)", "is_known", SLOPE + "[whole-True-likelihood-True-True]"),
    Fault("hinge: known labels ignored", TREE_LOSS, "gold.labels.data()", "nullptr", VALUE + "[whole-True-hinge-True-True]"),
    Fault("hinge: no step towards gold", TREE_LOSS, "add_best_tree(known_, trees, -1, ahead)", "add_best_tree(known_, trees, 0, ahead)", VALUE + "[whole-True-hinge-True-True]"),
    Fault("a whole tree of any class", TREE_LOSS, "is_tree(gold.heads.data(), n, trees) ? log_z : MINUS_INFINITY", "log_z", LOSSES + "test_a_whole_tree_of_another_class_agrees_with_none[crossing-likelihood]"),
    Fault("labels cost nothing", "inference/known_tree.hpp", "(label >= 0 && labels[m] >= 0 && label != labels[m])", "false", VALUE + "[whole-True-hinge-True-True]"),
    Fault("the best state is the first", SCORES, "static_cast<int32_t>(top - values)", "0", SLOPE + "[whole-True-hinge-True-True]"),
    Fault("sums at temperature 1", SCORES, "if (s < count) total += exp_of_nonpositive(scale * (load_some(values + s, count - s) - top));", "if (s < count) total += exp_of_nonpositive(load_some(values + s, count - s) - top);", PROBABILITIES),
    Fault("sums without their blocks of four", SCORES, "total += exp_of_nonpositive(scale * (four - top));", "", CONFIDENCE),
    Fault("required heads ignored", SCORES, "!(constraints.heads && constraints.heads[m] >= 0 && constraints.heads[m] != h)", "true", CONSTRAINED),
    Fault("forbidden arcs ignored", SCORES, "!(constraints.forbidden && constraints.forbidden[at])", "true", CONSTRAINED),
    Fault("kept labels ignored", SCORES, "possible && constraints.labels && constraints.labels[m] >= 0", "false", CONSTRAINED),
    Fault("gold labels of the first sentence", BATCH, "mine.gold.set(heads + words[s], labels + words[s], sentence.n);", "mine.gold.set(heads + words[s], labels, sentence.n);", LOSSES + "test_a_batch_is_the_sentences_one_by_one_at_any_number_of_threads[likelihood]"),
    Fault("constraints of the first sentence", BATCH, "forbidden + arcs[s]", "forbidden", CONSTRAINED),
    Fault("sums of clusters as maxima", BATCH, "temperature * log_sum(values, clusters, 1 / temperature)", "*std::max_element(values, values + clusters)", SUM + "[1.0-True-3]"),
    Fault("gradient of the last cluster alone", BATCH, "out[std::max(sentence.states->label_of(set, state), 0) * sentence.arcs.size() + h * (sentence.n + 1) +\n            m] += by_state[state];", "out[std::max(sentence.states->label_of(set, state), 0) * sentence.arcs.size() + h * (sentence.n + 1) + m] = by_state[state];", AGREEMENT + "test_the_slope_of_the_likelihood_is_marginals_less_gold"),
    Fault("label marginals at temperature 1", BATCH, "shares(scores, scale)", "shares(scores, 1.0)", TEMPERATURES),
    Fault("weights of labels without labels", BATCH, "arc + (scale * scores[s / Z] - labels)", "arc", TEMPERATURES),
]  # fmt: skip

PAIRS = "features/arc_templates.hpp"
PAIR_TESTS = "tests/graph/test_paper_features.py::"
EACH_PAIR = (
    PAIR_TESTS + "test_each_pair_of_a_value_of_the_head_and_one_of_the_modifier_is_a_feature[feats-False]"
)

PAIR_FAULTS = [
    Fault("values of the head alone", PAIRS, "visit(v.head[a] ^ v.modifier[b]);", "visit(v.head[a]);", EACH_PAIR),
    Fault("a head's value is a modifier's value", "features/arc_templates.cpp", "hash_pair(0x30D1, lists[l].values[at])", "hash_pair(0x4EAD, lists[l].values[at])", EACH_PAIR),
    Fault("the values of the sentence before", "features/arc_templates.cpp", "into.head.clear();", "", PAIR_TESTS + "test_scores_are_sums_over_pairs[feats-False]"),
    Fault("lists of MISC split like FEATS", "features/token_atoms.cpp", "field.find(feats ? '|' : ',')", "field.find('|')", EACH_PAIR.replace("feats", "misc.Soft")),
]  # fmt: skip

GRAPH_FAULTS = [
    *MARGIN_FAULTS,
    *LOSS_FAULTS,
    *TAUGHT_FAULTS,
    *DUAL_FAULTS,
    *PARSE_FAULTS,
    *DECODER_FAULTS,
    *PAIR_FAULTS,
    *ENGINE_FAULTS,
]
