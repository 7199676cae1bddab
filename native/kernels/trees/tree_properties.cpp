#include "kernels/trees/tree_properties.hpp"

#include <algorithm>
#include <utility>

namespace arcwise {
namespace {

class Measure {
 public:
  Measure(const int32_t* heads, int n, TreePropertiesWorkspace& work) : heads_(heads), n_(n), w_(work) {}

  // Links words to their children and numbers them depth first; returns false unless they form a forest.
  bool traverse() {
    w_.first_child.assign(n_ + 1, 0);
    w_.next_sibling.assign(n_ + 1, 0);
    for (int m = n_; m >= 1; --m) {
      if (head(m) < -1 || head(m) > n_ || head(m) == m) return false;
      int parent = std::max(head(m), 0);  // an unknown head starts a fragment that is treated as a root
      w_.next_sibling[m] = w_.first_child[parent];
      w_.first_child[parent] = m;
    }
    w_.enter.assign(n_ + 1, 0);
    w_.leave.assign(n_ + 1, 0);
    w_.depth.assign(n_ + 1, 0);
    w_.order.clear();
    w_.order.push_back(0);
    for (int at = w_.first_child[0]; at;) {
      w_.enter[at] = static_cast<int32_t>(w_.order.size());
      w_.order.push_back(at);
      w_.depth[at] = w_.depth[parent(at)] + 1;
      int next = w_.first_child[at];
      for (; !next && at; at = parent(at)) {  // everything below is already numbered
        w_.leave[at] = static_cast<int32_t>(w_.order.size());
        next = w_.next_sibling[at];
      }
      at = next;
    }
    w_.leave[0] = static_cast<int32_t>(w_.order.size());
    return w_.leave[0] == n_ + 1;  // words on a cycle are never reached
  }

  void arcs(TreeProperties& properties, uint8_t* non_projective) const {
    for (int m = 1; m <= n_; ++m) {
      int h = head(m);
      properties.roots += h == 0;
      properties.depth = std::max(properties.depth, w_.depth[m]);
      int degree = 0;
      bool outside = false;
      if (h > 0) {
        auto [left, right] = span(m);
        for (int k = left + 1; k < right; ++k) {
          if (dominates(h, k)) continue;
          outside = true;
          // A component inside the span is identified by its root, whose head is outside.
          degree += !(left < head(k) && head(k) < right);
        }
      }
      non_projective[m - 1] = outside;
      properties.edge_degree = std::max(properties.edge_degree, degree);
    }
  }

  void crossings(TreeProperties& properties, uint8_t* crossing) {
    std::fill(crossing, crossing + n_, 0);
    w_.arcs.clear();
    for (int m = 1; m <= n_; ++m)
      if (head(m) >= 0 && span(m).second - span(m).first > 1) w_.arcs.push_back(m);
    for (size_t i = 0; i < w_.arcs.size(); ++i) {
      int m = w_.arcs[i];
      auto [left, right] = span(m);
      for (size_t j = i + 1; j < w_.arcs.size(); ++j) {
        int other = w_.arcs[j];
        auto [from, to] = span(other);
        if (!((left < from && from < right && right < to) || (from < left && left < to && to < right)))
          continue;
        crossing[m - 1] = crossing[other - 1] = 1;
        ++properties.crossings;
        properties.root_crossings += head(m) == 0 || head(other) == 0;
      }
    }
  }

  // The words that v dominates form size(v) - pairs(v) contiguous blocks, where pairs(v) counts the
  // neighbours k, k+1 that it dominates both: those whose lowest common ancestor is in its subtree.
  int gap_degree() {
    w_.pairs.assign(n_ + 1, 0);
    for (int k = 1; k < n_; ++k) ++w_.pairs[common_ancestor(k, k + 1)];
    int most = 0;
    for (int at = n_; at >= 1; --at) {
      int v = w_.order[at];
      int blocks = w_.leave[v] - w_.enter[v] - w_.pairs[v];
      most = std::max(most, blocks - 1);
      w_.pairs[parent(v)] += w_.pairs[v];
    }
    return most;
  }

  // If two disjoint subtrees interleave, so do the subtrees of the two siblings that contain them. So it
  // suffices to check that for each word, the subtrees of its children nest like brackets in sentence order.
  bool well_nested() {
    w_.side.assign(n_ + 1, 0);
    w_.state.assign(n_ + 1, UNSEEN);
    for (int v = 0; v <= n_; ++v)
      if (w_.first_child[v] && w_.next_sibling[w_.first_child[v]] && !children_nested(v)) return false;
    return true;
  }

 private:
  enum State : uint8_t { UNSEEN, OPEN, CLOSED };

  int head(int word) const { return heads_[word - 1]; }
  int parent(int word) const { return std::max(head(word), 0); }
  std::pair<int, int> span(int word) const {
    return {std::min(head(word), word), std::max(head(word), word)};
  }
  bool dominates(int above, int below) const {
    return w_.enter[above] <= w_.enter[below] && w_.enter[below] < w_.leave[above];
  }

  int common_ancestor(int a, int b) const {
    while (a != b) {
      if (w_.depth[a] < w_.depth[b]) std::swap(a, b);
      a = parent(a);
    }
    return a;
  }

  bool children_nested(int v) {
    int left = n_, right = 0;
    for (int child = w_.first_child[v]; child; child = w_.next_sibling[child]) {
      w_.state[child] = UNSEEN;
      for (int at = w_.enter[child]; at < w_.leave[child]; ++at) {
        int word = w_.order[at];
        w_.side[word] = child;
        left = std::min(left, word);
        right = std::max(right, word);
      }
    }
    std::vector<int32_t>& open = w_.arcs;
    open.clear();
    for (int k = left; k <= right; ++k) {
      if (k == v || !dominates(v, k)) continue;
      int child = w_.side[k];
      if (w_.state[child] == CLOSED) return false;  // interleaves with another subtree
      if (w_.state[child] == UNSEEN) {
        open.push_back(child);
        w_.state[child] = OPEN;
      }
      for (; open.back() != child; open.pop_back()) w_.state[open.back()] = CLOSED;
    }
    return true;
  }

  const int32_t* heads_;
  int n_;
  TreePropertiesWorkspace& w_;
};

}  // namespace

bool tree_properties(const int32_t* heads, int n, TreeProperties& properties, uint8_t* non_projective,
                     uint8_t* crossing, TreePropertiesWorkspace& work) {
  properties = {};
  Measure measure(heads, n, work);
  if (!measure.traverse()) return false;
  measure.arcs(properties, non_projective);
  measure.crossings(properties, crossing);
  properties.gap_degree = measure.gap_degree();
  properties.well_nested = properties.gap_degree == 0 || measure.well_nested();
  return true;
}

}  // namespace arcwise
