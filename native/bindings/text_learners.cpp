// Bindings of the learners under tokenizer and tagger, on items of one's own: softmax and chain.
#include <nanobind/stl/vector.h>

#include "bindings/linear_arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/learning/softmax.hpp"
#include "kernels/text/chain_training.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise::bindings;

namespace {

void check_below(const std::vector<uint32_t>& values, size_t limit, const char* what) {
  if (std::any_of(values.begin(), values.end(), [&](uint32_t value) { return value >= limit; }))
    throw nb::value_error(what);
}

auto softmax_train(const ListArrays& features, const ListArrays& outputs_of_candidate,
                   const ListArrays& candidates_of_set, size_t output_count, Array<uint32_t> set,
                   Array<uint32_t> gold, const OptionTuple& options) {
  arcwise::SoftmaxTask task{lists_of(outputs_of_candidate), lists_of(candidates_of_set), output_count};
  arcwise::SoftmaxItems items{lists_of(features), vector_of(set), vector_of(gold)};
  if (items.set.size() != items.features.size() || items.gold.size() != items.features.size())
    throw nb::value_error("one set and gold candidate per item is needed");
  check_below(task.outputs_of_candidate.values, output_count, "an output out of range");
  check_below(task.candidates_of_set.values, task.outputs_of_candidate.size(), "a candidate out of range");
  check_below(items.set, task.candidates_of_set.size(), "a set out of range");
  check_below(items.gold, task.outputs_of_candidate.size(), "a gold candidate out of range");
  return linear_arrays(arcwise::softmax_train(task, items, options_of(options)));
}

arcwise::Transitions transitions_of(Array<float> scores, int states) {
  arcwise::Transitions transitions(states);
  if (scores.shape(0) != transitions.scores().size()) throw nb::value_error("transitions have another size");
  for (size_t at = 0; at < scores.shape(0); ++at) transitions.set(at, scores.data()[at]);
  return transitions;
}

arcwise::Chain chain_of(const ListArrays& states, Array<float> emissions, size_t state_count) {
  const arcwise::Lists lists = lists_of(states);
  check_below(lists.values, state_count, "a state out of range");
  if (emissions.shape(0) != lists.values.size())
    throw nb::value_error("one emission per candidate is needed");
  for (size_t i = 0; i < lists.size(); ++i)
    if (lists.begin(i) == lists.end(i)) throw nb::value_error("a position without candidates");
  arcwise::Chain chain;
  chain.starts.assign(lists.starts.begin(), lists.starts.end());
  chain.states.assign(lists.values.begin(), lists.values.end());
  chain.emissions = vector_of(emissions);
  return chain;
}

auto chain_marginals(const ListArrays& states, Array<float> emissions, Array<float> transitions,
                     int state_count) {
  const arcwise::Chain chain = chain_of(states, emissions, state_count);
  const arcwise::Transitions t = transitions_of(transitions, state_count);
  arcwise::ChainWorkspace workspace;
  const double log_z = arcwise::chain_marginals(chain, t, workspace);
  std::vector<double> pairs(t.scores().size());
  arcwise::chain_pair_marginals(chain, t, workspace,
                                [&](int a, int b, double p) { pairs[t.place(a, b)] += p; });
  const size_t side = t.boundary() + 1;
  return std::make_tuple(log_z, moved(std::move(workspace.marginals)), moved(std::move(pairs), {side, side}));
}

auto chain_decode(const ListArrays& states, Array<float> emissions, Array<float> transitions,
                  int state_count) {
  const arcwise::Chain chain = chain_of(states, emissions, state_count);
  arcwise::ChainWorkspace workspace;
  const float score = arcwise::chain_decode(chain, transitions_of(transitions, state_count), workspace);
  std::vector<int> path;
  for (uint32_t place : workspace.path) path.push_back(chain.states[place]);
  return std::make_tuple(score, path);
}

auto chain_train(const ListArrays& features, Array<uint32_t> sentence_words, const ListArrays& sets,
                 Array<uint32_t> set, Array<uint32_t> gold, int state_count, const OptionTuple& options,
                 bool perceptron) {
  arcwise::ChainItems items{lists_of(features), vector_of(sentence_words), lists_of(sets), vector_of(set),
                            vector_of(gold)};
  const size_t words = items.features.size();
  if (items.set.size() != words || items.gold.size() != words)
    throw nb::value_error("one set and gold state per word is needed");
  if (items.sentence_words.empty() || items.sentence_words.back() != words ||
      !std::is_sorted(items.sentence_words.begin(), items.sentence_words.end()))
    throw nb::value_error("the sentences do not fit the words");
  check_below(items.sets.values, state_count, "a state out of range");
  check_below(items.set, items.sets.size(), "a set out of range");
  check_below(items.gold, state_count, "a gold state out of range");
  arcwise::ChainModel model = arcwise::chain_train(items, state_count, options_of(options), perceptron);
  const size_t side = state_count + 1;
  return std::make_tuple(linear_arrays(model.emissions), moved(model.transitions.scores(), {side, side}));
}

}  // namespace

void bind_text_learners(nb::module_& m) {
  m.def("softmax_train", &softmax_train, "features"_a, "outputs_of_candidate"_a, "candidates_of_set"_a,
        "output_count"_a, "set"_a, "gold"_a, "options"_a,
        "The weights of a log-linear choice: keys, starts, outputs, weights.");
  m.def("chain_marginals", &chain_marginals, "states"_a, "emissions"_a, "transitions"_a, "state_count"_a,
        "log Z, the probability of each candidate, and the expected number of each pair of states.");
  m.def("chain_decode", &chain_decode, "states"_a, "emissions"_a, "transitions"_a, "state_count"_a,
        "The score of the best path, and its states.");
  m.def("chain_train", &chain_train, "features"_a, "sentence_words"_a, "sets"_a, "set"_a, "gold"_a,
        "state_count"_a, "options"_a, "perceptron"_a,
        "The weights of a linear chain: those of emissions (keys, starts, outputs, weights), and of pairs.");
}
