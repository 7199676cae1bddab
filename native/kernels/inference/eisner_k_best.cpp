// The k best projective trees, lazily (Huang & Chiang 2005, algorithm 3). A tree has one derivation in the
// chart, so distinct derivations are distinct trees.
#include "kernels/base/minus_infinity.hpp"
#include "kernels/inference/eisner_chart.hpp"

namespace arcwise {

namespace {

// Nodes are the cells S(i,j) and C(head, end) of the chart; a derivation of a node is a split and the ranks
// of its parts.
//   S(i,j), split k:       C(i→k) and C(k+1←j)
//   C(head, end), split m: the arc head→m, S between them, and C(m, end)
class LazyTrees {
 public:
  LazyTrees(const double* scores, int n, bool single_root, EisnerSpans spans, EisnerWorkspace& workspace)
      : n_(n),
        chart_(scores, n, single_root, spans, workspace.chart),
        numbers_(workspace.node_numbers),
        nodes_(workspace.nodes) {
    numbers_.assign(2 * static_cast<size_t>(n + 1) * (n + 1), -1);
    nodes_.clear();
  }

  // Writes the tree of the given rank (from 0) and returns its score; -inf if there are fewer trees.
  double tree(int rank, int32_t* heads) {
    if (chart_.total() == MINUS_INFINITY) return MINUS_INFINITY;
    const double value = value_of(complete(0, n_, rank));
    heads[0] = -1;
    if (value > MINUS_INFINITY) write_complete(0, n_, rank, heads);
    return value;
  }

 private:
  static bool worse(const EisnerDerivation& a, const EisnerDerivation& b) {
    if (a.value != b.value) return a.value < b.value;
    if (a.split != b.split) return a.split > b.split;
    return a.left_rank != b.left_rank ? a.left_rank > b.left_rank : a.right_rank > b.right_rank;
  }

  static double value_of(const EisnerDerivation* d) { return d ? d->value : MINUS_INFINITY; }

  EisnerNode& node(bool is_span, int a, int b, bool& is_new) {
    int32_t& number = numbers_[(static_cast<size_t>(is_span) * (n_ + 1) + a) * (n_ + 1) + b];
    is_new = number < 0;
    if (is_new) {
      number = static_cast<int32_t>(nodes_.size());
      nodes_.emplace_back();
    }
    return nodes_[number];
  }

  static void offer(EisnerNode& node, EisnerDerivation derivation) {
    if (derivation.value == MINUS_INFINITY) return;
    node.candidates.push_back(derivation);
    std::push_heap(node.candidates.begin(), node.candidates.end(), worse);
  }

  // The derivation of a rank, or null. `splits` initialises a new node with the best derivation of each split
  // (the first is `first`); value(derivation) is its value, -inf if one of its parts has too few derivations.
  template <typename Splits, typename Value>
  const EisnerDerivation* derivation(EisnerNode& node, bool is_new, Splits splits, int first, int rank,
                                     Value value) {
    if (is_new)
      for (int k = 0; k < splits.length; ++k) offer(node, {splits.a[k] + splits.b[k], first + k, 0, 0});
    while (static_cast<int>(node.best.size()) <= rank) {
      if (!node.best.empty()) {  // successors of the last one; each pair of ranks is reached in one way only
        EisnerDerivation next = node.best.back();
        ++next.right_rank;
        next.value = value(next);
        offer(node, next);
        if (--next.right_rank == 0) {
          ++next.left_rank;
          next.value = value(next);
          offer(node, next);
        }
      }
      if (node.candidates.empty()) return nullptr;
      std::pop_heap(node.candidates.begin(), node.candidates.end(), worse);
      node.best.push_back(node.candidates.back());
      node.candidates.pop_back();
    }
    return &node.best[rank];
  }

  const EisnerDerivation* complete(int head, int end, int rank) {
    static constexpr EisnerDerivation word{0, 0, 0, 0};
    if (head == end) return rank == 0 ? &word : nullptr;
    bool is_new;
    EisnerNode& here = node(false, head, end, is_new);
    auto value = [&](const EisnerDerivation& d) {
      const double inner = value_of(span(head, d.split, d.left_rank));
      return (chart_.weight(head, d.split) + inner) + value_of(complete(d.split, end, d.right_rank));
    };
    const bool right = head < end;
    return derivation(here, is_new, right ? chart_.right_splits(head, end) : chart_.left_splits(end, head),
                      right ? head + 1 : end, rank, value);
  }

  const EisnerDerivation* span(int a, int b, int rank) {
    const int i = std::min(a, b), j = std::max(a, b);
    bool is_new;
    EisnerNode& here = node(true, i, j, is_new);
    auto value = [&](const EisnerDerivation& d) {
      const double left = value_of(complete(i, d.split, d.left_rank));
      return left + value_of(complete(j, d.split + 1, d.right_rank));
    };
    return derivation(here, is_new, chart_.span_splits(i, j), i, rank, value);
  }

  void write_complete(int head, int end, int rank, int32_t* heads) {
    if (head == end) return;
    const EisnerDerivation d = *complete(head, end, rank);
    heads[d.split] = head;
    write_complete(d.split, end, d.right_rank, heads);
    const int i = std::min(head, d.split), j = std::max(head, d.split);
    const EisnerDerivation s = *span(i, j, d.left_rank);
    write_complete(i, s.split, s.left_rank, heads);
    write_complete(j, s.split + 1, s.right_rank, heads);
  }

  int n_;
  EisnerChart<MaxPlus> chart_;
  std::vector<int32_t>& numbers_;
  std::deque<EisnerNode>& nodes_;
};

}  // namespace

int eisner_k_best(const double* scores, int n, bool single_root, int k, int32_t* heads, double* values,
                  EisnerWorkspace& workspace, EisnerSpans spans) {
  LazyTrees trees(scores, n, single_root, spans, workspace);
  for (int rank = 0; rank < k; ++rank) {
    values[rank] = trees.tree(rank, heads + static_cast<size_t>(rank) * (n + 1));
    if (values[rank] == MINUS_INFINITY) return rank;
  }
  return k;
}

}  // namespace arcwise
