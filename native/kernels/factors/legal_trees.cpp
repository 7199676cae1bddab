#include "kernels/factors/legal_trees.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace arcwise {
namespace {

constexpr double INFINITE = std::numeric_limits<double>::infinity();
constexpr int ROOT_STEPS = 16, STEPS = 6;  // moves of the multipliers at the first node and at later ones
constexpr int DIVE_STEPS = 200;

template <typename Visit>
void each_bit(uint64_t bits, Visit visit) {
  for (; bits; bits &= bits - 1) visit(std::countr_zero(bits));
}

double tolerance(double value) { return 1e-9 * std::max(1.0, std::fabs(value)); }

}  // namespace

double LegalRules::penalty(const int32_t* heads, const int32_t* labels, int n) const {
  const size_t rules = group_costs.size();
  std::vector<uint8_t> counted(rules * (n + 1), 0);
  double total = 0;
  for (int m = 1; m <= n; ++m) {
    const int h = heads[m], label = labels[m];
    if (h <= 0 || label < 0) continue;  // rules are about the dependents of words
    each_bit(groups[label], [&](int g) {
      uint8_t& before = counted[h * rules + g];
      if (before) total += group_costs[g];
      before = 1;
    });
    if (labels[h] >= 0)
      each_bit(outsiders[label] & leaves[labels[h]], [&](int r) { total += leaf_costs[r]; });
  }
  return total;
}

LegalTree LegalDecoder::decode(LegalGains& gains, const LegalRules& rules, TreeClass trees, EisnerSpans spans,
                               int max_decodes, int32_t* heads, int32_t* labels) {
  rules_ = &rules;
  trees_ = trees;
  spans_ = spans;
  max_decodes_ = max_decodes;
  start(gains);
  queue_.push_back({INFINITE, {}, {}});
  auto worse = [](const Node& a, const Node& b) { return a.bound < b.bound; };
  double open = MINUS_INFINITY;  // the bound of what was not searched
  while (!queue_.empty()) {
    std::pop_heap(queue_.begin(), queue_.end(), worse);
    Node node = std::move(queue_.back());
    queue_.pop_back();
    if (closed(node)) break;
    if (best_.decodes >= max_decodes_) {
      open = node.bound;
      if (!best_.found) dive(std::move(node));
      break;
    }
    const bool is_root = node.decisions.empty();
    for (Node& child : solve(node)) {
      queue_.push_back(std::move(child));
      std::push_heap(queue_.begin(), queue_.end(), worse);
    }
    // A legal tree to begin with: what is worse than it need not be searched.
    if (is_root && !best_.found && !queue_.empty()) dive(queue_.front());
  }
  best_.bound = std::max(open, best_.value);
  if (best_.found) {
    std::copy(best_heads_.begin(), best_heads_.end(), heads);
    std::copy(best_labels_.begin(), best_labels_.end(), labels);
  }
  return best_;
}

void LegalDecoder::start(LegalGains& gains) {
  source_ = &gains;
  gains.start(gains_, base_arcs_, base_labels_);
  n_ = gains_.n;
  groups_ = rules_->group_costs.size();
  best_ = {};
  queue_.clear();
  const size_t side = n_ + 1;
  heads_.assign(side, -1);
  labels_.assign(side, -1);
}

const double* LegalDecoder::gains_of(int h, int m) {
  if (!gains_.has(h, m)) source_->add(h, m, gains_);
  return gains_.of(h, m);
}

void LegalDecoder::load(const Node& node) {
  const size_t side = n_ + 1;
  arcs_ = base_arcs_;
  arc_labels_ = base_labels_;
  multipliers_.assign(side * groups_, 0.0);
  no_group_.assign(side * side, 0);
  group_required_.assign(side, 0);
  required_head_.assign(side, -1);
  no_leaf_.assign(side, 0);
  no_outsiders_.assign(side, 0);
  pays_.assign(side, 0);
  for (const Decision& decision : node.decisions) apply(decision);
  for (const Multiplier& multiplier : node.multipliers)
    multipliers_[multiplier.head * groups_ + multiplier.rule] = multiplier.value;
  // Only now, because the gain of an arc depends on all of these.
  for (const Decision& decision : node.decisions) {
    rate_head(decision.head);
    for (int h = 0; h <= n_; ++h) {
      rate_arc(h, decision.head);
      if (decision.kind == Kind::group_arc) rate_arc(h, decision.first);
    }
  }
  for (const Multiplier& multiplier : node.multipliers) rate_head(multiplier.head);
}

void LegalDecoder::apply(const Decision& decision) {
  const uint64_t bit = uint64_t{1} << decision.rule;
  switch (decision.kind) {
    case Kind::no_group:
      for (int m = decision.first; m <= decision.last; ++m) no_group_[decision.head * (n_ + 1) + m] |= bit;
      break;
    case Kind::group_arc:
      required_head_[decision.first] = decision.head;
      group_required_[decision.first] |= bit;
      break;
    case Kind::pay_group:
      break;  // its multiplier is fixed
    case Kind::no_leaf:
      no_leaf_[decision.head] |= bit;
      break;
    case Kind::no_outsiders:
      no_outsiders_[decision.head] |= bit;
      break;
    case Kind::pay_leaf:
      pays_[decision.head] |= bit;
      break;
  }
}

// The best permitted label of an arc, and its gain less what it costs.
void LegalDecoder::rate_arc(int h, int m) {
  const size_t at = h * (n_ + 1) + m;
  if (m == 0 || base_arcs_[at] == MINUS_INFINITY) return;
  arcs_[at] = MINUS_INFINITY;
  if (required_head_[m] >= 0 && required_head_[m] != h) return;
  const double* values = gains_of(h, m);
  const int count = gains_.count(h, m);
  for (int s = 0; s < count; ++s) {
    if (values[s] <= arcs_[at]) continue;  // multipliers and costs only lower it
    const int label = gains_.label_of(h, m, s);
    const uint64_t groups = h > 0 ? rules_->groups[label] : 0;
    const uint64_t leaves = rules_->leaves[label], outsiders = h > 0 ? rules_->outsiders[label] : 0;
    if ((groups & no_group_[at]) || (leaves & no_leaf_[m]) || (outsiders & no_outsiders_[h])) continue;
    if ((groups & group_required_[m]) != group_required_[m] || (leaves & pays_[m]) != pays_[m]) continue;
    double value = values[s];
    each_bit(groups, [&](int g) { value -= multipliers_[h * groups_ + g]; });
    each_bit(outsiders & pays_[h], [&](int r) { value -= rules_->leaf_costs[r]; });
    if (value > arcs_[at]) {
      arcs_[at] = value;
      arc_labels_[at] = label;
    }
  }
}
void LegalDecoder::rate_head(int h) {
  for (int m = 1; m <= n_; ++m) rate_arc(h, m);
}

// The tree of the node's relaxation and its bound; a legal tree may become the best one. False if the node has no tree.
bool LegalDecoder::evaluate(Node& node) {
  ++best_.decodes;
  const double value = inference_.decode(arcs_.data(), n_, trees_, heads_.data(), spans_);
  if (value == MINUS_INFINITY) return false;
  double bound = value, gain = 0;
  for (const Multiplier& multiplier : node.multipliers) bound += multiplier.value;
  node.bound = std::min(node.bound, bound);
  for (int m = 1; m <= n_; ++m) {
    const int h = heads_[m], label = arc_labels_[h * (n_ + 1) + m];
    labels_[m] = label;
    const double* values = gains_of(h, m);
    for (int s = 0, count = gains_.count(h, m); s < count; ++s)
      if (gains_.label_of(h, m, s) == label) {
        gain += values[s];
        break;
      }
  }
  gain -= rules_->penalty(heads_.data(), labels_.data(), n_);
  if (gain > best_.value) {
    best_.found = true;
    best_.value = gain;
    best_heads_ = heads_;
    best_labels_ = labels_;
  }
  return true;
}

bool LegalDecoder::closed(const Node& node) const {
  return best_.found && node.bound <= best_.value + tolerance(best_.value);
}

// The children that are left to search; none if the node is settled.
std::vector<LegalDecoder::Node> LegalDecoder::solve(Node& node) {
  const int steps = node.decisions.empty() ? ROOT_STEPS : STEPS;
  load(node);
  for (int step = 0;; ++step) {
    if (!evaluate(node) || closed(node)) return {};
    if (step == steps || best_.decodes >= max_decodes_ || !move(node)) break;
  }
  relax_slack(node);
  return closed(node) ? std::vector<Node>{} : children(node, violation());
}

// Always on to the child with the higher bound, until the tree is legal or a child has no tree.
void LegalDecoder::dive(Node node) {
  for (int step = 0; step < DIVE_STEPS; ++step) {
    load(node);
    if (!evaluate(node)) return;
    Node* best = nullptr;
    std::vector<Node> next = children(node, violation());
    for (Node& child : next) {
      child.bound = INFINITE;
      load(child);
      if (evaluate(child) && (!best || child.bound > best->bound)) best = &child;
    }
    if (!best || best_.found) return;
    node = std::move(*best);
  }
}

// A multiplier at a group that the tree does not use costs without reason: without it the tree breaks a rule, or is optimal.
void LegalDecoder::relax_slack(Node& node) {
  while (violation().rule < 0 && !closed(node)) {
    bool changed = false;
    for (Multiplier& multiplier : node.multipliers)
      if (!multiplier.fixed && multiplier.value > 0 && counted(multiplier.head, multiplier.rule).empty()) {
        multiplier.value = multipliers_[multiplier.head * groups_ + multiplier.rule] = 0;
        rate_head(multiplier.head);
        changed = true;
      }
    if (!changed || !evaluate(node)) return;
  }
}

std::vector<int> LegalDecoder::counted(int head, int rule) const {
  std::vector<int> words;
  for (int m = 1; m <= n_; ++m)
    if (heads_[m] == head && (rules_->groups[labels_[m]] >> rule & 1)) words.push_back(m);
  return words;
}

LegalDecoder::Multiplier* LegalDecoder::multiplier_of(Node& node, int head, int rule) const {
  for (Multiplier& multiplier : node.multipliers)
    if (multiplier.head == head && multiplier.rule == rule) return &multiplier;
  return nullptr;
}

// Moves every multiplier whose group is used more than once, or not at all, towards the value where it is used once.
bool LegalDecoder::move(Node& node) {
  for (int m = 1; m <= n_; ++m)
    if (heads_[m] > 0)
      each_bit(rules_->groups[labels_[m]], [&](int g) {
        const std::vector<int> words = counted(heads_[m], g);
        if (words.size() > 1 && words[0] == m && !multiplier_of(node, heads_[m], g))
          node.multipliers.push_back({heads_[m], g, 0, 0, rules_->group_costs[g], false});
      });
  bool changed = false;
  for (Multiplier& multiplier : node.multipliers) {
    if (multiplier.fixed) continue;
    const double before = multiplier.value;
    const std::vector<int> words = counted(multiplier.head, multiplier.rule);
    if (words.size() == 1 || (words.empty() && before == 0)) continue;
    if (words.empty()) {
      multiplier.high = before;
      multiplier.value = (multiplier.low + before) / 2;
    } else if (!raise(multiplier, words)) {
      continue;
    }
    if (std::fabs(multiplier.value - before) <= tolerance(before)) {
      multiplier.value = before;
      continue;
    }
    multipliers_[multiplier.head * groups_ + multiplier.rule] = multiplier.value;
    rate_head(multiplier.head);
    changed = true;
  }
  return changed;
}

// To between the losses of the two words that lose most when they leave the group: all but one of them then leave it.
bool LegalDecoder::raise(Multiplier& multiplier, const std::vector<int>& words) {
  const double cost = rules_->group_costs[multiplier.rule];
  if (multiplier.value >= cost) return false;  // the tree pays, which is exact
  multiplier.low = multiplier.value;
  if (multiplier.high <= multiplier.low) multiplier.high = cost;  // other multipliers have moved since
  std::vector<double> losses;
  for (int m : words) losses.push_back(loss_without(multiplier, m));
  std::sort(losses.begin(), losses.end());
  const double second = losses[losses.size() - 2], first = losses.back();
  if (second <= 0) return false;  // all but one leave already, for another multiplier
  const double step = first < INFINITE ? (first + second) / 2 : second < INFINITE ? second + 1 : 1;
  double value = multiplier.low + step;
  if (value >= multiplier.high && multiplier.high < cost) value = (multiplier.low + multiplier.high) / 2;
  multiplier.value = std::min(value, cost);
  return true;
}

// What the word loses with its best arc outside the group, trees left aside.
double LegalDecoder::loss_without(const Multiplier& multiplier, int word) {
  const int h = multiplier.head;
  double best = MINUS_INFINITY;
  for (int other = 0; other <= n_; ++other)
    if (other != h) best = std::max(best, arcs_[other * (n_ + 1) + word]);
  const double* values = gains_of(h, word);
  for (int s = 0, count = gains_.count(h, word); s < count; ++s) {
    const uint64_t groups = rules_->groups[gains_.label_of(h, word, s)];
    if (groups >> multiplier.rule & 1) continue;
    double value = values[s];
    each_bit(groups, [&](int g) { value -= multipliers_[h * groups_ + g]; });
    best = std::max(best, value);
  }
  return arcs_[h * (n_ + 1) + word] - best;
}

// A rule that the tree breaks and the node does not pay for exactly; rule -1 if there is none.
LegalDecoder::Violation LegalDecoder::violation() const {
  for (int m = 1; m <= n_; ++m) {
    const int h = heads_[m];
    if (h == 0) continue;
    Violation at{true, -1, h, {}};
    each_bit(rules_->groups[labels_[m]], [&](int g) {
      if (at.rule >= 0 || multipliers_[h * groups_ + g] >= rules_->group_costs[g]) return;
      std::vector<int> words = counted(h, g);
      if (words.size() > 1) {
        at.rule = g;
        at.words = std::move(words);
      }
    });
    if (at.rule >= 0) return at;
    const uint64_t broken = rules_->outsiders[labels_[m]] & rules_->leaves[labels_[h]] & ~pays_[h];
    if (broken) return {false, std::countr_zero(broken), h, {}};
  }
  return {true, -1, -1, {}};
}

// Every tree that obeys the rule, or pays for it, is in a child. None if there is no rule.
std::vector<LegalDecoder::Node> LegalDecoder::children(const Node& node, const Violation& at) const {
  const int h = at.head, rule = at.rule;
  if (rule < 0) return {};
  if (!at.group) {
    std::vector<Node> both{child(node, {{Kind::no_leaf, rule, h, 0, 0}}),
                           child(node, {{Kind::no_outsiders, rule, h, 0, 0}})};
    if (rules_->leaf_costs[rule] < INFINITE) both.push_back(child(node, {{Kind::pay_leaf, rule, h, 0, 0}}));
    return both;
  }
  if (rules_->group_costs[rule] == INFINITE) {
    const int middle = at.words[(at.words.size() - 1) / 2];
    return {child(node, {{Kind::no_group, rule, h, 1, middle}}),
            child(node, {{Kind::no_group, rule, h, middle + 1, n_}})};
  }
  const int a = at.words[0], b = at.words[1];
  const Decision with_a{Kind::group_arc, rule, h, a, a}, with_b{Kind::group_arc, rule, h, b, b};
  return {child(node, {{Kind::no_group, rule, h, a, a}}),
          child(node, {with_a, {Kind::no_group, rule, h, b, b}}),
          child(node, {with_a, with_b, {Kind::pay_group, rule, h, 0, 0}})};
}

LegalDecoder::Node LegalDecoder::child(const Node& node, const std::vector<Decision>& decisions) const {
  Node child = node;
  for (const Decision& decision : decisions) {
    if (decision.kind == Kind::pay_group) {
      const double cost = rules_->group_costs[decision.rule];
      Multiplier* multiplier = multiplier_of(child, decision.head, decision.rule);
      if (!multiplier) multiplier = &child.multipliers.emplace_back();
      *multiplier = {decision.head, decision.rule, cost, 0, cost, true};
    }
    child.decisions.push_back(decision);
  }
  return child;
}

}  // namespace arcwise
