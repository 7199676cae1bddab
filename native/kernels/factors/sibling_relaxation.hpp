// The best tree, crossing arcs allowed, with scores of adjacent siblings: NP-hard in general, and mostly easy.
//
// Dual decomposition (Koo, Rush, Collins, Jaakkola & Sontag 2010): half of each arc's score goes to a spanning tree y, half to the head
// automata z, which choose the dependents of each head on their own, with siblings:
//
//   max_y score(y)  <=  max_{y a tree} Σ (arc/2 + u) · y  +  Σ_h max_z Σ (arc/2 - u) · z + siblings(z)        for every u
//
// Where both agree the tree is optimal. u moves along the subgradient y - z; what is left is branched on: an arc is required in one half
// of the trees and forbidden in the other.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/factors/eisner_siblings.hpp"
#include "kernels/inference/spanning_tree.hpp"

namespace arcwise {

struct CertifiedTree {
  bool found = false;
  double value = -std::numeric_limits<double>::infinity();
  double bound = std::numeric_limits<double>::infinity();  // no tree is better
  int decodes = 0;  // spanning trees, each with one round of head automata
  bool branched = false;
};

struct RelaxationLimits {
  int root_decodes = 200;    // before branching
  int node_decodes = 50;     // of each later node
  int max_decodes = 20'000;  // in all
};

// The best dependents of every head, on its own (head automata of adjacent siblings). O(n²) a head.
class HeadAutomata {
 public:
  // weights: (n+1)², of arcs. required: the head that each word must have, or -1.
  void start(const SiblingSentence& sentence, const int32_t* required);
  // Solves head h anew; the score of its dependents, which are set in chosen (n+1)².
  double solve(int h, const double* weights, uint8_t* chosen);

 private:
  double solve_side(int h, int step, const double* weights, uint8_t* chosen);
  double solve_single_root(const double* weights, uint8_t* chosen) const;

  const SiblingSentence* sentence_ = nullptr;
  const int32_t* required_ = nullptr;
  std::vector<double> best_;  // by last dependent
};

class SiblingRelaxation {
 public:
  // heads: n+1. `spans` of the sentence must be empty.
  CertifiedTree decode(const SiblingSentence& sentence, const RelaxationLimits& limits, int32_t* heads);

 private:
  struct Decision {
    int head, modifier;
    bool required;
  };
  struct Node {
    double bound;
    std::vector<Decision> decisions;
    std::vector<double> multipliers;  // (n+1)²
  };

  void start_multipliers(Node& node) const;
  void load(const Node& node);
  bool solve(Node& node, int decodes);
  double evaluate(const Node& node);
  double score(const int32_t* heads) const;
  void consider(const int32_t* heads);
  double subgradient();
  bool closed(const Node& node) const;
  Decision branching() const;
  size_t cell(int h, int m) const { return static_cast<size_t>(h) * (n_ + 1) + m; }

  const SiblingSentence* sentence_ = nullptr;
  int n_ = 0;
  CertifiedTree best_;
  std::vector<int32_t> best_heads_;
  HeadAutomata automata_;
  EisnerSiblingsWorkspace projective_;
  SpanningTreeWorkspace spanning_tree_;
  std::vector<double> arcs_;  // half of each, -inf where the node forbids it
  std::vector<double> tree_scores_, weights_, head_values_, averages_;
  std::vector<int32_t> required_, heads_;
  std::vector<uint8_t> chosen_, is_stale_;
  std::vector<int32_t> differences_;  // cells where tree and automata differ: +1 for the tree's
  std::vector<int8_t> signs_;
};

}  // namespace arcwise
