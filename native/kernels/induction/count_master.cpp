#include "kernels/induction/count_master.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace arcwise {

namespace {
constexpr size_t kMostColumns = 20000;
constexpr int kMostPivots = 20000;
constexpr double kCountPenalty = 40.0, kChoicePenalty = 5000.0, kLargestScale = 1000.0, kViolation = 1e-4;

// The coordinates that differ between parses; each gets a row.
std::vector<int32_t> free_coordinates(const CountProblem& problem) {
  const CountBox root = problem.root_box();
  std::vector<int32_t> out;
  for (int j = 0; j < problem.layout().priced(); ++j)
    if (root.low[j] < root.high[j]) out.push_back(j);
  return out;
}

ColumnSimplex empty_simplex(const CountProblem& problem, size_t coordinates, bool constrained) {
  std::vector<double> right(coordinates, 0.0), penalty(coordinates, kCountPenalty);
  const size_t choices = problem.sentences().size() + problem.blocks().size();
  right.insert(right.end(), choices, 1.0);
  penalty.insert(penalty.end(), choices, kChoicePenalty);
  if (constrained) {
    right.push_back(problem.root_box().low[problem.layout().constrained()]);
    penalty.push_back(kCountPenalty);
  }
  ColumnSimplex simplex(right, penalty);
  if (constrained)
    // Surplus: marked arcs beyond the required number.
    simplex.add(0.0, {static_cast<int32_t>(right.size()) - 1}, {-1.0});
  return simplex;
}
}  // namespace

CountMaster::CountMaster(const CountProblem& problem, bool constrained)
    : problem_(problem),
      constrained_(constrained),
      row_coordinates_(free_coordinates(problem)),
      simplex_(empty_simplex(problem, row_coordinates_.size(), constrained)) {
  rows_.assign(problem.layout().coordinates(), -1);
  for (size_t r = 0; r < row_coordinates_.size(); ++r) rows_[row_coordinates_[r]] = static_cast<int32_t>(r);
}

size_t CountMaster::add(const CountBound& bound) {
  size_t added = 0;
  const int size = problem_.layout().coordinates();
  const int32_t* long_counts = bound.long_counts.data();
  for (size_t s = 0; s < problem_.sentences().size(); ++s) {
    const CountProblem::Sentence& sentence = problem_.sentences()[s];
    Column column{true, static_cast<int>(s), bound.parses[s], {}, "p" + std::to_string(s) + ":", {}};
    if (sentence.is_short) {
      if (bound.parses[s] < 0) continue;
      const CountVectors& vectors = sentence.vectors;
      for (size_t l = 0; l < vectors.width; ++l)
        if (const int value = vectors.values[bound.parses[s] * vectors.width + l])
          column.counts.emplace_back(vectors.names[l], value);
      column.key += std::to_string(bound.parses[s]);
    } else {
      for (int j = 0; j < size; ++j)
        if (long_counts[j]) column.counts.emplace_back(j, long_counts[j]);
      column.key.append(reinterpret_cast<const char*>(long_counts), size * sizeof(int32_t));
      long_counts += size;
    }
    added += append(std::move(column));
  }
  for (size_t b = 0; b < problem_.blocks().size(); ++b) {
    if (bound.block_best[b] == kNothing) continue;
    const CountProblem::Block& block = problem_.blocks()[b];
    Column column{false, static_cast<int>(b), -1, {}, "b" + std::to_string(b), {}};
    const auto take = [&](int j) {
      column.key += "," + std::to_string(bound.point[j]);
      column.counts.emplace_back(j, bound.point[j]);
    };
    for (int32_t part : block.parts) take(part);
    if (block.some >= 0) take(block.some), take(block.children);
    for (size_t c = 0; c < block.parts.size() + (block.some >= 0); ++c)
      column.point.push_back(static_cast<uint8_t>(column.counts[c].second));
    added += append(std::move(column));
  }
  return added;
}

size_t CountMaster::append(Column column) {
  if (!known_.insert(column.key).second) return 0;
  const double sign = column.is_parse ? problem_.sentences()[column.owner].weight : -1.0;
  std::vector<double> point(problem_.layout().coordinates());
  std::vector<int32_t> rows;
  std::vector<double> values;
  const auto entry = [&](size_t row, double value) {
    rows.push_back(static_cast<int32_t>(row));
    values.push_back(value);
  };
  for (const auto& [j, value] : column.counts) {
    point[j] = value;
    if (rows_[j] >= 0 && value) entry(rows_[j], sign * value);
  }
  entry(row_coordinates_.size() + (column.is_parse ? 0 : problem_.sentences().size()) + column.owner, 1.0);
  if (constrained_ && column.is_parse && point[problem_.layout().constrained()] > 0)
    entry(simplex_.rows() - 1, sign * point[problem_.layout().constrained()]);
  simplex_.add(column.is_parse ? 0.0 : problem_.block_value(column.owner, point.data()), rows, values);
  columns_.push_back(std::move(column));
  return 1;
}

bool CountMaster::is_usable(const Column& column, const CountBox& box) const {
  if (!column.is_parse) {
    for (const auto& [j, value] : column.counts)
      if (value < box.low[j] || value > box.high[j]) return false;
    const size_t block = column.owner;
    return block >= box.points.size() || !box.points[block] ||
           box.points[block]->contains(column.point.data());
  }
  const CountProblem::Sentence& sentence = problem_.sentences()[column.owner];
  if (!sentence.is_short) return true;
  const size_t bit = sentence.first_bit + column.parse;
  return box.alive[bit / 64] >> (bit % 64) & 1;
}

// Keeps the basis and, of the other columns, the half with the best reduced costs.
void CountMaster::forget_columns() {
  const size_t first = simplex_.columns() - columns_.size();
  std::vector<double> costs;
  for (size_t c = 0; c < columns_.size(); ++c) costs.push_back(simplex_.reduced_cost(first + c));
  std::vector<double> sorted = costs;
  std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
  const double median = sorted[sorted.size() / 2];
  std::vector<uint8_t> unwanted(simplex_.columns(), 0);
  size_t kept = 0;
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (costs[c] < median && !simplex_.is_basic(first + c)) {
      unwanted[first + c] = 1;
      known_.erase(columns_[c].key);
    } else {
      if (kept != c) columns_[kept] = std::move(columns_[c]);
      ++kept;
    }
  }
  columns_.resize(kept);
  simplex_.remove(unwanted);
  ++generation_;
}

// The bound charges points mu per unit and credits parses with it: mu = -(dual of the row).
std::vector<int64_t> CountMaster::multipliers() const {
  std::vector<int64_t> mu(problem_.layout().coordinates(), 0);
  for (size_t r = 0; r < row_coordinates_.size(); ++r)
    mu[row_coordinates_[r]] = static_cast<int64_t>(std::llround(-simplex_.duals()[r] * kScale));
  if (constrained_)
    mu[problem_.layout().constrained()] =
        std::max<int64_t>(0, std::llround(-simplex_.duals()[simplex_.rows() - 1] * kScale));
  return mu;
}

std::vector<double> CountMaster::solution_counts() const {
  const size_t first = simplex_.columns() - columns_.size();
  std::vector<double> out(problem_.layout().coordinates());
  for (size_t c = 0; c < columns_.size(); ++c) {
    const double share = simplex_.solution(first + c);
    if (!columns_[c].is_parse || share <= 0) continue;
    const double weight = problem_.sentences()[columns_[c].owner].weight * share;
    for (const auto& [j, value] : columns_[c].counts) out[j] += weight * value;
  }
  return out;
}

CountEvaluation CountMaster::evaluate(const CountBox& box, int64_t threshold, double precision,
                                      int most_rounds, double seconds, const CountBasis* start) {
  CountEvaluation out;
  const auto began = std::chrono::steady_clock::now();
  if (columns_.size() > kMostColumns) forget_columns();
  if (start && start->generation == generation_) simplex_.set_basis(start->variables);
  const size_t first = simplex_.columns() - columns_.size();
  for (size_t c = 0; c < columns_.size(); ++c) simplex_.set_usable(first + c, is_usable(columns_[c], box));
  CountBound bound;
  double scale = 1.0;
  simplex_.scale_penalties(scale);
  for (; out.rounds < most_rounds; ++out.rounds) {
    out.pivots += simplex_.solve(kMostPivots);
    const std::vector<int64_t> mu = multipliers();
    problem_.bound(box, mu.data(), bound);
    if (bound.value < out.bound) out.bound = bound.value, out.mu = mu;
    if (out.bound <= threshold) break;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > seconds) break;
    out.value = simplex_.value();
    const double distance = static_cast<double>(out.bound - threshold) / kScale;
    const bool converged =
        static_cast<double>(out.bound) / kScale - out.value <= std::max(precision * distance, 1e-7);
    if (!converged && add(bound)) continue;
    // With violated rows the box may be empty; proving it can take arbitrarily large multipliers.
    if (simplex_.violation() < kViolation || scale >= kLargestScale) break;
    simplex_.scale_penalties(scale *= 10);
  }
  out.counts = solution_counts();
  return out;
}

std::vector<CountSplit> CountMaster::splits(const CountBox& box, const std::vector<double>& counts,
                                            double middle, size_t at_most) const {
  const auto phi = [](double x) { return x > 0 ? x * std::log(x) : 0.0; };
  const CountLayout layout = problem_.layout();
  // Terms of G by the coordinate they are attributed to: phi(g); 2 phi(A) + phi(N-A); phi(K-A).
  const auto term = [&](const CountProblem::Block& block, int j, const double* point) {
    if (j == block.some) return 2 * phi(point[j]) + phi(static_cast<double>(block.words) - point[j]);
    if (j == block.children) return phi(point[j] - point[block.some]);
    return phi(point[j]);
  };
  std::vector<double> gap(layout.coordinates()), point(layout.coordinates());
  std::vector<uint8_t> candidate(layout.coordinates());
  const auto charge = [&](const CountProblem::Block& block, const double* at, double weight) {
    for (int32_t part : block.parts) gap[part] += weight * term(block, part, at), candidate[part] = 1;
    if (block.some < 0) return;
    for (int j : {block.some, block.children}) gap[j] += weight * term(block, j, at), candidate[j] = 1;
  };
  const size_t first = simplex_.columns() - columns_.size();
  for (size_t c = 0; c < columns_.size(); ++c) {
    const double share = simplex_.solution(first + c);
    if (columns_[c].is_parse || share <= 0) continue;
    for (const auto& [j, value] : columns_[c].counts) point[j] = value;
    charge(problem_.blocks()[columns_[c].owner], point.data(), share);
    for (const auto& [j, value] : columns_[c].counts) point[j] = 0;
  }
  for (const CountProblem::Block& block : problem_.blocks()) charge(block, counts.data(), -1.0);
  std::vector<CountSplit> out;
  for (int j = 0; j < layout.coordinates(); ++j) {
    if (!candidate[j] || box.low[j] >= box.high[j]) continue;
    const double centre = 0.5 * (box.low[j] + box.high[j]);
    const double value = (1 - middle) * counts[j] + middle * centre;
    const int at = std::clamp(static_cast<int>(std::floor(value)), box.low[j], box.high[j] - 1);
    out.push_back({j, at, gap[j]});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const CountSplit& a, const CountSplit& b) { return a.gap > b.gap; });
  if (out.size() > at_most) out.resize(at_most);
  return out;
}

}  // namespace arcwise
