// The bounds behind the global search over counts (method "count" of arcwise.induction.global_search).
//
// For fixed counts the best parameters are ratios of counts, so the log-likelihood of parses is a function of
// their counts alone: with phi(x) = x log x, and for each side and head tag h with N words,
//   G(A, g) = phi(N-A) + 2 phi(A) + phi(K-A) - 2 phi(K) + sum_c phi(g_c) - phi(N),   K = sum_c g_c,
// plus sum_t phi(r_t) - phi(S) for the roots. Each of these blocks is convex.
//
// A search node is a box of counts together with, for each short sentence, the set of parses that are still
// allowed and, for each block with few enough of them, the list of points that such parses can add up to. For
// any multipliers mu the following bounds the likelihood of all parses whose counts lie in the box:
//   sum over blocks  max over the points v of its list, or integer points of the box,  G(v) - mu.v
//   + sum over sentences  weight * max over parses  mu.counts(parse).
// It is computed in integers: multipliers and values of phi are multiples of 1/kScale, phi rounded outwards.
// The bounds are therefore rigorous whatever multipliers the linear program returns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/induction/count_parses.hpp"
#include "kernels/induction/count_points.hpp"

namespace arcwise {

constexpr int64_t kScale = int64_t{1} << 30;
constexpr int64_t kNothing = INT64_MIN / 4;  // the bound of an empty set

struct CountBox {
  std::vector<int32_t> low, high;  // one per coordinate of CountLayout
  std::vector<uint64_t> alive;     // bits of the parses of short sentences, concatenated
  std::vector<std::shared_ptr<const BlockPoints>> points{};  // of each block; null: the whole box
};

struct CountBound {
  int64_t value = kNothing;
  std::vector<int64_t> sentence_best;  // including weights
  std::vector<int32_t> parses;         // best parse of each short sentence (-1 for long ones)
  std::vector<int32_t> long_counts;    // coordinates of the best parse of each long sentence, concatenated
  std::vector<int64_t> block_best;
  std::vector<int32_t> point;  // best point of each block: one value per coordinate
};

class CountProblem {
 public:
  struct Sentence {
    std::vector<int32_t> tags;
    int weight;
    bool is_short;         // whether its count vectors are enumerated
    CountVectors vectors;  // empty for long sentences
    size_t first_bit = 0;
    std::vector<int32_t> low, high;  // range of every coordinate
    std::vector<BlockShare> shares;  // short sentences: what it adds to each block
    size_t constrained_place = 0;    // index of Q in its vectors
  };
  struct Block {
    std::vector<int32_t> parts;    // coordinates g (or root counts) that can be nonzero
    int some = -1, children = -1;  // coordinates A and K; -1 for the roots
    int64_t words = 0;             // N, or the number of sentences S for the roots
    bool can_be_listed = true;     // false if a long sentence adds to it
  };

  // `marked`: features (DmvLayout) that the posterior constraint counts, or empty; at least `least` of them.
  CountProblem(const TagCorpus& corpus, const std::vector<uint8_t>& marked, int least, int enumerate_up_to);

  CountBox root_box() const { return root_; }
  bool root_feasible() const { return feasible_; }
  CountLayout layout() const { return layout_; }
  const std::vector<Sentence>& sentences() const { return sentences_; }
  const std::vector<Block>& blocks() const { return blocks_; }

  // Deletes parses and points that cannot fit into the box and shrinks the box to what remains, until nothing
  // changes; lists a block's points again after its parses have become fewer. Returns false if the box is
  // empty.
  bool propagate(CountBox& box) const;

  // mu: one multiplier per coordinate (0 for K), scaled by kScale; the multiplier of Q must not be negative.
  void bound(const CountBox& box, const int64_t* mu, CountBound& out) const;

  // Deletes parses and points, and shrinks the box, wherever the bound under mu rules out values above
  // `threshold`. `bound` is the bound of the same box and mu. Returns false if the box is empty.
  bool tighten(CountBox& box, const int64_t* mu, const CountBound& bound, int64_t threshold) const;

  // A split on the parses of one short sentence, for boxes that are a single point: a sentence with several
  // alive parses, one of its coordinates, and a value that separates them. Sentence -1 if there is none.
  struct ParseSplit {
    int sentence = -1, coordinate = -1, at = 0;
  };
  ParseSplit parse_split(const CountBox& box) const;
  void keep_parses(CountBox& box, const ParseSplit& split, bool above) const;
  // The heads of all words if exactly one parse of each sentence is left, otherwise empty.
  std::vector<int32_t> only_parses(const CountBox& box) const;

  // mu . counts of every alive parse of a short sentence, in order.
  void parse_values(size_t sentence, const CountBox& box, const int64_t* mu, std::vector<int64_t>& out) const;
  // G of a point of a block (parts, A), rounded up.
  int64_t point_gain(size_t block, const uint8_t* point) const { return point_value(blocks_[block], point); }
  // Deletes the points of a block whose cells (in a grid over the points, starting at `offset`) are not good;
  // without a list, shrinks the box instead. Returns false if nothing is left.
  bool keep_cells(size_t block, CountBox& box, const std::vector<int32_t>& offset,
                  const std::vector<size_t>& stride, const std::vector<uint8_t>& good) const;
  bool tighten_block(size_t block, CountBox& box, const int64_t* mu, int64_t needed) const;

  // G of a block at a point (coordinates of the whole layout), and the likelihood of all counts.
  double block_value(size_t block, const double* point) const;
  double value(const double* point) const;

 private:
  // What the alive parses can contribute; updated while a box is propagated.
  struct FitState {
    FitState(size_t sentences, size_t coordinates, size_t blocks)
        : stale(sentences, 1),
          is_empty(sentences, 0),
          low(sentences * coordinates),
          high(sentences * coordinates),
          seen(sentences * blocks) {}
    std::vector<uint8_t> stale, is_empty;
    std::vector<int64_t> low, high;          // by sentence: range of every coordinate
    std::vector<std::vector<uint8_t>> seen;  // by sentence and block: which vectors of the share are in use
  };
  template <typename Visit>
  void for_parse_values(const Sentence& sentence, const CountBox& box, const int64_t* mu, Visit visit) const;
  void look_at(size_t sentence, const CountBox& box, FitState& state) const;
  void set_share_range(const Block& block, const BlockShare& share, const std::vector<uint8_t>& seen,
                       int64_t* low, int64_t* high) const;
  bool delete_unfit(size_t sentence, CountBox& box, const FitState& state, const std::vector<int64_t>& from,
                    const std::vector<int64_t>& to) const;
  bool shrink_blocks(CountBox& box) const;
  void set_short_ranges(Sentence& sentence) const;
  void set_long_ranges(Sentence& sentence);
  int64_t best_long(const Sentence& sentence, const int64_t* mu, int32_t* counts) const;
  void set_shares(Sentence& sentence) const;
  bool fit(CountBox& box, FitState& state) const;
  bool fit_points(CountBox& box, bool& changed) const;
  bool list_points(CountBox& box, const FitState& state, bool& changed) const;
  std::vector<Summand> summands(const FitState& state, size_t block) const;
  bool take_points(CountBox& box, size_t block, BlockPoints points, bool& changed) const;
  int64_t point_value(const Block& block, const uint8_t* point) const;
  void block_bound(size_t block, const CountBox& box, const int64_t* mu, int64_t& best, int32_t* point) const;
  void box_bound(const Block& block, const CountBox& box, const int64_t* mu, int64_t& best,
                 int32_t* point) const;
  bool tighten_box(const Block& block, CountBox& box, const int64_t* mu, int64_t needed) const;

  int64_t phi_up(int64_t x) const { return phi_up_[x]; }
  int64_t phi_down(int64_t x) const { return phi_down_[x]; }

  friend class BlockTable;
  CountLayout layout_;
  std::vector<uint8_t> marked_;  // one per coordinate
  std::vector<Sentence> sentences_;
  std::vector<Block> blocks_;
  CountBox root_;
  bool feasible_ = true;
  std::vector<int64_t> phi_up_, phi_down_;
  mutable DmvWorkspace workspace_;
};

}  // namespace arcwise
