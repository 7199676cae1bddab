// AdaGrad (Duchi, Hazan & Singer 2011): a step along a gradient is the shorter, the more its weight has moved before.
#pragma once
#include <cmath>
#include <cstddef>

#include "kernels/base/huge_pages.hpp"

namespace arcwise {

struct AdaGrad {
  Table<float> squares;  // of each weight: Σ gradient² so far

  // damping: what the sums of squares start with. Above 0, weights that rarely change do not leap.
  explicit AdaGrad(size_t cells = 0, float damping = 0) : squares(cells, damping) {}

  // rate · gradient / √(Σ gradient²), this gradient among them.
  template <typename Real>
  Real step(size_t place, Real rate, Real gradient) {
    squares[place] += static_cast<float>(gradient * gradient);
    return rate * gradient / (std::sqrt(squares[place]) + static_cast<Real>(1e-6));
  }
};

}  // namespace arcwise
