// Bounds of the blocks of the likelihood, over the integer points of a box.
#include <algorithm>

#include "kernels/induction/count_problem.hpp"

namespace arcwise {

// The maxima over the points of one block, by dynamic programming over its parts: prefix[c][k] is the maximum
// of
//   sum over the first c parts of phi(g) - mu g   with  sum of g = k,
// and after[k] is the value that K = k adds.
class BlockTable {
 public:
  BlockTable(const CountProblem& problem, const CountProblem::Block& block, const CountBox& box,
             const int64_t* mu)
      : problem_(problem), block_(block), box_(box), mu_(mu) {
    low_ = high_ = static_cast<int>(block.words);
    if (block.children >= 0) low_ = box.low[block.children], high_ = box.high[block.children];
    after_.assign(high_ + 1, kNothing);
    best_some_.assign(high_ + 1, 0);
    for (int k = low_; k <= high_; ++k) {
      if (block.children < 0) {
        after_[k] = -problem.phi_down(block.words);
        continue;
      }
      for (int some = first_some(k); some <= last_some(k); ++some) {
        const int64_t value = with_some(k, some);
        if (value > after_[k]) after_[k] = value, best_some_[k] = some;
      }
    }
    prefix_.assign(block.parts.size() + 1, {});
    prefix_[0].assign(high_ + 1, kNothing);
    prefix_[0][0] = 0;
    for (size_t c = 0; c < block.parts.size(); ++c) prefix_[c + 1] = extended(prefix_[c], block.parts[c]);
  }

  int low() const { return low_; }
  int high() const { return high_; }
  int first_some(int k) const { return std::max(box_.low[block_.some], k > 0 ? 1 : 0); }
  int last_some(int k) const { return std::min(box_.high[block_.some], k); }
  // phi(N-A) + 2 phi(A) + phi(K-A) - 2 phi(K) - phi(N) - mu_A A
  int64_t with_some(int k, int some) const {
    return problem_.phi_up(block_.words - some) + 2 * problem_.phi_up(some) + problem_.phi_up(k - some) -
           2 * problem_.phi_down(k) - problem_.phi_down(block_.words) - mu_[block_.some] * some;
  }
  int64_t part_value(int32_t part, int g) const { return problem_.phi_up(g) - mu_[part] * g; }
  int64_t after(int k) const { return after_[k]; }
  int64_t of_parts(int k) const { return prefix_.back()[k]; }
  const std::vector<int64_t>& prefix(size_t c) const { return prefix_[c]; }

  std::vector<int64_t> extended(const std::vector<int64_t>& sums, int32_t part) const {
    std::vector<int64_t> out(high_ + 1, kNothing);
    for (int g = box_.low[part]; g <= std::min(box_.high[part], high_); ++g) {
      const int64_t value = part_value(part, g);
      for (int k = g; k <= high_; ++k) out[k] = std::max(out[k], sums[k - g] + value);
    }
    return out;
  }

  int64_t best(int& at) const {
    int64_t found = kNothing;
    for (int k = low_; k <= high_; ++k)
      if (after_[k] > kNothing && of_parts(k) > kNothing / 2 && of_parts(k) + after_[k] > found)
        found = of_parts(k) + after_[k], at = k;
    return found;
  }
  void trace(int k, int32_t* point) const {
    if (block_.some >= 0) point[block_.some] = best_some_[k], point[block_.children] = k;
    for (size_t c = block_.parts.size(); c-- > 0;) {
      const int32_t part = block_.parts[c];
      for (int g = box_.low[part]; g <= std::min(box_.high[part], k); ++g) {
        if (prefix_[c][k - g] + part_value(part, g) != prefix_[c + 1][k]) continue;
        point[part] = g;
        k -= g;
        break;
      }
    }
  }

 private:
  const CountProblem& problem_;
  const CountProblem::Block& block_;
  const CountBox& box_;
  const int64_t* mu_;
  int low_, high_;
  std::vector<int64_t> after_;
  std::vector<int> best_some_;
  std::vector<std::vector<int64_t>> prefix_;
};

void CountProblem::box_bound(const Block& block, const CountBox& box, const int64_t* mu, int64_t& best,
                             int32_t* point) const {
  const BlockTable table(*this, block, box, mu);
  int at = 0;
  best = table.best(at);
  if (best > kNothing) table.trace(at, point);
}

namespace {
// Shrinks [low, high] at both ends while the best value there is at most `needed`.
bool cut_ends(int32_t& low, int32_t& high, const std::vector<int64_t>& best, int64_t needed) {
  while (low <= high && best[low] <= needed) ++low;
  while (low <= high && best[high] <= needed) --high;
  return low <= high;
}
constexpr int kLargestTable = 256;
}  // namespace

bool CountProblem::tighten_box(const Block& block, CountBox& box, const int64_t* mu, int64_t needed) const {
  const CountBox before{box.low, box.high, {}};
  const BlockTable table(*this, block, before, mu);
  const int high = table.high();
  if (block.children >= 0) {
    std::vector<int64_t> by_total(high + 1, kNothing), by_some(before.high[block.some] + 1, kNothing);
    for (int k = table.low(); k <= high; ++k) {
      if (table.of_parts(k) <= kNothing / 2) continue;
      by_total[k] = table.of_parts(k) + table.after(k);
      for (int some = table.first_some(k); some <= table.last_some(k); ++some)
        by_some[some] = std::max(by_some[some], table.of_parts(k) + table.with_some(k, some));
    }
    if (!cut_ends(box.low[block.children], box.high[block.children], by_total, needed)) return false;
    if (!cut_ends(box.low[block.some], box.high[block.some], by_some, needed)) return false;
  }
  if (high > kLargestTable) return true;
  std::vector<int64_t> suffix(high + 1, kNothing);  // the parts after c
  suffix[0] = 0;
  for (size_t c = block.parts.size(); c-- > 0;) {
    const int32_t part = block.parts[c];
    if (before.low[part] < before.high[part]) {
      std::vector<int64_t> others(high + 1, kNothing);
      for (int k = 0; k <= high; ++k)
        for (int a = 0; a <= k; ++a)
          if (suffix[k - a] > kNothing / 2)
            others[k] = std::max(others[k], table.prefix(c)[a] + suffix[k - a]);
      std::vector<int64_t> by_part(before.high[part] + 1, kNothing);
      for (int g = before.low[part]; g <= std::min(before.high[part], high); ++g)
        for (int k = std::max(g, table.low()); k <= high; ++k)
          if (others[k - g] > kNothing / 2 && table.after(k) > kNothing)
            by_part[g] = std::max(by_part[g], others[k - g] + table.after(k) + table.part_value(part, g));
      if (!cut_ends(box.low[part], box.high[part], by_part, needed)) return false;
    }
    suffix = table.extended(suffix, part);
  }
  return true;
}

}  // namespace arcwise
