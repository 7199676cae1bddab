#include "kernels/induction/count_parses.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

namespace arcwise {

void tree_coordinates(CountLayout layout, const int32_t* tags, int n, const int32_t* heads,
                      const std::vector<uint8_t>& marked, int32_t* counts) {
  for (int i = 1; i <= n; ++i) {
    int children[2] = {0, 0};
    for (int m = 1; m <= n; ++m) {
      if (heads[m] != i) continue;
      const int block = layout.block(m > i, tags[i - 1]), arc = layout.child(block, tags[m - 1]);
      ++counts[arc];
      ++counts[layout.children(block)];
      counts[layout.constrained()] += marked[arc];
      ++children[m > i];
    }
    for (int side : {LEFT_SIDE, RIGHT_SIDE})
      if (children[side]) ++counts[layout.some(layout.block(side, tags[i - 1]))];
    if (heads[i] == 0) {
      ++counts[layout.root(tags[i - 1])];
      counts[layout.constrained()] += marked[layout.root(tags[i - 1])];
    }
  }
}

namespace {

// Maps each count vector, over the coordinates of the sentence, to the heads of one tree (or partial tree)
// that has it. Both add up over the parts of a tree.
using Vectors = std::unordered_map<std::string, std::string>;

std::string sum(const std::string& a, const std::string& b) {
  std::string out = a;
  for (size_t l = 0; l < out.size(); ++l) out[l] = static_cast<char>(out[l] + b[l]);
  return out;
}

// Adds every pairwise sum of vectors from the two sets to `out`.
void add_sums(const Vectors& a, const Vectors& b, Vectors& out) {
  for (const auto& [x, x_heads] : a)
    for (const auto& [y, y_heads] : b) {
      std::string both = sum(x, y);
      if (!out.count(both)) out.emplace(std::move(both), sum(x_heads, y_heads));
    }
}
Vectors sums(const Vectors& a, const Vectors& b) {
  Vectors out;
  add_sums(a, b, out);
  return out;
}

// The chart of dmv_chart.hpp with sets of count vectors instead of numbers.
class VectorChart {
 public:
  VectorChart(CountLayout layout, const int32_t* tags, int n, const std::vector<uint8_t>& marked)
      : layout_(layout), tags_(tags), n_(n), marked_(marked) {
    name_coordinates();
    zero_ = std::string(names_.size(), '\0');
    no_heads_ = std::string(n, '\0');
    halves_[0].resize((n + 2) * (n + 2));
    halves_[1].resize((n + 2) * (n + 2));
    open_[0].resize((n + 2) * (n + 2));
    open_[1].resize((n + 2) * (n + 2));
  }

  std::map<std::string, std::string> trees() {
    for (int width = 0; width < n_; ++width)
      for (int i = 1; i + width <= n_; ++i) {
        fill(RIGHT_SIDE, i, i + width);
        fill(LEFT_SIDE, i + width, i);
      }
    Vectors found;
    for (int r = 1; r <= n_; ++r) {
      const Vectors root{{with_arc(layout_.root(tags_[r - 1])), no_heads_}};
      add_sums(sums(half(LEFT_SIDE, r, 1), half(RIGHT_SIDE, r, n_)), root, found);
    }
    return {found.begin(), found.end()};
  }
  const std::vector<int32_t>& names() const { return names_; }

 private:
  Vectors& half(int side, int head, int end) { return halves_[side][head * (n_ + 2) + end]; }
  Vectors& open(int side, int head, int end) { return open_[side][head * (n_ + 2) + end]; }

  void name_coordinates() {
    std::vector<uint8_t> occurs(layout_.coordinates());
    for (int h = 1; h <= n_; ++h) {
      occurs[layout_.root(tags_[h - 1])] = 1;
      for (int m = 1; m <= n_; ++m) {
        if (m == h) continue;
        const int block = layout_.block(m > h, tags_[h - 1]);
        occurs[layout_.child(block, tags_[m - 1])] = 1;
        occurs[layout_.some(block)] = 1;
        occurs[layout_.children(block)] = 1;
      }
    }
    occurs[layout_.constrained()] = std::find(marked_.begin(), marked_.end(), 1) != marked_.end();
    for (int j = 0; j < layout_.coordinates(); ++j)
      if (occurs[j]) names_.push_back(j);
  }
  int place(int coordinate) const {
    return static_cast<int>(std::lower_bound(names_.begin(), names_.end(), coordinate) - names_.begin());
  }
  // The vector of one arc (or root): its coordinate, K of its block, and Q.
  std::string with_arc(int coordinate, int block = -1) const {
    std::string vector = zero_;
    vector[place(coordinate)] = 1;
    if (block >= 0) vector[place(layout_.children(block))] = 1;
    if (marked_[coordinate]) vector[place(layout_.constrained())] = 1;
    return vector;
  }

  // half(head, end): the children of `head` on this side, covering the words up to `end`.
  void fill(int side, int head, int end) {
    if (head == end) {
      half(side, head, end) = {{zero_, no_heads_}};
      return;
    }
    const int step = head < end ? 1 : -1, block = layout_.block(side, tags_[head - 1]);
    Vectors& found = open(side, head, end);
    for (int child = head + step;; child += step) {  // the outermost child
      std::string heads = no_heads_;
      heads[child - 1] = static_cast<char>(head);
      const Vectors arc{{with_arc(layout_.child(block, tags_[child - 1]), block), heads}};
      const Vectors outer = sums(arc, half(side, child, end));
      for (int k = head; k != child; k += step) {  // the inner children cover the words up to k
        const Vectors none{{zero_, no_heads_}};
        const Vectors& inner = k == head ? none : open(side, head, k);
        add_sums(sums(outer, half(1 - side, child, k + step)), inner, found);
      }
      if (child == end) break;
    }
    std::string some = zero_;
    some[place(layout_.some(block))] = 1;
    half(side, head, end) = sums(found, {{some, no_heads_}});
  }

  CountLayout layout_;
  const int32_t* tags_;
  int n_;
  const std::vector<uint8_t>& marked_;
  std::vector<int32_t> names_;
  std::string zero_, no_heads_;
  std::vector<Vectors> halves_[2], open_[2];
};

}  // namespace

CountVectors count_vectors(CountLayout layout, const int32_t* tags, int n,
                           const std::vector<uint8_t>& marked) {
  VectorChart chart(layout, tags, n, marked);
  const auto all = chart.trees();
  CountVectors out;
  out.names = chart.names();
  out.width = out.names.size();
  out.count = all.size();
  out.values.resize(out.width * out.count);
  size_t place = 0;
  for (const auto& [vector, heads] : all) {
    std::copy(vector.begin(), vector.end(), &out.values[place++ * out.width]);
    out.heads.insert(out.heads.end(), heads.begin(), heads.end());
  }
  out.length = 2 * n;  // n arcs, and at most n-1 (word, side) pairs with a child
  out.steps.assign(out.length * out.count, static_cast<uint8_t>(out.width));
  for (size_t p = 0; p < out.count; ++p) {
    uint8_t* step = &out.steps[p * out.length];
    for (size_t l = 0; l < out.width && out.names[l] < layout.priced(); ++l)
      for (int k = 0; k < out.values[p * out.width + l]; ++k) *step++ = static_cast<uint8_t>(l);
  }
  return out;
}

}  // namespace arcwise
