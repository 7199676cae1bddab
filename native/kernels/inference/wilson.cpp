#include "kernels/inference/wilson.hpp"

#include <algorithm>

#include "kernels/base/minus_infinity.hpp"
#include "kernels/inference/tree_elimination.hpp"

namespace arcwise {

namespace {

// Draws a tree (several roots allowed) word by word. The recursion is that of TreeElimination::solve: at a
// leaf all words except m are eliminated, those already decided with the head they have, so that escapes to
// the root give the distribution of m's head given all decisions so far.
template <typename Number>
class TreeDraw : TreeElimination<Number, false> {
  using Elimination = TreeElimination<Number, false>;
  using Elimination::levels_, Elimination::n_, Elimination::stride_, Elimination::system;

 public:
  TreeDraw(const Number* weights, int n, EliminationLevels<Number>& levels)
      : Elimination(weights, n, levels) {}

  void draw(Random& random, int32_t* heads) {
    Elimination::fill();
    random_ = &random;
    heads_ = heads;
    heads_[0] = -1;
    escape_.resize(n_ + 1);
    parts_.resize(levels_.levels.size());
    parts_[0] = {};
    parts_[0].words.resize(n_);
    for (int i = 0; i < n_; ++i) parts_[0].words[i] = i + 1;
    decide(0);
  }

 private:
  // The states that a level keeps of the level above and those it has eliminated, in the order of its rows.
  struct Part {
    std::vector<int> words, eliminated;
  };

  void decide(int level) {
    const std::vector<int>& words = parts_[level].words;
    const int states = static_cast<int>(words.size());
    if (states == 1) return draw_head(level);
    const int first = (states + 1) / 2;
    for (bool second_half : {false, true}) {
      Part& part = parts_[level + 1];
      const auto middle = words.begin() + first;
      part.words.assign(second_half ? middle : words.begin(), second_half ? words.end() : middle);
      part.eliminated.assign(second_half ? words.begin() : middle, second_half ? middle : words.end());
      const int kept = static_cast<int>(part.words.size());
      Elimination::copy_halves(level, second_half ? first : 0, kept, second_half ? 0 : first, states - kept);
      Elimination::eliminate(system(level + 1), states, kept, false);
      decide(level + 1);
      if (!second_half)
        for (int i = 0; i < first; ++i) write_decided(level, i);
    }
  }

  // At a leaf, all words except one are eliminated: u_m = 0, u_e = root_e + sum over kept words a of row_e[a]
  // u_a, level by level.
  void draw_head(int level) {
    const int word = parts_[level].words[0];
    escape_[word] = Number();
    for (int l = level; l > 0; --l) {
      const std::vector<int>&kept = parts_[l].words, &eliminated = parts_[l].eliminated;
      for (size_t e = 0; e < eliminated.size(); ++e) {
        const Number* row = system(l).row(kept.size() + e);
        Number u = row[0];
        for (size_t a = 0; a < kept.size(); ++a) u += row[1 + a] * escape_[kept[a]];
        escape_[eliminated[e]] = u;
      }
    }
    heads_[word] = draw_weighted(word);
  }

  // p(head of m = h) ∝ w(h->m) esc_m(h), and w(0->m) for the root.
  int draw_weighted(int word) {
    const Block<Number> weights{levels_.weights.data(), stride_};
    escape_[0] = Number(1.0);
    Number total = Number();
    for (int h = 0; h <= n_; ++h) total += weights.row(h)[word] * escape_[h];
    const Number scale = Number(1.0) / total;
    double left = random_->uniform();
    int last = 0;
    for (int h = 0; h <= n_; ++h) {
      const double probability = static_cast<double>(weights.row(h)[word] * escape_[h] * scale);
      if (probability == 0) continue;
      last = h;
      left -= probability;
      if (left < 0) break;
    }
    return last;
  }

  // Writes the row of a decided word in the system of a level: its head with certainty, or where that head
  // leads if it is eliminated.
  void write_decided(int level, int state) {
    const int head = heads_[parts_[level].words[state]];
    std::vector<Number>& row = decided_row_;  // exit distribution of the word: 0 is the root
    row.assign(1 + n_, Number());
    row[head] = Number(1.0);
    for (int l = 1; l <= level; ++l) {
      const std::vector<int>&kept = parts_[l].words, &eliminated = parts_[l].eliminated;
      for (size_t e = 0; e < eliminated.size(); ++e) {
        const Number share = row[eliminated[e]];
        if (share == Number()) continue;
        const Number* exits = system(l).row(kept.size() + e);
        row[0] += share * exits[0];
        for (size_t a = 0; a < kept.size(); ++a) row[kept[a]] += share * exits[1 + a];
      }
    }
    Number* to = system(level).row(state);
    to[0] = row[0];
    for (size_t a = 0; a < parts_[level].words.size(); ++a) to[1 + a] = row[parts_[level].words[a]];
  }

  Random* random_ = nullptr;
  int32_t* heads_ = nullptr;
  std::vector<Number> escape_, decided_row_;
  std::vector<Part> parts_;
};

class WilsonSampler {
 public:
  WilsonSampler(const double* scores, int n, bool single_root, Random& random, WilsonWorkspace& workspace)
      : scores_(scores),
        n_(n),
        width_(n + 1),
        single_root_(single_root),
        random_(random),
        workspace_(workspace) {}

  double run(int count, int32_t* heads) {
    const double log_partition = prepare();
    if (log_partition == MINUS_INFINITY) return log_partition;
    for (int i = 0; i < count; ++i, heads += width_) {
      const int root = single_root_ ? draw(&root_sums_[0]) : 0;
      walk_is_slow_ = walk_is_slow_ || !walk(root, heads);
      if (walk_is_slow_) eliminate(root, heads);
    }
    return log_partition;
  }

 private:
  double prepare();
  void sum_weights();
  int draw(const double* sums);
  bool walk(int root, int32_t* heads);
  void eliminate(int root, int32_t* heads);
  void draw_by_elimination(const double* scores, int n, int32_t* heads);

  const double* scores_;
  int n_, width_;
  bool single_root_, walk_is_slow_ = false;
  Random& random_;
  WilsonWorkspace& workspace_;
  std::vector<double> root_sums_;
};

double WilsonSampler::prepare() {
  sum_weights();
  if (!single_root_) return matrix_tree_log_partition(scores_, n_, false, workspace_.matrix_tree);
  workspace_.marginals.resize(static_cast<size_t>(width_) * width_);
  const double log_partition =
      matrix_tree_marginals(scores_, n_, true, workspace_.marginals.data(), workspace_.matrix_tree);
  root_sums_.assign(width_, 0);
  for (int m = 1; m <= n_; ++m) root_sums_[m] = root_sums_[m - 1] + workspace_.marginals[m];
  return log_partition;
}

// Computes prefix sums of w(h->m) over h, relative to the largest.
void WilsonSampler::sum_weights() {
  workspace_.cumulative.resize(static_cast<size_t>(width_) * width_);
  for (int m = 1; m <= n_; ++m) {
    double* sums = &workspace_.cumulative[static_cast<size_t>(m) * width_];
    double largest = MINUS_INFINITY;
    for (int h = single_root_; h <= n_; ++h)
      if (h != m) largest = std::max(largest, scores_[static_cast<size_t>(h) * width_ + m]);
    double sum = 0;
    for (int h = 0; h <= n_; ++h) {
      const bool usable = h != m && !(single_root_ && h == 0) && largest != MINUS_INFINITY;
      if (usable) sum += std::exp(scores_[static_cast<size_t>(h) * width_ + m] - largest);
      sums[h] = sum;
    }
  }
}

// Draws an index 0..n with probability proportional to the increment of the sums there.
int WilsonSampler::draw(const double* sums) {
  const double at = random_.uniform() * sums[n_];
  const double* found = std::upper_bound(sums, sums + width_, at);
  if (found == sums + width_)
    found = std::lower_bound(sums, sums + width_, sums[n_]);  // rounded up to the end
  return static_cast<int>(found - sums);
}

// Wilson's algorithm; returns false if it takes more steps than an elimination is worth, or cannot proceed.
bool WilsonSampler::walk(int root, int32_t* heads) {
  int64_t steps_left = 64 + 3 * static_cast<int64_t>(n_) * n_;
  std::vector<uint8_t>& in_tree = workspace_.in_tree;
  in_tree.assign(width_, 0);
  in_tree[root] = in_tree[0] = 1;
  heads[0] = -1;
  if (root) heads[root] = 0;
  for (int start = 1; start <= n_; ++start) {
    for (int at = start; !in_tree[at]; at = heads[at]) {  // erases a loop when its first word gets a new head
      if (--steps_left < 0) return false;
      heads[at] = draw(&workspace_.cumulative[static_cast<size_t>(at) * width_]);
    }
    for (int at = start; !in_tree[at]; at = heads[at]) in_tree[at] = 1;
  }
  return true;
}

// Uses the cheapest number type with enough range, as in matrix_tree.
void WilsonSampler::draw_by_elimination(const double* scores, int n, int32_t* heads) {
  MatrixTreeWorkspace& memory = workspace_.matrix_tree;
  const auto draw_with = [&]<typename Number>(const double* from, EliminationLevels<Number>& levels) {
    const std::vector<Number> weights = weights_as<Number>(from, n);
    TreeDraw<Number>(weights.data(), n, levels).draw(random_, heads);
  };
  if (largest_size(scores, n) < WideNumber::LARGEST_LOG) return draw_with(scores, memory.wide);
  ReducedScores reduced;
  if (reduced.reduce(scores, n, MATRIX_TREE_DEPTH) &&
      is_deep_enough(matrix_tree_log_partition(reduced.scores.data(), n, false, memory), n,
                     MATRIX_TREE_DEPTH))
    return draw_with(reduced.scores.data(), memory.wide);
  draw_with(scores, memory.tall);
}

// Draws the tree by elimination; with a single root, that word takes the place of word 0.
void WilsonSampler::eliminate(int root, int32_t* heads) {
  if (!single_root_) return draw_by_elimination(scores_, n_, heads);
  heads[0] = -1;
  heads[root] = 0;
  if (n_ == 1) return;
  const auto outer = [root](int word) { return word == 0 ? root : word < root ? word : word + 1; };
  std::vector<double>& scores = workspace_.inner_scores;
  scores.clear();
  for (int h = 0; h < n_; ++h)
    for (int m = 0; m < n_; ++m) scores.push_back(scores_[static_cast<size_t>(outer(h)) * width_ + outer(m)]);
  std::vector<int32_t>& inner = workspace_.inner_heads;
  inner.resize(n_);
  draw_by_elimination(scores.data(), n_ - 1, inner.data());
  for (int m = 1; m < n_; ++m) heads[outer(m)] = outer(inner[m]);
}

}  // namespace

double wilson_sample(const double* scores, int n, bool single_root, int count, Random& random, int32_t* heads,
                     WilsonWorkspace& workspace) {
  return WilsonSampler(scores, n, single_root, random, workspace).run(count, heads);
}

}  // namespace arcwise
