// log Z and marginals of sentences of at most 128 words, in plain doubles held in registers
// (short_elimination.cuh). It does not handle states whose only exit may be the root: it flags them in
// `unsafe`, and matrix_tree_again redoes them.
#pragma once
#include "kernels/base/cuda_exp.cuh"
#include "kernels/inference/matrix_tree.cuh"
#include "kernels/inference/short_elimination.cuh"

namespace arcwise {

template <int WORDS, int ROWS, int LANES>
struct ShortSentence : ShortElimination<WORDS, ROWS, LANES> {
  using Levels = ShortElimination<WORDS, ROWS, LANES>;
  using Levels::C, Levels::INNER, Levels::K, Levels::KEPT, Levels::N, Levels::PIVOTS, Levels::Q, Levels::R,
      Levels::SHARES, Levels::SHIFTS, Levels::STRIDE, Levels::THREADS;
  using Levels::first_row, Levels::is_in_range, Levels::largest, Levels::sync;
  using Levels::kept, Levels::memory, Levels::n, Levels::no_exits, Levels::q, Levels::root, Levels::rows,
      Levels::single, Levels::thread, Levels::unsafe;
  using typename Levels::Row, typename Levels::Team;

  const MatrixTreeArguments& arguments;
  int sentence = 0, half = 0, first_word = 1;
  double root_shift = 0;

  DEVICE ShortSentence(const MatrixTreeArguments& arguments) : arguments(arguments) {
    single = arguments.single_root;
  }

  // The word at a place of level 0, or 0.
  DEVICE int word(int place) const {
    const bool is_kept = place < K;
    if (is_kept ? place >= kept : place - K >= n - kept) return 0;
    const int word = first_word + (is_kept ? place : kept + place - K);
    return word > n ? word - n : word;
  }

  // Loads the scores of the heads of each row's word.
  template <typename Score>
  DEVICE void read_scores() {
    const int side = arguments.side;
    const Score* scores =
        static_cast<const Score*>(arguments.scores) + static_cast<int64_t>(sentence) * side * side;
    // Positions that are not arcs read the root's score for itself, so that threads do not diverge.
    int modifiers[R];
    UNROLL
    for (int i = 0; i < R; ++i) {
      modifiers[i] = word(first_row() + i);
      const double score = scores[modifiers[i]];
      root[i] = modifiers[i] ? score : minus_infinity();
    }
    UNROLL
    for (int j = 0; j < C; ++j) {
      const int head = word(q + Q * j);
      UNROLL
      for (int i = 0; i < R; ++i) {
        const bool is_arc = modifiers[i] && head && head != modifiers[i];
        const double score = scores[is_arc ? head * side + modifiers[i] : 0];
        rows[i][j] = is_arc ? score : minus_infinity();
      }
    }
  }

  // Makes the largest weight of a row 1 (single root: of the exits to words; the root's weights share a
  // separate shift). Returns 2 if some score is not a number, 1 if some word has no head.
  DEVICE int find_shifts() {
    constexpr double LARGEST_SHIFT = 1e4;
    double bad = 0, root_highest = minus_infinity();
    UNROLL
    for (int i = 0; i < R; ++i) {
      const bool is_word = word(first_row() + i) > 0;
      double highest = single ? minus_infinity() : root[i];
      bool is_number = root[i] < -minus_infinity();
      UNROLL
      for (int j = 0; j < C; ++j) {
        is_number = is_number && rows[i][j] < -minus_infinity();
        highest = rows[i][j] > highest ? rows[i][j] : highest;
      }
      highest = Row::largest(highest);
      if (highest == minus_infinity()) highest = root[i];
      if (!is_number) bad = 2;
      if (is_word && highest == minus_infinity() && bad < 1) bad = 1;
      if (is_word && !(fabs(highest) < LARGEST_SHIFT)) unsafe = true;
      const double shift = is_word ? highest : 0;
      root_highest = root[i] - shift > root_highest ? root[i] - shift : root_highest;
      if (q == 0) memory[SHIFTS + first_row() + i] = shift;
    }
    if (single) {
      root_shift = largest(root_highest);
      if (n > 0 && root_shift == minus_infinity() && bad < 1) bad = 1;
      if (n > 0 && !(fabs(root_shift) < LARGEST_SHIFT)) unsafe = true;
    }
    return static_cast<int>(largest(bad));
  }

  // exp(score - shift); 0 where there is no arc.
  DEVICE void make_weights() {
    sync_warp();
    UNROLL
    for (int i = 0; i < R; ++i) {
      const double shift = memory[SHIFTS + first_row() + i];
      root[i] = small_exp(root[i] - shift - root_shift);
      UNROLL
      for (int j = 0; j < C; ++j) rows[i][j] = small_exp(rows[i][j] - shift);
    }
  }

  // log Z = sum of shifts + sum of log pivots, computed by one warp of the half.
  DEVICE double log_partition() {
    constexpr double MOST_MAGNIFIED = 300;
    CarefulSum total;
    double logs = 0, magnified = 0;
    for (int i = Team::lane(); i < N; i += Team::COUNT) {
      total = total + CarefulSum{memory[SHIFTS + i], 0};
      const double one = -log(memory[PIVOTS + i]);
      logs += one;
      magnified -= one < 0 ? one : 0;
    }
    total = Team::sum(total) + CarefulSum{root_shift, 0};
    logs = Team::sum(logs);
    if (!(Team::sum(magnified) < MOST_MAGNIFIED)) unsafe = true;
    return total.total + (total.lost + logs);
  }

  // esc_m of a word, for a kept place m; all are known after the upward pass.
  DEVICE double* escape(int head, int m) const {
    const int state = head < first_word ? head + n - first_word : head - first_word;
    return memory + (state < kept ? INNER + state * STRIDE : KEPT + (state - kept) * STRIDE) + m;
  }

  // mu(h->m) ∝ w(h->m) esc_m(h) for the half's words m; bad: as in fill.
  template <typename Score>
  DEVICE void write_marginals(int bad) {
    constexpr int ACROSS = THREADS < K ? THREADS : K, PARTS = THREADS / ACROSS;
    const int part = thread / ACROSS, side = arguments.side;
    const int64_t begin_of = static_cast<int64_t>(sentence) * side * side;
    const Score* scores = static_cast<const Score*>(arguments.scores) + begin_of;
    Score* to = static_cast<Score*>(arguments.marginals) + begin_of;
    for (int m = thread % ACROSS; m < K; m += ACROSS) {
      const int modifier = word(m);
      const double shift = memory[SHIFTS + m];
      double sum = 0, of_root = 0;
      if (modifier) {
        of_root = small_exp(scores[modifier] - shift - root_shift);
        BY_FOURS
        for (int head = 1 + part; head <= n; head += PARTS) {
          const double score = scores[head * side + modifier];
          double* mass = escape(head, m);
          *mass = head == modifier ? 0 : *mass * small_exp(score - shift);
          sum += *mass;
        }
        memory[SHARES + part * K + m] = sum;
      }
      sync();
      if (!modifier) continue;
      sum = of_root;
      UNROLL
      for (int i = 0; i < PARTS; ++i) sum += memory[SHARES + i * K + m];
      if (!is_in_range(sum)) unsafe = true;
      const double scale = 1 / sum, wrong = bad == 2 ? not_a_number() : 0;
      BY_FOURS
      for (int head = 1 + part; head <= n; head += PARTS) {
        const double probability = bad ? wrong : *escape(head, m) * scale;
        to[head * side + modifier] = static_cast<Score>(head == modifier ? 0 : probability);
      }
      if (part == 0) to[modifier] = static_cast<Score>(bad ? wrong : of_root * scale);
      for (int head = n + 1 + part; head < side; head += PARTS) to[head * side + modifier] = 0;
    }
    // Columns of no word: the first half writes that of the root, the second the padding.
    const int begin = half == 0 ? 0 : n + 1, width = half == 0 ? 1 : side - begin;
    for (int i = thread; i < side * width; i += THREADS) to[i / width * side + begin + i % width] = 0;
  }

  // Runs one half of a sentence or, for log Z only, its first half. is_one: false for a slot of the block
  // without work.
  DEVICE void run(int piece, bool is_one) {
    const bool with_marginals = arguments.marginals != nullptr;
    sentence = !is_one ? 0 : with_marginals ? piece / 2 : piece;
    half = with_marginals ? piece % 2 : 0;
    n = is_one ? arguments.lengths[sentence] : 0;
    const int front = (n + 1) / 2;
    kept = half == 0 ? front : n - front;
    first_word = half == 0 ? 1 : 1 + front;
    root_shift = 0;
    unsafe = no_exits = false;
    int* flag = reinterpret_cast<int*>(memory);
    if (thread == 0) *flag = SAFE;
    if (arguments.in_double)
      read_scores<double>();
    else
      read_scores<float>();
    const int bad = find_shifts();
    make_weights();
    Levels::solve(with_marginals);
    double log_partition = 0;
    if (thread < Team::COUNT) log_partition = this->log_partition();
    if (with_marginals && is_one) {
      if (arguments.in_double)
        write_marginals<double>(bad);
      else
        write_marginals<float>(bad);
    }
    if (unsafe) *flag = UNSAFE;
    sync();
    if (no_exits) *flag = WITHOUT_EXITS;
    sync();
    if (thread == 0 && is_one) {
      if (n == 0) log_partition = 0;
      if (bad) log_partition = bad == 2 ? not_a_number() : minus_infinity();
      if (half == 0 && arguments.log_partition) {
        if (arguments.in_double)
          static_cast<double*>(arguments.log_partition)[sentence] = log_partition;
        else
          static_cast<float*>(arguments.log_partition)[sentence] = static_cast<float>(log_partition);
      }
      arguments.unsafe[piece] = kept > 0 && !bad ? *flag : 0;
    }
  }

  // Each block processes arguments.pieces items, without a loop over blocks: with one, the compiler keeps
  // hundreds of addresses live for the next iteration.
  DEVICE void run() {
    const int all = arguments.sentences * (arguments.marginals ? 2 : 1), own = thread_index() / THREADS;
    if (own >= arguments.pieces) return;
    const int piece = block_index() * arguments.pieces + own;
    run(piece, piece < all);
  }
};

}  // namespace arcwise
