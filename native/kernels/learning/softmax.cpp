#include "kernels/learning/softmax.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/random.hpp"

namespace arcwise {
namespace {

Lists gold_outputs(const SoftmaxTask& task, const SoftmaxItems& items) {
  Lists outputs;
  for (uint32_t gold : items.gold) {
    outputs.values.insert(outputs.values.end(), task.outputs_of_candidate.begin(gold),
                          task.outputs_of_candidate.end(gold));
    outputs.close();
  }
  return outputs;
}

}  // namespace

size_t softmax_probabilities(const SoftmaxTask& task, size_t set, SoftmaxWorkspace& workspace) {
  const uint32_t* first = task.candidates_of_set.begin(set);
  size_t count = task.choices(set);
  std::vector<float>& p = workspace.candidate_scores;
  p.resize(count);
  size_t best = 0;
  for (size_t i = 0; i < count; ++i) {
    p[i] = 0.0f;
    const Lists& outputs = task.outputs_of_candidate;
    for (const uint32_t* o = outputs.begin(first[i]); o != outputs.end(first[i]); ++o)
      p[i] += workspace.output_scores[*o];
    if (p[i] > p[best]) best = i;
  }
  float top = p[best], sum = 0.0f;
  for (float& value : p) sum += value = std::exp(value - top);
  for (float& value : p) value /= sum;
  return best;
}

SparseLinear softmax_train(const SoftmaxTask& task, SoftmaxItems& items, const TrainingOptions& options) {
  SparseLinear model = SparseLinear::supported(items.features, gold_outputs(task, items), options.min_count);
  RegularisedAdaGrad learner(model.weights(), options);
  SoftmaxWorkspace workspace;
  std::vector<float> gradient(task.output_count, 0.0f);
  std::vector<uint32_t> order(items.size()), kept;
  for (int epoch = 0; epoch < options.epochs; ++epoch) {
    shuffle(order, options.seed, epoch);
    Random random(options.seed, static_cast<uint64_t>(options.epochs + epoch));
    for (uint32_t item : order) {
      size_t set = items.set[item];
      if (task.choices(set) < 2) continue;
      workspace.output_scores.assign(task.output_count, 0.0f);
      kept.clear();
      for (const uint32_t* f = items.features.begin(item); f != items.features.end(item); ++f)
        if (options.dropout == 0.0f || random.uniform() >= options.dropout) kept.push_back(*f);
      for (uint32_t f : kept) model.add_row(f, workspace.output_scores.data());
      softmax_probabilities(task, set, workspace);
      // ∂loss/∂score(o) = Σ over candidates c that have o of p(c) − [c = gold]
      std::fill(gradient.begin(), gradient.end(), 0.0f);
      const uint32_t* candidate = task.candidates_of_set.begin(set);
      for (float p : workspace.candidate_scores) {
        float g = p - (*candidate == items.gold[item] ? 1.0f : 0.0f);
        const Lists& outputs = task.outputs_of_candidate;
        for (const uint32_t* o = outputs.begin(*candidate); o != outputs.end(*candidate); ++o)
          gradient[*o] += g;
        ++candidate;
      }
      for (float& g : gradient)
        if (std::fabs(g) < 1e-4f) g = 0.0f;
      for (uint32_t f : kept) learner.step_row(model, f, gradient.data());
    }
    learner.end_epoch(epoch);
  }
  learner.finish();
  return model;
}

}  // namespace arcwise
