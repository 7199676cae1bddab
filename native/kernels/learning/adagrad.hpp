// AdaGrad (Duchi, Hazan & Singer 2011): the step size of a weight shrinks with its past gradients.
#pragma once
#include <cmath>
#include <cstddef>

#include "kernels/base/huge_pages.hpp"

namespace arcwise {

struct AdaGrad {
  Table<float> squares;  // by weight: Σ gradient² so far

  // damping: initial value of the sums of squares. Above 0, it keeps rarely updated weights from making large
  // steps.
  explicit AdaGrad(size_t cells = 0, float damping = 0) : squares(cells, damping) {}

  // rate · gradient / √(Σ gradient²), where the sum includes this gradient.
  template <typename Real>
  Real step(size_t place, Real rate, Real gradient) {
    squares[place] += static_cast<float>(gradient * gradient);
    return rate * gradient / (std::sqrt(squares[place]) + static_cast<Real>(1e-6));
  }
};

}  // namespace arcwise
