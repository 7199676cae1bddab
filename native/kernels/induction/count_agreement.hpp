// Bounds of the global search over counts in which blocks and sentences agree vector by vector.
//
// CountProblem::bound prices counts: a block may take any point, whatever parses its price pays for. Here each
// block chooses what every sentence adds to it (a vector of its share, count_points.hpp), and prices stand on
// these vectors, one message m(s, b, vector) each. For any messages
//   sum over blocks     max over choices u_1 .. u_S  G(sum of weight_s u_s) - sum_s m(s, b, u_s)
//   + sum over sentences  max over parses p           sum_b m(s, b, vector of p in b)
// bounds the likelihood. The first maximum is a dynamic program over the grid of partial sums. Blocks whose
// grid is too large, and those that long sentences add to, stay as they are, with prices mu on counts.
//
// Messages are improved one sentence at a time, as in max-product linear programming (Globerson & Jaakkola
// 2007): with A(b, u) the best of block b given u, without its message, a parse is worth
// W(p) = sum_b A(b, p_b), and m(s, b, u) becomes A(b, u) - 1/n max over p with p_b = u of W(p): the best messages
// of a sentence, given all others. So the bound never rises. All of it is exact in integers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/induction/count_problem.hpp"

namespace arcwise {

constexpr int kMessageShift = 14;  // messages are multiples of 2^14 / kScale, that is of 2^-16
constexpr int64_t kMessageUnit = int64_t{1} << kMessageShift;
constexpr int32_t kImpossible = -(1 << 29);  // a sum that no choice has

struct Agreement {
  int64_t bound = INT64_MAX;
  std::vector<uint8_t> blocks;    // 1 for those that agree by messages
  std::vector<int32_t> messages;  // of CountAgreement::messages, all shares of all blocks
  std::vector<int32_t> counts;    // of the best parses of the sentences, one per coordinate
  int sweeps = 0;
};

class CountAgreement {
 public:
  explicit CountAgreement(const CountProblem& problem);

  // The messages that say the same as prices.
  std::vector<int32_t> from_prices(const int64_t* mu) const;

  // Improves messages, until the bound is at most `threshold`, or a sweep brings less than `precision` of the
  // distance to it, for at most so many sweeps and seconds.
  Agreement improve(const CountBox& box, const int64_t* mu, std::vector<int32_t> messages, int64_t threshold,
                    int most_sweeps, double precision, double seconds);

  // Deletes parses and points of the box that was improved last with which the bound found is at most
  // `threshold`. False if nothing is left.
  bool tighten(CountBox& box, const Agreement& found, int64_t threshold);

  // Messages stand by sentence, block and vector of its share.
  size_t messages() const { return size_; }
  // Those of a block, sentence after sentence, vectors in lexicographic order: as certificates have them.
  std::vector<int64_t> in_order(size_t block) const;
  size_t first_message(size_t sentence, size_t block) const { return first_[sentence * blocks_ + block]; }

 private:
  struct Choice {
    uint32_t vector;  // of the share
    uint32_t shift;   // what it adds to the cell of a sum
  };
  struct Grid {
    bool used = false;
    size_t cells = 0;
    std::vector<int32_t> offset;  // the least sum of each coordinate
    std::vector<size_t> stride;
    std::vector<std::vector<Choice>> choices;  // of each sentence
    // Of partial sums of the first s sentences of the order: the highest cell, and the rows of cells (where each
    // begins; all have one length) in which they lie.
    std::vector<size_t> reach, length;
    std::vector<std::vector<uint32_t>> rows;
    std::vector<std::vector<int32_t>> before, after;  // best sums of the first s; of the others
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
  std::vector<size_t> order_;  // of sentences in the sums: those with many parses first
  std::vector<Grid> grids_;
  std::vector<std::vector<uint32_t>> alive_;  // parses of each sentence
  std::vector<std::vector<int64_t>> linear_;  // what prices pay each of them
  std::vector<std::vector<uint8_t>> seen_;    // vectors of each share that they use
  std::vector<std::vector<int64_t>> given_;   // A of each block, by vector
  std::vector<int64_t> worth_;                // W of each parse alive
  std::vector<int64_t> best_;                 // of the parses with each vector
  std::vector<std::vector<int64_t>> shared_;  // what each block gets of a sentence's worth, by vector
  std::vector<int64_t> left_;                 // prices of what does not agree by messages
  CountBound by_prices_;                      // under them
  std::vector<int64_t> sentence_best_;
  bool is_backward_ = false;  // which way the last sweep went
  int64_t fixed_ = 0;         // long sentences, blocks by prices, the constraint
};

}  // namespace arcwise
