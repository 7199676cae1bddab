// Bounds of the global search over counts in which blocks and sentences agree vector by vector.
//
// CountProblem::bound prices individual counts: a block may choose any point, whichever parses that price
// supports. Here each block chooses the vector (of its share, count_points.hpp) that every sentence adds to
// it, and prices are attached to these vectors: one message m(s, b, vector) each. For any messages
//   sum over blocks     max over choices u_1 .. u_S  G(sum of weight_s u_s) - sum_s m(s, b, u_s)
//   + sum over sentences  max over parses p           sum_b m(s, b, vector of p in b)
// bounds the likelihood. The first maximum is a dynamic program over the grid of partial sums. Blocks whose
// grid is too large, and those that long sentences add to, keep prices mu on counts.
//
// Messages are improved one sentence at a time, as in max-product linear programming (Globerson & Jaakkola
// 2007). Let A(b, u) be the best value of block b given u, excluding its message; then a parse is worth W(p)
// = sum_b A(b, p_b), and m(s, b, u) becomes A(b, u) - 1/n max over p with p_b = u of W(p). These are the
// optimal messages of a sentence given all others, so the bound never increases. All arithmetic is exact, in
// integers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/induction/count_problem.hpp"

namespace arcwise {

constexpr int kMessageShift = 14;  // messages are multiples of 2^14 / kScale = 2^-16
constexpr int64_t kMessageUnit = int64_t{1} << kMessageShift;
constexpr int32_t kImpossible = -(1 << 29);  // marks a sum that no choice of vectors reaches

struct Agreement {
  int64_t bound = INT64_MAX;
  std::vector<uint8_t> blocks;    // 1 for blocks bounded by messages
  std::vector<int32_t> messages;  // as in CountAgreement::messages, for all shares of all blocks
  std::vector<int32_t> counts;    // counts of the sentences' best parses, one per coordinate
  int sweeps = 0;
};

class CountAgreement {
 public:
  explicit CountAgreement(const CountProblem& problem);

  // Messages equivalent to these prices.
  std::vector<int32_t> from_prices(const int64_t* mu) const;

  // Improves messages until the bound is at most `threshold`, a sweep closes less than `precision` of the
  // remaining gap, or the limit on sweeps or seconds is reached.
  Agreement improve(const CountBox& box, const int64_t* mu, std::vector<int32_t> messages, int64_t threshold,
                    int most_sweeps, double precision, double seconds);

  // Deletes those parses and points of the last improved box whose bound under `found` is at most
  // `threshold`. Returns false if the box is then empty.
  bool tighten(CountBox& box, const Agreement& found, int64_t threshold);

  // Number of messages, ordered by sentence, block and vector of its share.
  size_t messages() const { return size_; }
  // The messages of a block, sentence by sentence, vectors in lexicographic order: the format of
  // certificates.
  std::vector<int64_t> in_order(size_t block) const;
  size_t first_message(size_t sentence, size_t block) const { return first_[sentence * blocks_ + block]; }

 private:
  struct Choice {
    uint32_t vector;  // index in the share
    uint32_t shift;   // its offset in the grid of sums
  };
  struct Grid {
    bool used = false;
    size_t cells = 0;
    std::vector<int32_t> offset;  // the smallest sum of each coordinate
    std::vector<size_t> stride;
    std::vector<std::vector<Choice>> choices;  // of each sentence
    // For partial sums of the first s sentences of the order: the highest reachable cell, and the rows of
    // cells that contain them (their starts; all rows have one length).
    std::vector<size_t> reach, length;
    std::vector<std::vector<uint32_t>> rows;
    // Best sums of the first s sentences; of the remaining ones.
    std::vector<std::vector<int32_t>> before, after;
  };
  void prepare(const CountBox& box, const int64_t* mu);
  bool lay_out(size_t block);
  void lay_rows(Grid& grid, const std::vector<int32_t>& ranges, size_t step) const;
  void fill_last(size_t block, const CountBox& box);
  int32_t price(const Choice& choice, size_t block, size_t sentence,
                const std::vector<int32_t>& messages) const;
  void pass_forward(Grid& grid, size_t block, size_t step, const std::vector<int32_t>& messages) const;
  void pass_backward(Grid& grid, size_t block, size_t step, const std::vector<int32_t>& messages) const;
  void conditional(const Grid& grid, size_t block, size_t step);
  void worth(size_t step);
  void update(size_t step, std::vector<int32_t>& messages);
  void forget_the_dead(std::vector<int32_t>& messages) const;
  void pass(size_t step, const std::vector<int32_t>& messages);
  int64_t evaluate(const std::vector<int32_t>& messages, Agreement& out);
  bool tighten_grid(size_t block, CountBox& box, int64_t rest, int64_t threshold) const;
  int64_t best_of_block(const Grid& grid) const;

  const CountProblem& problem_;
  size_t blocks_, sentences_, size_ = 0;
  std::vector<size_t> first_;  // of each sentence and block
  std::vector<size_t> order_;  // sentences in the order of summation: those with many parses first
  std::vector<Grid> grids_;
  std::vector<std::vector<uint32_t>> alive_;  // parses of each sentence
  std::vector<std::vector<int64_t>> linear_;  // value of each alive parse under the prices
  std::vector<std::vector<uint8_t>> seen_;    // which vectors of each share they use
  std::vector<std::vector<int64_t>> given_;   // A of each block, by vector
  std::vector<int64_t> worth_;                // W of each alive parse
  std::vector<int64_t> best_;                 // best value among the parses with each vector
  std::vector<std::vector<int64_t>> shared_;  // part of a sentence's worth assigned to each block, by vector
  std::vector<int64_t> left_;                 // prices for the blocks that are not bounded by messages
  CountBound by_prices_;                      // the bound of those blocks
  std::vector<int64_t> sentence_best_;
  bool is_backward_ = false;  // direction of the last sweep
  int64_t fixed_ = 0;         // constant part: long sentences, blocks bounded by prices, the constraint
};

}  // namespace arcwise
