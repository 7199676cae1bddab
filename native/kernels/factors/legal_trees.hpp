// The best labelled tree under rules over the dependents of a word, in all four classes of trees.
//
// The rules couple arcs, so the tree is found by Lagrangian relaxation (Rush & Collins 2012) over the ordinary decoder, tightened by
// branch and bound. A group rule "at most one dependent of h has a label of g" gets a multiplier u(h,g) >= 0:
//
//   max_tree score - Σ cost · (count - 1)⁺  <=  max_tree score - Σ u · (count - 1)      for every u in [0, cost]
//
// The right side is one arc-factored decode. A tree that breaks no rule, and has count = 1 wherever u > 0, is optimal. What
// multipliers do not settle is branched on: in every legal tree one half of the words has no dependent of h in g.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/inference/arc_scores.hpp"
#include "kernels/inference/tree_inference.hpp"

namespace arcwise {

// By label, one bit per rule. A rule with a finite cost may be broken for that cost per surplus dependent.
struct LegalRules {
  std::vector<uint64_t> groups;     // the groups that the label belongs to
  std::vector<uint64_t> leaves;     // the leaf rules that words with this label must obey
  std::vector<uint64_t> outsiders;  // the leaf rules that forbid a dependent with this label
  std::vector<double> group_costs, leaf_costs;

  // What the tree pays: 0 if it is legal, infinite if it breaks a hard rule. Labels may be -1.
  double penalty(const int32_t* heads, const int32_t* labels, int n) const;
};

struct LegalTree {
  bool found = false;
  double value = -std::numeric_limits<double>::infinity();  // gains less costs
  double bound = std::numeric_limits<double>::infinity();   // no legal tree is better
  int decodes = 0;
};

// The gains of labelled arcs, one number each. A search reads the best label of every arc, but all labels of few.
class LegalGains {
 public:
  virtual ~LegalGains() = default;
  // Starts `gains`; the best label of each arc and its gain, (n+1)², -inf where there is no arc. May add arcs to the gains.
  virtual void start(ArcScores<double>& gains, std::vector<double>& arcs, std::vector<int32_t>& labels) = 0;
  // Adds an arc, with the gains of all its labels.
  virtual void add(int h, int m, ArcScores<double>& gains) = 0;
};

class LegalDecoder {
 public:
  // heads and labels: n+1 each. At most so many arc-factored decodes.
  LegalTree decode(LegalGains& gains, const LegalRules& rules, TreeClass trees, EisnerSpans spans,
                   int max_decodes, int32_t* heads, int32_t* labels);

 private:
  enum class Kind : uint8_t { no_group, group_arc, pay_group, no_leaf, no_outsiders, pay_leaf };
  // Of head, and of the words first..last where a group rule is about arcs.
  struct Decision {
    Kind kind;
    int rule, head, first, last;
  };
  struct Multiplier {
    int head, rule;
    double value, low, high;
    bool fixed;
  };
  struct Node {
    double bound;
    std::vector<Decision> decisions;
    std::vector<Multiplier> multipliers;
  };
  struct Violation {
    bool group;
    int rule, head;
    std::vector<int> words;  // the dependents that a group rule counts
  };

  void start(LegalGains& gains);
  const double* gains_of(int h, int m);
  void load(const Node& node);
  void apply(const Decision& decision);
  void rate_arc(int h, int m);
  void rate_head(int h);
  bool evaluate(Node& node);
  std::vector<Node> solve(Node& node);
  void dive(Node node);
  void relax_slack(Node& node);
  bool move(Node& node);
  bool raise(Multiplier& multiplier, const std::vector<int>& words);
  double loss_without(const Multiplier& multiplier, int word);
  Violation violation() const;
  std::vector<int> counted(int head, int rule) const;
  Multiplier* multiplier_of(Node& node, int head, int rule) const;
  std::vector<Node> children(const Node& node, const Violation& at) const;
  Node child(const Node& node, const std::vector<Decision>& decisions) const;
  bool closed(const Node& node) const;

  LegalGains* source_ = nullptr;
  ArcScores<double> gains_;  // of the arcs that were read
  const LegalRules* rules_ = nullptr;
  TreeClass trees_;
  EisnerSpans spans_;
  TreeInference inference_;
  int n_ = 0, max_decodes_ = 0;
  size_t groups_ = 0;
  LegalTree best_;
  std::vector<int32_t> best_heads_, best_labels_;
  std::vector<Node> queue_;  // a heap, highest bound first
  // The arc-factored problem of the node at hand: the best permitted label of each arc and its gain less multipliers.
  std::vector<double> base_arcs_, arcs_;
  std::vector<int32_t> base_labels_, arc_labels_;
  std::vector<double> multipliers_;                  // (n+1, groups)
  std::vector<uint64_t> no_group_, group_required_;  // by arc
  std::vector<int32_t> required_head_;               // by word, -1: free
  std::vector<uint64_t> no_leaf_, no_outsiders_,
      pays_;                             // by word; pays_: it has such a label and pays for outsiders
  std::vector<int32_t> heads_, labels_;  // the tree of the last evaluation
};

}  // namespace arcwise
