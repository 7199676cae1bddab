"""The table of planted faults. Each changes one place of a native trainer, and the named test must then fail.

To add one: append a ``Fault`` to the list of its trainer (or start a new list, and add it to ``FAULTS``;
those of the graph-based parser are in ``graph_table.py``):

- ``name``: what goes wrong, in words; it is the id of the test (``pytest tests/faults -k "NAME"`` runs that
one alone).
- ``file``: under native/kernels.
- ``original``: text that stands once in the file, as it is there, line breaks too. Either an expression, or
statements that end with
  ``;`` or ``}``; not a declaration that later lines use (take the expression on its right side), nor anything
  the compiler must know (``constexpr``, array sizes); its brackets are balanced. Several faults may have the
  same original; otherwise originals must not overlap.
- ``faulty``: what stands there instead, an expression of a type that fits, or statements; ``""`` leaves
statements out.
- ``caught_by``: the pytest id of the test that must fail, with its parameters if it has any. It should take
less than a second, and must
  fail by an assertion.

The first run compiles the native module at -O1 (a minute on two cores); later runs only files that changed.
"""

from __future__ import annotations

from faults.graph_table import GRAPH_FAULTS
from faults.planting import Fault

TRAINER = "transition/transition_trainer.cpp"
TRANSITION_TESTS = "tests/transition/test_trainer.py::"
EARLY = TRANSITION_TESTS + "test_early_updates_are_where_no_correct_item_is_left[1-arc-standard]"
MAX_VIOLATION = (
    TRANSITION_TESTS + "test_max_violation_updates_are_where_the_beam_is_most_wrong[1-arc-standard]"
)
LOCAL = TRANSITION_TESTS + "test_local_perceptron_steps_are_those_of_the_twin"
EXPLORING = (
    TRANSITION_TESTS + "test_exploring_always_follows_the_parser_with_the_dynamic_oracle[0.0-arc-eager]"
)
PASSIVE_AGGRESSIVE = TRANSITION_TESTS + "test_one_passive_aggressive_step_by_hand[100.0]"
BEAM_PASSIVE_AGGRESSIVE = TRANSITION_TESTS + "test_passive_aggressive_steps_of_a_beam[10.0-max-violation]"
DROPOUT = TRANSITION_TESTS + "test_the_share_of_words_taken_for_unknown[0.5]"
FOLLOWED = TRANSITION_TESTS + "test_the_share_of_wrong_moves_that_are_followed[0.25]"
WARM = TRANSITION_TESTS + "test_a_beam_begins_with_local_epochs_and_then_averages_anew"

WORD_DROPOUT, DROPPED = "learning/word_dropout.hpp", "uniform < rate / (rate + frequency)"
FOLLOW = "explore && !is_correct(best->move) && random_.uniform() < options_.explore"
STEP = "std::min(options_.step_bound, violation / std::max(squared_norm(difference_), 1.0))"
BEAM_STEP = "update(start, good, bad, violation + 1, weight_);"
GOLD_BEAM = "std::min(GOLD_BEAM, options_.beam)"
LATER = "good.empty() || found > violation"

TRANSITION_FAULTS = [
    Fault("word dropout ignored", WORD_DROPOUT, DROPPED, "false", DROPOUT),
    Fault("word dropout by a alone", WORD_DROPOUT, DROPPED, "uniform < rate / (rate + 1)", DROPOUT),
    Fault("exploration ignored", TRAINER, FOLLOW, "false", EXPLORING),
    Fault("every wrong move followed", TRAINER, FOLLOW, "explore && !is_correct(best->move)", FOLLOWED),
    Fault("exploration from the first epoch", TRAINER, "explore && may_explore_", "options_.explore > 0 && may_explore_", TRANSITION_TESTS + "test_exploration_begins_after_the_first_epoch"),
    Fault("exploration without an oracle", TRAINER, "(scorer.system.bottom_up() && !scorer.system.many_heads && scorer.system.capacity > 2)", "true", TRANSITION_TESTS + "test_where_there_is_no_dynamic_oracle_nothing_is_explored"),
    Fault("early update ignored", TRAINER, "if (lost && options_.rule == UpdateRule::early) break;", "", EARLY),
    Fault("early update before gold is lost", TRAINER, "!top.correct && (lost || options_.rule == UpdateRule::max_violation || at_end)", "!top.correct", EARLY),
    Fault("max-violation at the first violation", TRAINER, LATER, "good.empty()", MAX_VIOLATION),
    Fault("max-violation at the last violation", TRAINER, LATER, "true", MAX_VIOLATION),
    Fault("max-violation where gold is lost", TRAINER, "!top.correct && (lost || options_.rule == UpdateRule::max_violation || at_end)", "!top.correct && (lost || at_end)", MAX_VIOLATION),
    Fault("gold beam of one", TRAINER, GOLD_BEAM, "1", TRANSITION_TESTS + "test_the_gold_side_is_the_best_of_many_correct_derivations"),
    Fault("passive-aggressive step constant", TRAINER, STEP, "options_.step_bound", PASSIVE_AGGRESSIVE),
    Fault("passive-aggressive step unbounded", TRAINER, STEP, "violation / std::max(squared_norm(difference_), 1.0)", TRANSITION_TESTS + "test_one_passive_aggressive_step_by_hand[0.03]"),
    Fault("no margin", TRAINER, "options_.step_bound > 0 ? 1 : 0", "0", PASSIVE_AGGRESSIVE),
    Fault("a beam's violation without its margin", TRAINER, BEAM_STEP, "update(start, good, bad, violation, weight_);", BEAM_PASSIVE_AGGRESSIVE),
    Fault("a beam's step counted before its update", TRAINER, BEAM_STEP, "next_step(); update(start, good, bad, violation + 1, weight_);", TRANSITION_TESTS + "test_averages_of_a_beam_have_the_last_update_too"),
    Fault("correct prefixes that the beam has long lost", TRAINER, "gold_beam_.follow_correct(beam_);", "", TRANSITION_TESTS + "test_every_update_of_a_beam_is_valid[arc-standard-early]"),
    Fault("shared weights twice in the norm", TRAINER, STEP, "std::min(options_.step_bound, violation / std::max(static_cast<double>(difference_.size()), 1.0))", PASSIVE_AGGRESSIVE),
    Fault("norm of the gold side alone", TRAINER, "walk(bad, count(-1));", "", PASSIVE_AGGRESSIVE),
    Fault("no step away from the wrong side", TRAINER, "walk(bad, change(static_cast<float>(-weight * step)));", "", TRANSITION_TESTS + "test_one_perceptron_step_by_hand"),
    Fault("scores from before the update", TRAINER, "if (updates_ != before) move_scorer_.forget();", "", LOCAL + "[bounded(K=3)]"),
    Fault("averages over one step too many", TRAINER, "static_cast<float>(1 / move_weights_.steps)", "static_cast<float>(1 / (move_weights_.steps + 1))", LOCAL + "[arc-standard]"),
    Fault("averages of labels left out", TRAINER, "label_weights_.average(labels, mean);", "label_weights_.average(labels, [](float) { return 0.0f; });", LOCAL + "[arc-standard]"),
    Fault("averages of the warm epochs kept", TRAINER, "was_warm_ && !warm", "false", WARM),
    Fault("no warm epochs", TRAINER, "epoch <= options_.warm_epochs", "false", WARM),
    Fault("the cost of a move ignored", TRAINER, "if (cost > least) return;", "", LOCAL + "[hybrid]"),
    Fault("wrong arcs must be labelled as gold", TRAINER, "any_label_.push_back(t.is_arc() && !is_gold);", "any_label_.push_back(0);", EXPLORING),
    Fault("labels of gold arcs do not matter", TRAINER, "(any_label_[k] || c.label == move.label)", "true", LOCAL + "[arc-eager]"),
    Fault("distance_in_labels ignored", "transition/transition_scorer.cpp", "if (conjoin_in_labels_) conjoin_distance(context, label_hashes_.data(), label_count_);", "", TRANSITION_TESTS + "test_label_templates_are_about_the_distance_of_places_if_wanted"),
    Fault("label weights not updated", "transition/transition_scorer.cpp", "of_label(scorer_.label_row(label_hashes_[k], move.transition) + move.label);", "", TRANSITION_TESTS + "test_scores_are_sums_of_weights[arc-eager]"),
]  # fmt: skip

TEACHING = "transition/transition_teaching.cpp"
TAUGHT = "tests/transition/test_taught_trainer.py::"
TAUGHT_STEPS = TAUGHT + "test_taught_steps_are_those_of_the_twin[6-0.0-arc-eager]"
TAUGHT_MARGINS = TAUGHT + "test_taught_steps_are_those_of_the_twin[6-0.5-arc-eager]"
TAUGHT_HYBRID = TAUGHT + "test_taught_steps_are_those_of_the_twin[6-0.0-hybrid]"
TAUGHT_EXPLORING = TAUGHT + "test_after_a_wrong_move_the_teacher_says_what_is_best_now[6-arc-eager]"
WEIGHED = TAUGHT + "test_a_sentence_counts_as_much_as_it_weighs[arc-eager]"
LOST_SHARE = "std::min(value_after(right.move) - value_after(wrong->move), 1.0)"

TEACHING_FAULTS = [
    Fault("what the teacher says ignored", TRAINER, "!data_.taught.empty() && decomposable_ != Decomposable::no", "false", TAUGHT_STEPS),
    Fault("what the teacher said of the first sentence", TRAINER, "data_.taught.of(data_.starts[s], data_.words(s))", "data_.taught.of(0, data_.words(s))", TAUGHT_STEPS),
    Fault("taught steps of 1", TRAINER, LOST_SHARE, "1.0", TAUGHT_STEPS),
    Fault("taught steps of any size", TRAINER, LOST_SHARE, "value_after(right.move) - value_after(wrong->move)", TAUGHT_EXPLORING.replace("6-", "1-")),
    Fault("every move as good as the best", TRAINER, "own.value < best - AS_GOOD", "false", TAUGHT_STEPS),
    Fault("labels of other arcs must be the first", TRAINER, "any_label_.push_back(is_arc(own.move) && taught_share(own.move) == 0);", "any_label_.push_back(0);", TAUGHT_STEPS.replace("6-", "1-")),
    Fault("the label of a wrong move does not matter", TRAINER, "own.value - taught_share(own.move) + taught_share(move)", "own.value", TAUGHT_MARGINS),
    Fault("sentences of a local trainer weigh the same", TRAINER, "lost * weight_", "lost", WEIGHED),
    Fault("sentences of a beam weigh the same", TRAINER, BEAM_STEP, "update(start, good, bad, violation + 1, 1);", TAUGHT + "test_a_beam_learns_from_trees_and_weighs_them[early]"),
    Fault("arcs within the stack", TEACHING, "system == Decomposable::hybrid && head == state.before(modifier)", "true", TAUGHT_STEPS),
    Fault("hybrid: no arc to the right within the stack", TEACHING, "system == Decomposable::hybrid && head == state.before(modifier)", "false", TAUGHT_HYBRID),
    Fault("every arc is within reach", TEACHING, "share > best && is_reachable(system, state, head, m)", "share > best", TAUGHT_STEPS),
    Fault("the last arc within reach, not the best", TEACHING, "share > best && is_reachable(system, state, head, m)", "is_reachable(system, state, head, m)", TAUGHT_STEPS),
    Fault("arcs that are built have any label", TEACHING, "head == state.head(m) && std::max(label, 0) == state.node(m).label", "head == state.head(m)", TAUGHT_EXPLORING),
    Fault("the first label of an arc for the best", TEACHING, "h == head && share > best.share", "h == head && best.share == 0", TAUGHT_STEPS),
]  # fmt: skip

ORACLE = "transition/transition_oracle.cpp"
LOST = "tests/transition/test_oracle.py::test_arcs_lost_are_counted_as_if_all_tokens_were_active"
GRAPHS = "tests/transition/test_graphs.py::"
BY_HEART = GRAPHS + "test_it_learns_graphs_by_heart_and_writes_deps_alone"

ORACLE_FAULTS = [
    Fault("the gold head is never lost", ORACLE, "gold_head != arc.head && !state.is_removed(gold_head)", "0", LOST + "[3-bounded]"),
    Fault("a gold head that is gone is lost again", ORACLE, "gold_head != arc.head && !state.is_removed(gold_head)", "gold_head != arc.head", LOST + "[3-bounded]"),
    Fault("children are never lost", ORACLE, "gold.head(c) == arc.modifier && state.head(c) == NO_TOKEN", "false", LOST + "[2-bounded]"),
    Fault("a SHIFT costs nothing", ORACLE, "gold.has(arc.head, arc.modifier) && lost_by(m) == 0", "false", LOST + "[3-K3D1left]"),
    Fault("a SHIFT loses arcs that cost others", ORACLE, "gold.has(arc.head, arc.modifier) && lost_by(m) == 0", "gold.has(arc.head, arc.modifier)", LOST + "[3-K3D1left]"),
    Fault("a single root costs nothing", ORACLE, "lost_to_single_root(system, AfterMove(state, move), gold)", "0", "tests/transition/test_oracle.py::test_a_word_left_on_the_stack_costs_the_root_its_arc"),
    Fault("the last word finds any head under a single root", ORACLE, "lost + state.lies_on_another(c)", "lost", "tests/transition/test_oracle.py::test_dynamic_cost_is_the_exhaustive_cost[3-arc-eager-single root]"),
    Fault("the left periphery at a fixed place", "transition/transition_state.hpp", "i == leftmost", "i == 3", "tests/transition/test_periphery.py::test_a_random_system_moves_as_the_paper_defines[0]"),
    Fault("a beam with several derivations of a state", "transition/transition_search.cpp", "if (is_new) candidates_[kept++] = c;", "candidates_[kept++] = c;", TRANSITION_TESTS + "test_a_beam_holds_every_state_once"),
    Fault("a root arc with any label", "transition/transition_scorer.cpp", "if (is_root_arc(move)) return root;", "if (is_root_arc(move)) return best_of(0, count);", "tests/contracts/test_root_label.py::test_trees_keep_the_rule[transition-with-random-weights]"),
    Fault("the label of the root on any arc of a beam", "transition/transition_scorer.cpp", "root >= 0 && (l == root) != from_root", "false", "tests/contracts/test_root_label.py::test_beams_and_k_best_lists_keep_the_rule[transition-arc-standard]"),
    Fault("a beam ignores the static oracle", TRAINER, "moves = {derivation_[made_]};", "oracle_.correct_moves(state, gold, moves);", TRANSITION_TESTS + "test_beam_updates_of_a_static_oracle_go_towards_one_derivation[arc-eager-early]"),
    Fault("graphs: the first head of a word alone", "transition/transition_oracle.hpp", "at < first_[modifier + 1]", "at < first_[modifier] + 1", BY_HEART),
    Fault("graphs: every label the first", "transition/transition_oracle.hpp", "at < 0 ? 0 : labels_[at]", "static_cast<int16_t>(0)", BY_HEART),
    Fault("graphs: the gold of the first sentence", TRAINER, "GoldArcs(data_.graphs[s], data_.words(s))", "GoldArcs(data_.graphs[0], data_.words(0))", BY_HEART),
]  # fmt: skip

LINEAR, LINEAR_HEADER, SOFTMAX = (
    "learning/sparse_linear.cpp",
    "learning/sparse_linear.hpp",
    "learning/softmax.cpp",
)
LEARNER_TESTS = "tests/text/test_learners.py::"
CHOICES = LEARNER_TESTS + "test_choices_are_learned_as_the_twin_learns_them"
BY_HAND = LEARNER_TESTS + "test_two_steps_of_adagrad_by_hand[2.0]"
SECOND_HALF = LEARNER_TESTS + "test_what_is_used_is_the_mean_over_the_second_half"
LEFT_OUT = LEARNER_TESTS + "test_the_share_of_features_left_out[0.1]"
PRUNED = LEARNER_TESTS + "test_weights_that_are_small_at_half_time_stay_zero"
KEPT = "options.dropout == 0.0f || random.uniform() >= options.dropout"

CHOICE_FAULTS = [
    Fault("AdaGrad without its squares", "learning/adagrad.hpp", "squares[place] += static_cast<float>(gradient * gradient);", "", BY_HAND),
    Fault("AdaGrad without damping", LINEAR_HEADER, "options.damping", "0.0f", BY_HAND),
    Fault("l2 ignored", LINEAR, "gradient += options_.l2 * weights_[at];", "", CHOICES + "[l2]"),
    Fault("pruning ignored", LINEAR, "std::fabs(weights_[i]) < options_.prune", "false", PRUNED),
    Fault("pruned weights come back", LINEAR, "adagrad_.squares[i] = std::numeric_limits<float>::infinity();", "", PRUNED),
    Fault("weights averaged over all epochs", LINEAR, "if (epoch < options_.epochs / 2) return;", "", SECOND_HALF),
    Fault("weights of the last epoch", LINEAR, "weights_[i] = sums_[i] / static_cast<float>(summed_);", "", SECOND_HALF),
    Fault("rare pairs have weights", LINEAR, "pairs.counts()[i] >= min_count", "true", LEARNER_TESTS + "test_pairs_seen_too_seldom_have_no_weight"),
    Fault("items not shuffled", LINEAR, "std::swap(order[i - 1], order[random.below(static_cast<uint32_t>(i))]);", "", CHOICES + "[many epochs]"),
    Fault("feature dropout ignored", SOFTMAX, KEPT, "true", LEFT_OUT),
    Fault("features kept by the share of dropout", SOFTMAX, KEPT, "options.dropout == 0.0f || random.uniform() < options.dropout", LEFT_OUT),
    Fault("gradient of the partition alone", SOFTMAX, "p - (*candidate == items.gold[item] ? 1.0f : 0.0f)", "p", BY_HAND),
    Fault("gradient of the last candidate that has an output", SOFTMAX, "gradient[*o] += g;", "gradient[*o] = g;", CHOICES + "[one epoch]"),
    Fault("candidates scored by one output", SOFTMAX, "p[i] += workspace.output_scores[*o];", "p[i] = workspace.output_scores[*o];", CHOICES + "[many epochs]"),
    Fault("small gradients left out", SOFTMAX, "std::fabs(g) < 1e-4f", "std::fabs(g) < 0.3f", CHOICES + "[many epochs]"),
]  # fmt: skip

CHAIN, CHAIN_TRAINING, DICTIONARY = "text/chain.cpp", "text/chain_training.cpp", "text/tag_dictionary.cpp"
TAGGER = "text/tagger_training.cpp"
TAGGER_TESTS = "tests/text/test_tagger_training.py::"
LOOKUP_TESTS = "tests/text/test_lookups.py::"
MARGINALS = LEARNER_TESTS + "test_the_marginals_of_a_chain_are_the_slopes_of_its_log_partition[4-0]"
LIKELIHOOD = LEARNER_TESTS + "test_the_likelihood_of_chains_is_learned_as_the_twin_learns_it"
PERCEPTRON = LEARNER_TESTS + "test_the_perceptron_learns_chains_as_its_twin_does[4-1]"

TAGGER_FAULTS = [
    Fault("log Z without the largest emissions", CHAIN, "return log_z + taken;", "return log_z;", MARGINALS),
    Fault("forward without the transitions", CHAIN, "w.alpha[a] * t.exponential(chain.states[a], chain.states[b])", "w.alpha[a]", MARGINALS),
    Fault("backward without the end", CHAIN, "t.exponential(chain.states[a], t.boundary()) / w.scale[n]", "1.0 / w.scale[n]", MARGINALS),
    Fault("backward without the emissions", CHAIN, "t.exponential(chain.states[a], chain.states[b]) * w.potential[b] * w.beta[b]", "t.exponential(chain.states[a], chain.states[b]) * w.beta[b]", MARGINALS),
    Fault("pairs without the end", "text/chain_pairs.hpp", "add(chain.states[a], transitions.boundary(), workspace.marginals[a]);", "", MARGINALS),
    Fault("best path without the end", CHAIN, "w.best[a] + t.score(chain.states[a], t.boundary())", "w.best[a]", LEARNER_TESTS + "test_the_best_path_of_a_chain_is_the_best_of_all[0]"),
    Fault("expected emissions alone", CHAIN_TRAINING, "(c == gold_places_[i] ? 1.0f : 0.0f)", "0.0f", LIKELIHOOD + "[one epoch]"),
    Fault("expected pairs alone", CHAIN_TRAINING, "each_transition(gold_places_, [&](int a, int b) { pair(a, b, -1.0); });", "", LIKELIHOOD + "[one epoch]"),
    Fault("transitions not put in force", CHAIN_TRAINING, "model_.transitions.set(at, scores[at]);\n        pair_gradient[at] = 0.0f;", "pair_gradient[at] = 0.0f;", LIKELIHOOD + "[many epochs]"),
    Fault("transitions pruned", CHAIN_TRAINING, "unpruned.prune = 0.0f;", "", LIKELIHOOD + "[prune]"),
    Fault("perceptron not averaged", CHAIN_TRAINING, "static_cast<float>(sum / steps)", "0.0f", PERCEPTRON),
    Fault("steps of the perceptron not counted", CHAIN_TRAINING, "++emissions.steps;", "", PERCEPTRON),
    Fault("perceptron without a step away", CHAIN_TRAINING, "move(first_ + i, chain_.states[workspace_.path[i]], -1.0f);", "", PERCEPTRON),
    Fault("trusted_count ignored", DICTIONARY, "is_form && total >= trusted_count_", "is_form", TAGGER_TESTS + "test_a_form_seen_often_takes_no_other_tag[4-tags0]"),
    Fault("no open tags for rare forms", DICTIONARY, "if (!trusted) states.insert(open_.begin(), open_.end());", "", TAGGER_TESTS + "test_a_form_seen_often_takes_no_other_tag[4-tags0]"),
    Fault("words know themselves in training", DICTIONARY, "if (--others[gold] == 0) others.erase(gold);", "", TAGGER_TESTS + "test_in_training_a_word_knows_of_its_form_what_others_know"),
    Fault("every tag is open", DICTIONARY, "total_of(counts_[keys(word)[0]]) == 1", "true", TAGGER_TESTS + "test_new_words_take_the_tags_of_words_seen_once"),
    Fault("errors of annotation kept", DICTIONARY, "count >= (is_form ? rare_state_ : RARE_STATE_OF_AN_ENDING) * total", "true", TAGGER_TESTS + "test_a_tag_seen_next_to_never_with_a_form_is_taken_for_an_error[400-tags1]"),
    Fault("the share of rare states ignored", DICTIONARY, "count >= (is_form ? rare_state_ : RARE_STATE_OF_AN_ENDING) * total", "count >= (is_form ? 0.003 : RARE_STATE_OF_AN_ENDING) * total", LOOKUP_TESTS + "test_a_state_rarer_than_its_share_is_no_candidate[0.1-True]"),
    Fault("the lexicon of features ignored", TAGGER, "if (least == 0) return;", "return;", LOOKUP_TESTS + "test_feats_that_never_vary_are_looked_up"),
    Fault("features that vary in the lexicon", TAGGER, "bundles.size() == 1 && bundles.begin()->second >= least", "true", LOOKUP_TESTS + "test_feats_that_never_vary_are_looked_up"),
    Fault("the rarest lemma of a form", TAGGER, "a.second < b.second", "a.second > b.second", TAGGER_TESTS + "test_a_known_form_takes_its_most_frequent_lemma"),
    Fault("lemmas learned from every word", TAGGER, "if (!seen.insert(hash_pair(hash_pair(form, bundle), hash_pair(state, script))).second) continue;", "", TAGGER_TESTS + "test_lemmas_are_learned_from_different_words_not_from_every_word"),
    Fault("bundles learned as states are", TAGGER, "learn_bundles(model, words, gold, training.bundle);", "learn_bundles(model, words, gold, training.chain);", TAGGER_TESTS + "test_each_part_has_its_own_least_count"),
]  # fmt: skip

TAGGER_DECODE, KEPT_TAGS = "text/tagger.cpp", "tests/text/test_tagger.py::"
KEPT_TAG_FAULTS = [
    Fault("kept tags ignored", TAGGER_DECODE, "kept == kept_end || std::find(kept, kept_end, number) != kept_end", "true", KEPT_TAGS + "test_a_kept_tag_is_seen_by_its_neighbours"),
    Fault("kept tags of the first sentence", TAGGER_DECODE, "decode_states(model, sentence, kept, first, out, w);", "decode_states(model, sentence, kept, 0, out, w);", KEPT_TAGS + "test_a_kept_tag_is_seen_by_its_neighbours"),
    Fault("kept features ignored", TAGGER_DECODE, "std::find(bundles, end, candidate) != end", "false", KEPT_TAGS + "test_the_lemma_is_that_of_the_features_that_are_kept"),
]  # fmt: skip

TOKENIZER = "text/tokenizer.cpp"
TOKENIZER_TESTS = "tests/text/test_tokenizer_training.py::"
DECISIONS = (
    TOKENIZER_TESTS + "test_decisions_stand_at_the_ends_of_words_and_between_characters_that_may_be_cut"
)

BIAS_TESTS = "tests/text/test_sentence_bias.py::"
RULE_TESTS = "tests/text/test_text_rules.py::"
WIDE_TESTS = "tests/text/test_wide_context.py::"
PARAGRAPH_TESTS = "tests/text/test_paragraph_starts.py::"
TOKENIZER_FAULTS = [
    Fault("sentences do not end", TOKENIZER, "token.ends_sentence ? Cut::sentence : Cut::word", "Cut::word", DECISIONS),
    Fault("words may go on before a space", TOKENIZER, "items.set.push_back(choice == Choice::any ? 1 : 0);", "items.set.push_back(1);", DECISIONS),
    Fault("every pair of classes may be cut", TOKENIZER, "cut[pair] += cuts[at] != Cut::inside;", "cut[pair] += 1;", DECISIONS),
    Fault("pairs cut next to never may be cut", TOKENIZER, "cut[known] > RARE_CUT * seen[known]", "cut[known] > 0", TOKENIZER_TESTS + "test_pairs_cut_next_to_never_are_no_decisions"),
    Fault("no word has a space", TOKENIZER, "spanned[pair] > RARE_CUT * seen[pair]", "false", TOKENIZER_TESTS + "test_words_with_spaces_make_a_space_a_decision"),
    Fault("a gold cut that is no candidate", TOKENIZER, "std::max(cuts[at], Cut::word)", "cuts[at]", TOKENIZER_TESTS + "test_words_that_have_a_space_next_to_never_are_learned_as_two"),
    Fault("words seen once are known", TOKENIZER, "if (count > 1) model.vocabulary.push_back(feature_key(hash));", "model.vocabulary.push_back(feature_key(hash));", TOKENIZER_TESTS + "test_words_seen_more_than_once_are_known"),
    Fault("long sentences cut in training", TOKENIZER, "model.longest_sentence = UINT32_MAX;", "", TOKENIZER_TESTS + "test_a_long_sentence_is_learned_from_as_it_is"),
    Fault("the bias of sentences ignored", TOKENIZER, "sentence + model.sentence_bias > word", "sentence > word", BIAS_TESTS + "test_extreme_biases_end_every_word_or_none_but_the_last"),
    Fault("the bias ends words too", TOKENIZER, "inside >= std::max(word, sentence)", "inside >= std::max(word, sentence + model.sentence_bias)", BIAS_TESTS + "test_words_do_not_depend_on_the_bias"),
    Fault("graphemes may be cut", TOKENIZER, "if (text.joined[at]) settled[at] = Settled::inside;", "", RULE_TESTS + "test_nothing_is_cut_inside_a_grapheme"),
    Fault("addresses whole against the treebank", TOKENIZER, "model.whole_addresses = cut <= FEW_EXCEPTIONS * seen;", "model.whole_addresses = true;", RULE_TESTS + "test_a_treebank_that_cuts_addresses_is_obeyed"),
    Fault("emoji words against the treebank", TOKENIZER, "model.single_signs = uncut <= FEW_EXCEPTIONS * edges;", "model.single_signs = true;", RULE_TESTS + "test_emoji_are_words_unless_the_treebank_has_them_in_words"),
    Fault("items go on", TOKENIZER, "ends_with_line(text, sentence_start, next)", "false", RULE_TESTS + "test_items_and_headings_are_sentences"),
    Fault("wide context ignored", "text/cut_features.hpp", "model_.wide_context && gap_ == 1", "false", WIDE_TESTS + "test_wide_context_sees_what_narrow_context_cannot"),
    Fault("starts of paragraphs ignored", "text/cut_features.hpp", "model_.paragraphs && gap_ == 1", "false", PARAGRAPH_TESTS + "test_what_starts_a_paragraph_ends_without_a_mark"),
    Fault("wide context not waited for", "text/tokenizer.hpp", "(wide_context ? WIDE_WORDS : 2)", "2", WIDE_TESTS + "test_long_words_of_a_stream_are_waited_for[40]"),
    Fault("rare ends of sentences scored", TOKENIZER, "model.never_ends[pair] ? Choice::word : Choice::word_or_sentence", "Choice::word_or_sentence", LOOKUP_TESTS + "test_no_sentence_ends_where_training_saw_almost_none"),
]  # fmt: skip

DMV_EM = "induction/dmv_em.cpp"
EM_TESTS = "tests/induction/test_em.py::"
EM_VALUE = EM_TESTS + "test_the_value_of_em_is_that_of_the_grammar_it_returns[0.0-1-harmonic]"

INDUCTION_FAULTS = [
    Fault("the value of EM is that before the last step", DMV_EM, "!options_.viterbi && !converged", "false", EM_VALUE),
    Fault("EM without smoothing", DMV_EM, "dmv_normalise(layout_, counts_.data(), smoothing, result.theta.data());", "dmv_normalise(layout_, counts_.data(), 0.0, result.theta.data());", EM_TESTS + "test_smoothing_is_added_to_every_count"),
    Fault("the rules ignored", DMV_EM, "if (arcs >= least) return true;", "return true;", EM_TESTS + "test_constrained_parses_keep_to_the_rules"),
]  # fmt: skip

FOREST, GRAMMARS = "factors/forest.hpp", "factors/grammars.hpp"
FACTOR_TESTS = "tests/factors/test_factors.py::test_every_operation_is_that_of_the_enumeration"
SIBLING_TREES = FACTOR_TESTS + "[siblings-ordinary-False-plain]"
AUTOMATON_TREES = FACTOR_TESTS + "[automaton-ordinary-True-plain]"
LEGAL, LEGAL_SEARCH = "factors/legal_trees.cpp", "factors/legal_search.cpp"
LEGAL_TREES = "tests/factors/test_legal_trees.py::test_the_tree_is_the_best_of_all"
SIBLING_BLOCKS, SIBLING_SHIFT = "factors/eisner_siblings_blocks.hpp", "factors/eisner_siblings_shift.hpp"
SIBLING_ARRAYS = "tests/factors/test_eisner_siblings.py::"
SIBLING_SPANS = "tests/factors/test_factors.py::test_constraints_hold[siblings]"
SIBLING_CHART, RELAXATION = "factors/eisner_siblings_chart.hpp", "factors/sibling_relaxation.cpp"
BEST_SIBLING_TREES = "tests/factors/test_sibling_trees.py::test_the_tree_is_the_best_of_all[ordinary-True]"
SIBLING_SCORES, SIBLING_TRAINER = "siblings/sibling_features.cpp", "siblings/sibling_trainer.cpp"
SIBLING_SLOPES = (
    "tests/siblings/test_siblings.py::test_the_gradient_is_the_slope_of_the_loss[log-linear-True]"
)
NETWORK_BATCH, SENTENCE_SCORER = "neural/network_batch.cpp", "neural/sentence_scorer.cpp"
NEURAL_SIBLINGS = "tests/neural/test_native_parsing.py::"
FACTOR_FAULTS = [
    Fault("scores of first dependents ignored", GRAMMARS, "siblings[row + h * side()]", "0.0", SIBLING_TREES),
    Fault("an automaton's root with several dependents", GRAMMARS, "head == 0 && single_root && end > 0 && end < n", "false", AUTOMATON_TREES),
    Fault("weights of transitions ignored", GRAMMARS, "scores[number] + weights[transition]", "scores[number]", AUTOMATON_TREES),
    Fault("both sides of a word on their own", GRAMMARS, "ends[p * Q() + q]", "ends[q]", FACTOR_TESTS + "[joint-ordinary-True-plain]"),
    Fault("marginals of factors left out", FOREST, "if (edge.factor >= 0) factors[edge.factor] += share;", "", FACTOR_TESTS + "[siblings and automaton-ordinary-False-plain]"),
    Fault("k-best without the second part's next", FOREST, "last.left_rank == 0", "false", SIBLING_TREES),
    Fault("labels given up cost nothing", LEGAL_SEARCH, "marginal * (1 + share - highest)", "marginal", LEGAL_TREES + "[hard-ordinary-True-True-minimum_risk]"),
    Fault("legal trees that ignore the labels that words keep", LEGAL_SEARCH, "constrain(constrained_, {nullptr, kept - 1, nullptr});", "", "tests/parsing/test_legal.py::test_decisions_count"),
    Fault("legal trees without the labels that an arc's class has not seen", "graph/arc_parse.cpp", "!settings.needs_marginals()", "false", "tests/parsing/test_legal.py::test_labels_unlike_any_in_training_are_searched"),
    Fault("half of the words not searched", LEGAL, "middle + 1", "middle + 2", LEGAL_TREES + "[hard-ordinary-True-True-map]"),
    Fault("inner siblings left out", SIBLING_CHART, "Semiring::plus(first, Semiring::dot3(s.a, s.b, s.c, s.length))", "first", SIBLING_TREES),
    Fault("siblings found by their first alone, given spans", SIBLING_CHART, "s.length == 0 || first >= value(sibling)", "true", SIBLING_SPANS),
    Fault("siblings found by their first alone", SIBLING_BLOCKS, "first >= value(sibling)", "true", SIBLING_TREES),
    Fault("siblings on the left from the same columns alone", SIBLING_BLOCKS, "push_left(i, first, last);", "", SIBLING_ARRAYS + "test_trees_with_siblings_are_the_best_of_all"),
    Fault("bad scores of siblings not seen", SIBLING_BLOCKS, "single |= !(value <= limit);", "", SIBLING_ARRAYS + "test_every_bad_score_is_found[4-nan]"),
    Fault("bad scores of siblings summed", SIBLING_SHIFT, "result_.is_valid &= !any(~valid & exist);", "", SIBLING_ARRAYS + "test_every_bad_score_is_found[4-nan]"),
    Fault("the best sibling counted twice", SIBLING_SHIFT, "is_dead ? none : values - best", "is_dead ? none : values", SIBLING_ARRAYS + "test_sums_of_the_general_kernel_are_the_same[ordinary]"),
    Fault("a bound without the automata", RELAXATION, "value += head_values_[h];", "", BEST_SIBLING_TREES),
    Fault("a search without multipliers", RELAXATION, "weights_[at] += change;", "", BEST_SIBLING_TREES),
    Fault("siblings scored without the pair", SIBLING_SCORES, "pairs_[s * side + m] + with_head(s)", "with_head(s)", SIBLING_SLOPES),
    Fault("gold siblings have no gradient", SIBLING_TRAINER, "add_sibling(h, s, m, -1);", "", SIBLING_SLOPES),
    Fault("a neural pair of siblings without its weights", NETWORK_BATCH, "weights[k] * head[k] * outer[k]", "head[k] * outer[k]", NEURAL_SIBLINGS + "test_scores_with_siblings_are_log_probabilities_among_all_projective_trees[True]"),
    Fault("the other side's first sibling", NETWORK_BATCH, "of_word[h]", "of_word[m]", NEURAL_SIBLINGS + "test_scores_with_siblings_are_log_probabilities_among_all_projective_trees[True]"),
    Fault("several roots with siblings", SENTENCE_SCORER, "eisner_siblings_log_marginals_rows(single_root, marginals_.data(), workspace_)", "eisner_siblings_log_marginals_rows(false, marginals_.data(), workspace_)", NEURAL_SIBLINGS + "test_scores_with_siblings_are_log_probabilities_among_all_projective_trees[True]"),
    Fault("sums with siblings given what is required", SENTENCE_SCORER, "if (h != m) rows.arcs[rows.cell(h, m)] = arcs_[h * stride + m];", "if (is_allowed(h, m)) rows.arcs[rows.cell(h, m)] = arcs_[h * stride + m];", NEURAL_SIBLINGS + "test_required_heads_change_no_score_with_siblings"),
    Fault("the temperature of heads ignored", SENTENCE_SCORER, "static_cast<float>(marginals_[rows.cell(h, m)]) / network_->head_temperature()", "static_cast<float>(marginals_[rows.cell(h, m)])", NEURAL_SIBLINGS + "test_a_sentence_of_more_than_400_words_keeps_its_scores_of_arcs"),
    Fault("a certificate without a proof", LEGAL, "open = node.bound;", "", "tests/factors/test_legal_trees.py::test_a_search_that_stops_early_tells_the_gap"),
]  # fmt: skip

FAULTS = [
    *TRANSITION_FAULTS,
    *ORACLE_FAULTS,
    *TEACHING_FAULTS,
    *CHOICE_FAULTS,
    *TAGGER_FAULTS,
    *KEPT_TAG_FAULTS,
    *TOKENIZER_FAULTS,
    *INDUCTION_FAULTS,
    *FACTOR_FAULTS,
    *GRAPH_FAULTS,
]
