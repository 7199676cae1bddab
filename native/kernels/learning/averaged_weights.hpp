// Weight averaging over all steps of online training (Collins 2002) without adding up all weights after every
// step: each weight has a running sum of its changes, each multiplied by the number of the step that made it.
// Then
//
//   average = w - sum / steps
//
// Steps are numbered from 1, and `steps` is the number of the next one. Of the weight vectors w_0 = 0, w_1, …
// so far, `steps` in all, a change made in step t is missing from the first t.
#pragma once
#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "kernels/base/huge_pages.hpp"

namespace arcwise {

// Weights: an owned vector of float or a reference to one. Sum: the type of the sums.
template <typename Weights, typename Sum>
struct Averaged {
  Weights weights;
  Table<Sum> sums;
  double steps = 1;

  explicit Averaged(size_t cells)
    requires(!std::is_reference_v<Weights>)
      : weights(cells, 0), sums(cells, 0) {}
  explicit Averaged(Weights others)
    requires(std::is_reference_v<Weights>)
      : weights(others), sums(others.size(), 0) {}

  void add(size_t place, double delta) { add(place, delta, steps); }
  void add(size_t place, double delta, double step) {
    weights[place] += static_cast<float>(delta);
    sums[place] += static_cast<Sum>(delta * step);
  }
  // weights[place + i] += rate * values[i] for i < width
  void add_row(size_t place, float rate, const float* values, int width) {
    float* w = &weights[place];
    Sum *s = &sums[place], rate_by_steps = static_cast<Sum>(rate * steps);
    for (int i = 0; i < width; ++i) {
      w[i] += rate * values[i];
      s[i] += rate_by_steps * values[i];
    }
  }

  // Restarts averaging from the current weights.
  void restart() {
    std::fill(sums.begin(), sums.end(), Sum{0});
    steps = 1;
  }

  // Writes weights - mean(sum) for each; `mean` divides by the number of steps, with the caller's rounding.
  template <typename Mean>
  void average(float* out, Mean mean) const {
    for (size_t i = 0; i < weights.size(); ++i) out[i] = static_cast<float>(weights[i] - mean(sums[i]));
  }
  Table<float> averaged() const {
    Table<float> out(weights.size());
    average(out.data(), [this](Sum sum) { return sum == 0 ? 0.0 : sum / steps; });
    return out;
  }
};

using AveragedWeights = Averaged<Table<float>, float>;

}  // namespace arcwise
