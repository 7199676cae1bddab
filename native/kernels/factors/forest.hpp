// Exact inference over a packed forest that is never stored: a grammar names its items from the bottom up and enumerates the edges of
// an item when asked. Every derivation of the top item is one labelled tree.
//
// A grammar has
//   words(), items()                the number of words; how many numbers its items need
//   top()                           the item that covers the sentence
//   each_item(visit)                visit(item), every item after those that its edges use
//   edges(item, visit)              visit(Edge)
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "kernels/base/lanes.hpp"
#include "kernels/base/minus_infinity.hpp"
#include "kernels/base/random.hpp"

namespace arcwise {

constexpr int64_t NO_ITEM = -1;

// item = left ⊗ right ⊗ exp(weight); an axiom has neither. arc: the labelled arc (label·(n+1) + head)·(n+1) + modifier that the edge
// adds, factor: the part of the factor that it uses; -1 for none.
struct ForestEdge {
  int64_t left = NO_ITEM, right = NO_ITEM;
  double weight = 0;
  int64_t arc = -1, factor = -1;
};

// An edge of an item with the ranks of its parts among their derivations, best first.
struct ForestDerivation {
  double value;
  int32_t edge, left_rank, right_rank;
};

struct ForestNode {
  std::vector<ForestEdge> edges;
  std::vector<ForestDerivation> ranked, candidates;
};

// Kept from sentence to sentence.
struct ForestWorkspace {
  std::vector<int64_t> order, pending;
  std::vector<double> inside, posterior, values;
  std::vector<ForestEdge> edges;
  std::unordered_map<int64_t, ForestNode> nodes;
};

template <typename Grammar>
class Forest {
 public:
  Forest(const Grammar& grammar, ForestWorkspace& workspace) : grammar_(grammar), w_(workspace) {
    w_.order.clear();
    grammar.each_item([&](int64_t item) { w_.order.push_back(item); });
  }

  // log Σ exp(score) over all trees; -inf if there is none.
  double log_partition() {
    return fill([](const std::vector<double>& values, double most) {
      if (values.size() <= 1) return most;
      Lanes total = spread(0.0);
      for (size_t k = 0; k < values.size(); k += LANES) total += exp_of_nonpositive(load(&values[k]) - most);
      return most + std::log(sum_of(total));
    });
  }

  // The score of the best tree, with its heads and the labels of its arcs, n+1 each.
  double decode(int32_t* heads, int32_t* labels) {
    const double best = fill([](const std::vector<double>&, double most) { return most; });
    if (best == MINUS_INFINITY) return best;
    walk(heads, labels, [](const std::vector<double>& values) {
      return std::max_element(values.begin(), values.end()) - values.begin();
    });
    return best;
  }

  // log Z; the probability of each labelled arc and the expected count of each part of the factor are added to zeroed arrays.
  double marginals(double* arcs, double* factors) {
    const double log_partition = this->log_partition();
    if (log_partition == MINUS_INFINITY) return log_partition;
    w_.posterior.assign(grammar_.items(), 0.0);
    w_.posterior[grammar_.top()] = 1;
    for (size_t at = w_.order.size(); at-- > 0;) {
      const int64_t item = w_.order[at];
      const double posterior = w_.posterior[item];
      if (posterior == 0) continue;
      collect(item);
      // The probability of an edge is that of its item times exp(edge - item).
      for (size_t k = 0; k < w_.values.size(); k += LANES)
        store(&w_.values[k], posterior * exp_of_nonpositive(load(&w_.values[k]) - w_.inside[item]));
      for (size_t k = 0; k < w_.edges.size(); ++k) {
        const ForestEdge& edge = w_.edges[k];
        const double share = w_.values[k];
        if (edge.left != NO_ITEM) w_.posterior[edge.left] += share;
        if (edge.right != NO_ITEM) w_.posterior[edge.right] += share;
        if (edge.arc >= 0) arcs[edge.arc] += share;
        if (edge.factor >= 0) factors[edge.factor] += share;
      }
    }
    return log_partition;
  }

  // log Z; count trees drawn independently, each top down in proportion to the weights of edges.
  double sample(int count, Random& random, int32_t* heads, int32_t* labels) {
    const double log_partition = this->log_partition();
    if (log_partition == MINUS_INFINITY) return log_partition;
    const size_t side = grammar_.words() + 1;
    auto choose = [&](std::vector<double>& values) {
      const double most = *std::max_element(values.begin(), values.end());
      double total = 0;
      for (double& value : values) total += value = std::exp(value - most);
      double left = random.uniform() * total;
      size_t chosen = 0;
      for (size_t k = 0; k < values.size(); ++k) {
        if (values[k] == 0) continue;
        chosen = k;
        if ((left -= values[k]) < 0) break;
      }
      return chosen;
    };
    for (int draw = 0; draw < count; ++draw) walk(heads + draw * side, labels + draw * side, choose);
    return log_partition;
  }

  // The k best trees, best first; returns how many there are. Lazy k-best (Huang & Chiang 2005, algorithm 3).
  int k_best(int k, int32_t* heads, int32_t* labels, double* values) {
    w_.nodes.clear();
    const size_t side = grammar_.words() + 1;
    if (fill([](const std::vector<double>&, double most) { return most; }) == MINUS_INFINITY) return 0;
    for (int rank = 0; rank < k; ++rank) {
      values[rank] = value_of(grammar_.top(), rank);
      if (values[rank] == MINUS_INFINITY) return rank;
      std::fill_n(heads + rank * side, side, -1);
      std::fill_n(labels + rank * side, side, -1);
      write(grammar_.top(), rank, heads + rank * side, labels + rank * side);
    }
    return k;
  }

 private:
  double value(int64_t item) const { return item == NO_ITEM ? 0.0 : w_.inside[item]; }

  // The possible edges of an item and their values; the buffer of values is readable up to a multiple of LANES, with -inf.
  void collect(int64_t item) {
    w_.edges.clear();
    w_.values.clear();
    grammar_.edges(item, [&](const ForestEdge& edge) {
      const double total = value(edge.left) + value(edge.right) + edge.weight;
      if (total == MINUS_INFINITY) return;
      w_.edges.push_back(edge);
      w_.values.push_back(total);
    });
    pad();
  }
  void pad() {
    while (w_.values.size() % LANES) w_.values.push_back(MINUS_INFINITY);
  }

  template <typename Sum>
  double fill(Sum sum) {
    w_.inside.assign(grammar_.items(), MINUS_INFINITY);
    for (int64_t item : w_.order) {
      w_.values.clear();
      double most = MINUS_INFINITY;
      grammar_.edges(item, [&](const ForestEdge& edge) {
        const double total = value(edge.left) + value(edge.right) + edge.weight;
        if (total == MINUS_INFINITY) return;
        most = total > most ? total : most;
        w_.values.push_back(total);
      });
      if (w_.values.empty()) continue;
      if (w_.values.size() > 1) pad();
      w_.inside[item] = sum(w_.values, most);
    }
    return w_.inside[grammar_.top()];
  }

  template <typename Choose>
  void walk(int32_t* heads, int32_t* labels, Choose choose) {
    std::fill_n(heads, grammar_.words() + 1, -1);
    std::fill_n(labels, grammar_.words() + 1, -1);
    w_.pending.assign({grammar_.top()});
    while (!w_.pending.empty()) {
      const int64_t item = w_.pending.back();
      w_.pending.pop_back();
      collect(item);
      const ForestEdge& edge = w_.edges[choose(w_.values)];
      note(edge, heads, labels);
      if (edge.left != NO_ITEM) w_.pending.push_back(edge.left);
      if (edge.right != NO_ITEM) w_.pending.push_back(edge.right);
    }
  }

  void note(const ForestEdge& edge, int32_t* heads, int32_t* labels) const {
    if (edge.arc < 0) return;
    const int64_t side = grammar_.words() + 1, modifier = edge.arc % side;
    heads[modifier] = static_cast<int32_t>(edge.arc / side % side);
    labels[modifier] = static_cast<int32_t>(edge.arc / side / side);
  }

  static bool is_worse(const ForestDerivation& a, const ForestDerivation& b) { return a.value < b.value; }

  // The value of the derivation of this rank, from 0; -inf if there are fewer. A reference to a node stays good while others are added.
  double value_of(int64_t item, int rank) {
    if (item == NO_ITEM) return rank == 0 ? 0.0 : MINUS_INFINITY;
    auto [place, is_new] = w_.nodes.try_emplace(item);
    ForestNode& node = place->second;
    if (is_new) {
      collect(item);
      node.edges = w_.edges;
      for (size_t k = 0; k < node.edges.size(); ++k)
        node.candidates.push_back({w_.values[k], static_cast<int32_t>(k), 0, 0});
      std::make_heap(node.candidates.begin(), node.candidates.end(), is_worse);
    }
    while (static_cast<int>(node.ranked.size()) <= rank) {
      if (!node.ranked.empty()) add_successors(node, node.ranked.back());
      if (node.candidates.empty()) return MINUS_INFINITY;
      std::pop_heap(node.candidates.begin(), node.candidates.end(), is_worse);
      node.ranked.push_back(node.candidates.back());
      node.candidates.pop_back();
    }
    return node.ranked[rank].value;
  }

  // The next derivation of the left part; of the right part only beside the best left one, so that each pair is reached once.
  void add_successors(ForestNode& node, ForestDerivation last) {
    add_candidate(node, last.edge, last.left_rank + 1, last.right_rank);
    if (last.left_rank == 0) add_candidate(node, last.edge, 0, last.right_rank + 1);
  }
  void add_candidate(ForestNode& node, int32_t number, int32_t left_rank, int32_t right_rank) {
    const ForestEdge edge = node.edges[number];
    const double value = value_of(edge.left, left_rank) + value_of(edge.right, right_rank) + edge.weight;
    if (value == MINUS_INFINITY) return;
    node.candidates.push_back({value, number, left_rank, right_rank});
    std::push_heap(node.candidates.begin(), node.candidates.end(), is_worse);
  }

  void write(int64_t item, int rank, int32_t* heads, int32_t* labels) {
    if (item == NO_ITEM) return;
    value_of(item, rank);
    const ForestNode& node = w_.nodes.at(item);
    const ForestDerivation derivation = node.ranked[rank];
    const ForestEdge edge = node.edges[derivation.edge];
    note(edge, heads, labels);
    write(edge.left, derivation.left_rank, heads, labels);
    write(edge.right, derivation.right_rank, heads, labels);
  }

  const Grammar& grammar_;
  ForestWorkspace& w_;
};

}  // namespace arcwise
