#include "kernels/induction/column_simplex.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace arcwise {

namespace {
constexpr double kImproves = 1e-7, kPivot = 1e-7, kFeasible = 1e-9;
constexpr int kRefactorAfter = 150;
constexpr int kNone = INT32_MIN;
constexpr size_t kPromising = 24;
constexpr double kShift = 1e-6;
}  // namespace

ColumnSimplex::ColumnSimplex(std::vector<double> right_sides, std::vector<double> penalty)
    : m_(right_sides.size()), right_sides_(std::move(right_sides)), penalty_(std::move(penalty)) {
  uint64_t state = 1;
  for (double& side : right_sides_) {  // the same shifts in every run, so results are reproducible
    state = state * 6364136223846793005u + 1442695040888963407u;
    side += kShift * (0.5 + static_cast<double>(state >> 11) * 0x1p-53);
  }
  basis_.resize(m_);
  for (size_t r = 0; r < m_; ++r) basis_[r] = -1 - static_cast<int32_t>(r);
  d_.resize(m_);
  refactor();
}

void ColumnSimplex::add(double cost, const std::vector<int32_t>& rows, const std::vector<double>& values) {
  costs_.push_back(cost);
  entry_row_.insert(entry_row_.end(), rows.begin(), rows.end());
  entry_value_.insert(entry_value_.end(), values.begin(), values.end());
  starts_.push_back(static_cast<int32_t>(entry_row_.size()));
  usable_.push_back(1);
  where_.push_back(-1);
}

void ColumnSimplex::remove(const std::vector<uint8_t>& unwanted) {
  size_t kept = 0, entries = 0;
  for (size_t c = 0; c < costs_.size(); ++c) {
    if (unwanted[c]) continue;
    const int32_t first = starts_[c], last = starts_[c + 1];
    starts_[kept] = static_cast<int32_t>(entries);
    for (int32_t e = first; e < last; ++e, ++entries) {
      entry_row_[entries] = entry_row_[e];
      entry_value_[entries] = entry_value_[e];
    }
    costs_[kept] = costs_[c];
    usable_[kept] = usable_[c];
    where_[kept] = where_[c];
    if (where_[kept] >= 0) basis_[where_[kept]] = static_cast<int32_t>(kept);
    ++kept;
  }
  starts_[kept] = static_cast<int32_t>(entries);
  starts_.resize(kept + 1);
  entry_row_.resize(entries);
  entry_value_.resize(entries);
  costs_.resize(kept);
  usable_.resize(kept);
  where_.resize(kept);
}

void ColumnSimplex::set_basis(const std::vector<int32_t>& basis) {
  if (basis == basis_) return;
  for (int32_t variable : basis_)
    if (variable >= 0) where_[variable] = -1;
  basis_ = basis;
  for (size_t r = 0; r < m_; ++r)
    if (basis_[r] >= 0) where_[basis_[r]] = static_cast<int32_t>(r);
  refactor();
}

double ColumnSimplex::cost_of(int variable) const {
  if (variable >= 0) return costs_[variable];
  return -scale_ * penalty_[(-1 - variable) % static_cast<int>(m_)];
}

double ColumnSimplex::value() const {
  double sum = 0;
  for (size_t r = 0; r < m_; ++r) sum += cost_of(basis_[r]) * x_[r];
  return sum;
}

double ColumnSimplex::violation() const {
  double most = 0;
  for (size_t r = 0; r < m_; ++r)
    if (basis_[r] < 0) most = std::max(most, x_[r]);
  return most;
}

double ColumnSimplex::along(const double* row, size_t c) const {
  double sum = 0;
  for (int32_t e = starts_[c]; e < starts_[c + 1]; ++e) sum += row[entry_row_[e]] * entry_value_[e];
  return sum;
}

double ColumnSimplex::reduced_cost(size_t c) const { return costs_[c] - along(y_.data(), c); }

// inverse = B^-1 by Gauss-Jordan with row exchanges; x = inverse * right sides.
void ColumnSimplex::refactor() {
  std::vector<double> work(m_ * m_);  // row-major
  for (size_t k = 0; k < m_; ++k) {
    const int variable = basis_[k];
    if (variable < 0) {
      const int r = (-1 - variable) % static_cast<int>(m_);
      work[r * m_ + k] = -1 - variable < static_cast<int>(m_) ? 1.0 : -1.0;
    } else {
      for (int32_t e = starts_[variable]; e < starts_[variable + 1]; ++e)
        work[entry_row_[e] * m_ + k] += entry_value_[e];
    }
  }
  std::vector<double> right(m_ * m_);
  for (size_t r = 0; r < m_; ++r) right[r * m_ + r] = 1.0;
  for (size_t k = 0; k < m_; ++k) {
    size_t best = k;
    for (size_t r = k + 1; r < m_; ++r)
      if (std::abs(work[r * m_ + k]) > std::abs(work[best * m_ + k])) best = r;
    if (best != k) {
      std::swap_ranges(&work[k * m_], &work[k * m_] + m_, &work[best * m_]);
      std::swap_ranges(&right[k * m_], &right[k * m_] + m_, &right[best * m_]);
    }
    const double scale = 1.0 / work[k * m_ + k];
    for (size_t j = k; j < m_; ++j) work[k * m_ + j] *= scale;
    for (size_t j = 0; j < m_; ++j) right[k * m_ + j] *= scale;
    for (size_t r = 0; r < m_; ++r) {
      const double factor = work[r * m_ + k];
      if (r == k || factor == 0) continue;
      for (size_t j = k; j < m_; ++j) work[r * m_ + j] -= factor * work[k * m_ + j];
      for (size_t j = 0; j < m_; ++j) right[r * m_ + j] -= factor * right[k * m_ + j];
    }
  }
  inverse_.resize(m_ * m_);
  for (size_t r = 0; r < m_; ++r)
    for (size_t j = 0; j < m_; ++j) inverse_[j * m_ + r] = right[r * m_ + j];
  x_.assign(m_, 0.0);
  for (size_t j = 0; j < m_; ++j)
    for (size_t r = 0; r < m_; ++r) x_[r] += inverse_[j * m_ + r] * right_sides_[j];
  since_refactor_ = 0;
}

// y = costs of the basis * inverse
void ColumnSimplex::price_basis() {
  std::vector<double> cost(m_);
  for (size_t r = 0; r < m_; ++r) cost[r] = cost_of(basis_[r]);
  y_.resize(m_);
  for (size_t j = 0; j < m_; ++j) {
    double sum = 0;
    for (size_t r = 0; r < m_; ++r) sum += cost[r] * inverse_[j * m_ + r];
    y_[j] = sum;
  }
}

// Partial pricing: returns the variable with the largest gain per unit among the candidate columns. If none
// of them improves the objective, prices all columns and makes the best ones the new candidates.
int ColumnSimplex::improving() {
  int best = kNone;
  double most = kImproves;
  for (int32_t c : promising_) {
    if (where_[c] >= 0) continue;
    const double gain = reduced_cost(c);
    if (gain > most) most = gain, best = c;
  }
  if (best == kNone) {
    std::vector<std::pair<double, int32_t>> gaining;
    for (int32_t c : active_) {
      if (where_[c] >= 0) continue;
      const double gain = reduced_cost(c);
      if (gain > kImproves) gaining.emplace_back(-gain, c);
    }
    const size_t kept = std::min<size_t>(gaining.size(), kPromising);
    std::partial_sort(gaining.begin(), gaining.begin() + kept, gaining.end());
    promising_.clear();
    for (size_t k = 0; k < kept; ++k) promising_.push_back(gaining[k].second);
    if (kept) most = -gaining[0].first, best = gaining[0].second;
  }
  for (size_t r = 0; r < m_; ++r) {  // violation variables have one entry, +1 or -1, in row r
    const double cost = -scale_ * penalty_[r];
    if (cost - y_[r] > most) most = cost - y_[r], best = -1 - static_cast<int>(r);
    if (cost + y_[r] > most) most = cost + y_[r], best = -1 - static_cast<int>(m_ + r);
  }
  return best;
}

void ColumnSimplex::direction(int entering) {
  std::fill(d_.begin(), d_.end(), 0.0);
  const auto take = [&](size_t row, double value) {
    const double* column = &inverse_[row * m_];
    for (size_t r = 0; r < m_; ++r) d_[r] += value * column[r];
  };
  if (entering < 0) {
    take((-1 - entering) % static_cast<int>(m_), -1 - entering < static_cast<int>(m_) ? 1.0 : -1.0);
  } else {
    for (int32_t e = starts_[entering]; e < starts_[entering + 1]; ++e) take(entry_row_[e], entry_value_[e]);
  }
}

// Ratio test: the row whose basic variable reaches 0 first (a variable fixed at 0 blocks in either
// direction). Ties go to the largest pivot.
size_t ColumnSimplex::blocking(double& step) const {
  const auto size = [&](size_t r) { return is_fixed(basis_[r]) ? std::abs(d_[r]) : d_[r]; };
  const auto room = [&](size_t r) { return is_fixed(basis_[r]) ? 0.0 : std::max(x_[r], 0.0); };
  step = std::numeric_limits<double>::infinity();
  for (size_t r = 0; r < m_; ++r)
    if (size(r) > kPivot) step = std::min(step, (room(r) + 1e-11) / size(r));
  size_t leaving = m_;
  double largest = 0;
  for (size_t r = 0; r < m_; ++r)
    if (size(r) > kPivot && room(r) / size(r) <= step && size(r) > largest) largest = size(r), leaving = r;
  if (leaving < m_) step = room(leaving) / size(leaving);
  return leaving;
}

// Replaces basic variable `leaving` by `entering` at value `step`; `gain` is the reduced cost of `entering`.
void ColumnSimplex::exchange(size_t leaving, int entering, double step, double gain) {
  const double across = gain / d_[leaving];
  for (size_t j = 0; j < m_; ++j) {
    double* column = &inverse_[j * m_];
    if (column[leaving] == 0) continue;
    y_[j] += across * column[leaving];
    const double scaled = column[leaving] / d_[leaving];
    for (size_t r = 0; r < m_; ++r) column[r] -= d_[r] * scaled;
    column[leaving] = scaled;
  }
  for (size_t r = 0; r < m_; ++r) x_[r] -= step * d_[r];
  x_[leaving] = step;
  if (basis_[leaving] >= 0) where_[basis_[leaving]] = -1;
  basis_[leaving] = entering;
  if (entering >= 0) where_[entering] = static_cast<int32_t>(leaving);
  ++since_refactor_;
}

int ColumnSimplex::primal_pivots(int most) {
  price_basis();
  for (int pivots = 0; pivots < most; ++pivots) {
    if (since_refactor_ >= kRefactorAfter) {
      refactor();
      price_basis();
    }
    const int entering = improving();
    if (entering == kNone) return pivots;
    direction(entering);
    double step;
    const size_t leaving = blocking(step);
    if (leaving == m_) return pivots;
    const double gain = entering >= 0 ? reduced_cost(entering)
                        : -1 - entering < static_cast<int>(m_)
                            ? cost_of(entering) - y_[-1 - entering]
                            : cost_of(entering) + y_[-1 - entering - static_cast<int>(m_)];
    exchange(leaving, entering, step, gain);
  }
  return most;
}

// Dual simplex: while a basic variable is negative, or nonzero although fixed at 0, it leaves the basis and
// the variable whose reduced cost reaches 0 first enters. Positive reduced costs count as 0 here; the primal
// pivots deal with them.
int ColumnSimplex::dual_pivots(int most) {
  price_basis();
  std::vector<double> reduced(costs_.size()), along_row(costs_.size());
  const auto price = [&] {
    for (int32_t c : active_)
      if (where_[c] < 0) reduced[c] = std::min(0.0, reduced_cost(c));
  };
  price();
  row_.resize(m_);
  for (int pivots = 0; pivots < most; ++pivots) {
    if (since_refactor_ >= kRefactorAfter) {
      refactor();
      price_basis();
      price();
    }
    size_t leaving = m_;
    double worst = kFeasible;
    for (size_t r = 0; r < m_; ++r) {
      const double wrong = is_fixed(basis_[r]) ? std::abs(x_[r]) : -x_[r];
      if (wrong > worst) worst = wrong, leaving = r;
    }
    if (leaving == m_) return pivots;
    const double sign =
        x_[leaving] > 0 ? 1.0 : -1.0;  // required sign of the entering column's entry in this row
    for (size_t j = 0; j < m_; ++j) row_[j] = inverse_[j * m_ + leaving];
    int entering = kNone;
    double best = std::numeric_limits<double>::infinity(), entry = 0;
    const auto offer = [&](int variable, double cost, double value) {
      if (sign * value <= kPivot) return;
      const double ratio = -cost / (sign * value);
      if (ratio < best - 1e-12 || (ratio <= best + 1e-12 && std::abs(value) > std::abs(entry)))
        best = std::min(best, ratio), entering = variable, entry = value;
    };
    for (int32_t c : active_) {
      if (where_[c] >= 0) continue;
      along_row[c] = along(row_.data(), c);
      offer(c, reduced[c], along_row[c]);
    }
    for (size_t r = 0; r < m_; ++r) {
      offer(-1 - static_cast<int>(r), std::min(0.0, -scale_ * penalty_[r] - y_[r]), row_[r]);
      offer(-1 - static_cast<int>(m_ + r), std::min(0.0, -scale_ * penalty_[r] + y_[r]), -row_[r]);
    }
    if (entering == kNone) return pivots;
    const int left = basis_[leaving];
    direction(entering);
    const double gain = -best * sign;  // reduced cost of the entering variable per unit of its entry
    for (int32_t c : active_)
      if (where_[c] < 0) reduced[c] = std::min(0.0, reduced[c] - gain * along_row[c]);
    exchange(leaving, entering, x_[leaving] / d_[leaving], gain * d_[leaving]);
    if (left >= 0 && usable_[left]) reduced[left] = std::min(0.0, -gain);
  }
  return most;
}

int ColumnSimplex::solve(int most_pivots) {
  active_.clear();
  promising_.clear();
  for (size_t c = 0; c < costs_.size(); ++c)
    if (usable_[c]) active_.push_back(static_cast<int32_t>(c));
  const int pivots = dual_pivots(most_pivots);
  return pivots + primal_pivots(most_pivots - pivots);
}

}  // namespace arcwise
