#include "kernels/text/chain_training.hpp"

#include <cmath>
#include <utility>

#include "kernels/learning/averaged_weights.hpp"

namespace arcwise {
namespace {

// Weights of a model, averaged over all steps. The mean of the changes is rounded before it is taken off.
struct AveragedVector : Averaged<std::vector<float>&, double> {
  using Averaged::Averaged;
  void finish() {
    average(weights.data(), [this](double sum) { return static_cast<float>(sum / steps); });
  }
};

class ChainTrainer {
 public:
  ChainTrainer(ChainItems& items, int states, const TrainingOptions& options)
      : items_(items), states_(states), options_(options) {
    Lists outputs;
    for (uint32_t gold : items_.gold) {
      outputs.add(gold);
      outputs.close();
    }
    model_.emissions = SparseLinear::supported(items_.features, outputs, options_.min_count);
    model_.transitions = Transitions(states);
  }

  ChainModel learn(bool perceptron) {
    if (perceptron)
      learn_perceptron();
    else
      learn_likelihood();
    return std::move(model_);
  }

 private:
  template <typename Step, typename EndEpoch>
  void each_sentence(Step step, EndEpoch end_epoch) {
    std::vector<uint32_t> order(items_.sentence_words.size() - 1);
    for (int epoch = 0; epoch < options_.epochs; ++epoch) {
      shuffle(order, options_.seed, epoch);
      for (uint32_t s : order) {
        first_ = items_.sentence_words[s];
        size_ = items_.sentence_words[s + 1] - first_;
        if (size_ == 0) continue;
        build_chain();
        step();
      }
      end_epoch(epoch);
    }
  }

  void build_chain() {
    chain_.clear();
    gold_places_.clear();
    for (size_t word = first_; word < first_ + size_; ++word) {
      scores_.assign(static_cast<size_t>(states_), 0.0f);
      for (const uint32_t* f = items_.features.begin(word); f != items_.features.end(word); ++f)
        model_.emissions.add_row(*f, scores_.data());
      const Lists& sets = items_.sets;
      int64_t gold = -1;
      auto add = [&](uint32_t state) {
        if (state == items_.gold[word]) gold = static_cast<int64_t>(chain_.states.size());
        chain_.states.push_back(static_cast<uint16_t>(state));
        chain_.emissions.push_back(scores_[state]);
      };
      for (const uint32_t* s = sets.begin(items_.set[word]); s != sets.end(items_.set[word]); ++s) add(*s);
      if (gold < 0) add(items_.gold[word]);
      gold_places_.push_back(static_cast<uint32_t>(gold));
      chain_.close();
    }
  }

  // Calls pair(a, b) for the transitions on the path of the given places.
  template <typename Pair>
  void each_transition(const std::vector<uint32_t>& path, Pair pair) {
    int before = model_.transitions.boundary();
    for (uint32_t place : path) {
      pair(before, chain_.states[place]);
      before = chain_.states[place];
    }
    pair(before, model_.transitions.boundary());
  }

  void learn_likelihood() {
    RegularisedAdaGrad emissions(model_.emissions.weights(), options_);
    std::vector<float> scores = model_.transitions.scores();
    TrainingOptions unpruned = options_;
    unpruned.prune = 0.0f;
    RegularisedAdaGrad transitions(scores, unpruned);
    std::vector<float> gradient(static_cast<size_t>(states_), 0.0f);
    std::vector<float> pair_gradient(model_.transitions.scores().size(), 0.0f);
    std::vector<size_t> touched;
    auto step = [&] {
      chain_marginals(chain_, model_.transitions, workspace_);
      auto pair = [&](int a, int b, double p) {
        size_t at = model_.transitions.place(a, b);
        if (pair_gradient[at] == 0.0f) touched.push_back(at);
        pair_gradient[at] += static_cast<float>(p);
      };
      chain_pair_marginals(chain_, model_.transitions, workspace_, pair);
      each_transition(gold_places_, [&](int a, int b) { pair(a, b, -1.0); });
      for (size_t i = 0; i < size_; ++i) {
        // ∂loss/∂emission(i, s) = p(s_i = s) − [s is gold]
        for (uint32_t c = chain_.starts[i]; c < chain_.starts[i + 1]; ++c) {
          auto p = static_cast<float>(workspace_.marginals[c]) - (c == gold_places_[i] ? 1.0f : 0.0f);
          gradient[chain_.states[c]] = std::fabs(p) < 1e-4f ? 0.0f : p;
        }
        for (const uint32_t* f = items_.features.begin(first_ + i); f != items_.features.end(first_ + i); ++f)
          emissions.step_row(model_.emissions, *f, gradient.data());
        for (uint32_t c = chain_.starts[i]; c < chain_.starts[i + 1]; ++c) gradient[chain_.states[c]] = 0.0f;
      }
      for (size_t at : touched) {
        transitions.step(at, pair_gradient[at]);
        model_.transitions.set(at, scores[at]);
        pair_gradient[at] = 0.0f;
      }
      touched.clear();
    };
    each_sentence(step, [&](int epoch) {
      emissions.end_epoch(epoch);
      transitions.end_epoch(epoch);
    });
    emissions.finish();
    transitions.finish();
    set_transitions(scores);
  }

  void learn_perceptron() {
    AveragedVector emissions(model_.emissions.weights());
    std::vector<float> scores = model_.transitions.scores();
    AveragedVector transitions(scores);
    auto move_pair = [&](int a, int b, float delta) {
      size_t at = model_.transitions.place(a, b);
      transitions.add(at, delta);
      model_.transitions.set(at, scores[at]);
    };
    auto move = [&](size_t word, uint16_t state, float delta) {
      for (const uint32_t* f = items_.features.begin(word); f != items_.features.end(word); ++f)
        for (uint32_t at = model_.emissions.starts()[*f]; at < model_.emissions.starts()[*f + 1]; ++at)
          if (model_.emissions.outputs()[at] == state) emissions.add(at, delta);
    };
    auto learn = [&] {
      chain_decode(chain_, model_.transitions, workspace_);
      if (workspace_.path == gold_places_) return;
      for (size_t i = 0; i < size_; ++i) {
        if (workspace_.path[i] == gold_places_[i]) continue;
        move(first_ + i, chain_.states[gold_places_[i]], 1.0f);
        move(first_ + i, chain_.states[workspace_.path[i]], -1.0f);
      }
      each_transition(gold_places_, [&](int a, int b) { move_pair(a, b, 1.0f); });
      each_transition(workspace_.path, [&](int a, int b) { move_pair(a, b, -1.0f); });
    };
    auto step = [&] {
      learn();
      ++emissions.steps;
      ++transitions.steps;
    };
    each_sentence(step, [](int) {});
    emissions.finish();
    transitions.finish();
    set_transitions(scores);
  }

  void set_transitions(const std::vector<float>& scores) {
    for (size_t at = 0; at < scores.size(); ++at) model_.transitions.set(at, scores[at]);
  }

  ChainItems& items_;
  int states_;
  TrainingOptions options_;
  ChainModel model_;
  Chain chain_;
  ChainWorkspace workspace_;
  std::vector<uint32_t> gold_places_;
  std::vector<float> scores_;
  size_t first_ = 0, size_ = 0;
};

}  // namespace

ChainModel chain_train(ChainItems& items, int states, const TrainingOptions& options, bool perceptron) {
  return ChainTrainer(items, states, options).learn(perceptron);
}

}  // namespace arcwise
