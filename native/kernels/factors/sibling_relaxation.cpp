#include "kernels/factors/sibling_relaxation.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/interruption.hpp"
#include "kernels/base/minus_infinity.hpp"

namespace arcwise {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
// Of Polyak's step, which aims at the best tree known: nearly 2, the most with which it approaches the multipliers of a proof if that tree
// is the best of all, as it mostly is; smaller after each step in vain, slowly, or trees that multipliers could prove are left to
// branching.
constexpr double FIRST_SHARE = 1.9, SHARE_KEPT = 0.998;
constexpr double MEMORY = 0.9;  // of the averages that branching goes by

double tolerance(double value) { return 1e-9 * std::max(1.0, std::fabs(value)); }

}  // namespace

void HeadAutomata::start(const SiblingSentence& sentence, const int32_t* required) {
  sentence_ = &sentence;
  required_ = required;
  best_.resize(sentence.n + 1);
}

double HeadAutomata::solve(int h, const double* weights, uint8_t* chosen) {
  const int64_t side = sentence_->n + 1;
  std::fill_n(chosen + h * side, side, 0);
  if (h == 0 && sentence_->single_root) return solve_single_root(weights, chosen);
  return solve_side(h, 1, weights, chosen) + (h > 0 ? solve_side(h, -1, weights, chosen) : 0);
}

double HeadAutomata::solve_single_root(const double* weights, uint8_t* chosen) const {
  int best = 1;
  auto value = [&](int m) { return weights[m] + sentence_->siblings[m]; };
  for (int m = 2; m <= sentence_->n; ++m)
    if (value(m) > value(best)) best = m;
  chosen[best] = 1;
  return value(best);
}

// best(m) = weight(h,m) + max(first(h,m), max_s best(s) + sibling(h,s,m)), outward; no required dependent is passed over.
double HeadAutomata::solve_side(int h, int step, const double* weights, uint8_t* chosen) {
  const int n = sentence_->n, end = step > 0 ? n : 1;
  if (h == end || (step < 0 && h < 1)) return 0;
  const int64_t side = n + 1;
  const double *siblings = sentence_->siblings + h * side * side, *row = weights + h * side;
  auto is_required = [&](int m) { return required_[m] == h; };
  // From s on, the next dependent lies at most at the next required one.
  auto extend = [&](int s, double value) {
    int last = s + step;
    while (last != end && !is_required(last)) last += step;
    const int low = std::min(s + step, last), high = std::max(s + step, last);
    const double* from = siblings + s * side;
    for (int m = low; m <= high; ++m) best_[m] = std::max(best_[m], value + from[m]);
  };
  std::fill(best_.begin(), best_.end(), MINUS_INFINITY);
  extend(h, 0);
  double total = h == 0 ? MINUS_INFINITY : 0;  // some word depends on the root
  int last = h;
  for (int m = h + step;; m += step) {
    best_[m] += row[m];
    if (is_required(m)) total = MINUS_INFINITY;
    if (best_[m] > total || is_required(m)) {
      total = best_[m];
      last = m;
    }
    if (m == end) break;
    if (best_[m] > MINUS_INFINITY) extend(m, best_[m]);
  }
  if (total == MINUS_INFINITY) return total;
  // The same sums again lead back.
  while (last != h) {
    chosen[h * side + last] = 1;
    int before = h;
    for (int s = last - step; s != h; s -= step) {
      if (best_[s] > MINUS_INFINITY && best_[s] + siblings[s * side + last] + row[last] == best_[last]) {
        before = s;
        break;
      }
      if (is_required(s)) break;
    }
    last = before;
  }
  return total;
}

CertifiedTree SiblingRelaxation::decode(const SiblingSentence& sentence, const RelaxationLimits& limits,
                                        int32_t* heads) {
  sentence_ = &sentence;
  n_ = sentence.n;
  best_ = {};
  heads_.assign(n_ + 1, -1);
  // The best projective tree is a good one to begin with.
  if (eisner_siblings_decode(sentence, heads_.data(), projective_) > MINUS_INFINITY) consider(heads_.data());
  Node root{INFINITE, {}, {}};
  start_multipliers(root);
  std::vector<Node> queue;
  queue.push_back(std::move(root));
  auto worse = [](const Node& a, const Node& b) { return a.bound < b.bound; };
  double open = MINUS_INFINITY;
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), worse);
    Node node = std::move(queue.back());
    queue.pop_back();
    if (closed(node)) break;
    const int left = limits.max_decodes - best_.decodes;
    if (left <= 0) {
      open = node.bound;
      break;
    }
    best_.branched = !node.decisions.empty();
    if (!solve(node, std::min(left, best_.branched ? limits.node_decodes : limits.root_decodes))) continue;
    const Decision decision = branching();
    for (bool required : {true, false}) {
      Node child = node;
      child.decisions.push_back({decision.head, decision.modifier, required});
      queue.push_back(std::move(child));
      std::push_heap(queue.begin(), queue.end(), worse);
    }
  }
  best_.bound = std::max(open, best_.value);
  if (best_.found) std::copy(best_heads_.begin(), best_heads_.end(), heads);
  return best_;
}

// A number added to all arcs of a word changes every tree alike: such numbers that the automata, too, give each word about one head.
void SiblingRelaxation::start_multipliers(Node& node) const {
  const int64_t side = n_ + 1;
  node.multipliers.assign(side * side, 0);
  for (int m = 1; m <= n_; ++m) {
    double best = MINUS_INFINITY, second = MINUS_INFINITY;
    for (int h = 0; h <= n_; ++h) {
      if (h == m) continue;
      const double value = sentence_->arcs[cell(h, m)] / 2 + sentence_->siblings[(h * side + h) * side + m];
      if (value > best)
        second = best, best = value;
      else if (value > second)
        second = value;
    }
    if (best == MINUS_INFINITY) continue;
    const double middle = second == MINUS_INFINITY ? best - 1 : (best + second) / 2;
    for (int h = 0; h <= n_; ++h) node.multipliers[cell(h, m)] = middle;
  }
}

void SiblingRelaxation::load(const Node& node) {
  const int64_t side = n_ + 1;
  arcs_.assign(sentence_->arcs, sentence_->arcs + side * side);
  for (double& score : arcs_) score /= 2;
  required_.assign(side, -1);
  for (const Decision& decision : node.decisions) {
    if (decision.required) {
      required_[decision.modifier] = decision.head;
      for (int h = 0; h <= n_; ++h)
        if (h != decision.head) arcs_[cell(h, decision.modifier)] = MINUS_INFINITY;
    } else {
      arcs_[cell(decision.head, decision.modifier)] = MINUS_INFINITY;
    }
  }
  for (int m = 0; m <= n_; ++m) arcs_[cell(m, m)] = arcs_[cell(m, 0)] = MINUS_INFINITY;
  automata_.start(*sentence_, required_.data());
  tree_scores_.assign(side * side, MINUS_INFINITY);
  weights_.assign(side * side, MINUS_INFINITY);
  for (size_t at = 0; at < arcs_.size(); ++at) {
    tree_scores_[at] = arcs_[at] + node.multipliers[at];
    weights_[at] = arcs_[at] - node.multipliers[at];
  }
  chosen_.assign(side * side, 0);
  head_values_.assign(side, 0);
  is_stale_.assign(side, 1);
  averages_.assign(side * side, 0);
}

// Lowers the node's bound; false if the node is settled.
bool SiblingRelaxation::solve(Node& node, int decodes) {
  load(node);
  double share = FIRST_SHARE;
  double lowest = INFINITE;
  std::vector<double> best_multipliers = node.multipliers;
  for (int step = 0; step < decodes; ++step) {
    check_work_limit(step);
    const double value = evaluate(node);
    if (value == MINUS_INFINITY) return false;
    if (value < lowest) {
      lowest = value;
      best_multipliers = node.multipliers;
    } else {
      share *= SHARE_KEPT;
    }
    node.bound = std::min(node.bound, value);
    if (closed(node)) return false;
    const double length = subgradient();
    if (length == 0) return false;  // the tree was considered, and is the best one of the node
    const double target = best_.found ? best_.value : value - std::max(1.0, std::fabs(value)) / (step + 1);
    const double by = share * (value - target) / length;
    for (size_t k = 0; k < differences_.size(); ++k) {
      const size_t at = differences_[k];
      const double change = by * signs_[k];
      node.multipliers[at] -= change;
      tree_scores_[at] -= change;
      weights_[at] += change;
      is_stale_[at / (n_ + 1)] = 1;
    }
  }
  node.multipliers = std::move(best_multipliers);
  return true;
}

// The relaxation at the node's multipliers: an upper bound; -inf if the node has no tree.
double SiblingRelaxation::evaluate(const Node&) {
  ++best_.decodes;
  double value =
      spanning_tree_decode(tree_scores_.data(), n_, sentence_->single_root, heads_.data(), spanning_tree_);
  if (value == MINUS_INFINITY) return value;
  consider(heads_.data());
  for (int h = 0; h <= n_; ++h) {
    if (is_stale_[h]) head_values_[h] = automata_.solve(h, weights_.data(), chosen_.data());
    is_stale_[h] = 0;
    if (head_values_[h] == MINUS_INFINITY) return MINUS_INFINITY;
    value += head_values_[h];
  }
  return value;
}

double SiblingRelaxation::score(const int32_t* heads) const {
  const int64_t side = n_ + 1;
  double total = 0;
  for (int m = 1; m <= n_; ++m) total += sentence_->arcs[cell(heads[m], m)];
  for (int h = 0; h <= n_; ++h)
    for (int step = h == 0 ? 1 : -1; step <= 1; step += 2)
      for (int m = h + step, s = h; m >= 1 && m <= n_; m += step)
        if (heads[m] == h) {
          total += sentence_->siblings[(h * side + s) * side + m];
          s = m;
        }
  return total;
}

void SiblingRelaxation::consider(const int32_t* heads) {
  const double value = score(heads);
  if (!(value > best_.value)) return;
  best_.found = true;
  best_.value = value;
  best_heads_.assign(heads, heads + n_ + 1);
}

// Where the tree and the automata differ; the squared length of y - z.
double SiblingRelaxation::subgradient() {
  differences_.clear();
  signs_.clear();
  for (double& average : averages_) average *= MEMORY;
  for (int h = 0; h <= n_; ++h)
    for (int m = 1; m <= n_; ++m) {
      const size_t at = cell(h, m);
      const int in_tree = heads_[m] == h, in_automata = chosen_[at];
      averages_[at] += (1 - MEMORY) * (in_tree + in_automata) / 2;
      if (in_tree == in_automata) continue;
      differences_.push_back(static_cast<int32_t>(at));
      signs_.push_back(static_cast<int8_t>(in_tree - in_automata));
    }
  return static_cast<double>(differences_.size());
}

bool SiblingRelaxation::closed(const Node& node) const {
  return best_.found && node.bound <= best_.value + tolerance(best_.value);
}

// The arc that is in about half of the last solutions, among those on which tree and automata differ.
SiblingRelaxation::Decision SiblingRelaxation::branching() const {
  size_t best = differences_[0];
  auto doubt = [&](size_t at) { return averages_[at] * (1 - averages_[at]); };
  for (const int32_t at : differences_)
    if (doubt(at) > doubt(best)) best = at;
  return {static_cast<int>(best / (n_ + 1)), static_cast<int>(best % (n_ + 1)), true};
}

}  // namespace arcwise
