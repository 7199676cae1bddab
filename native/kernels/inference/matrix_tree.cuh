// The subtraction-free Matrix-Tree theorem on a GPU: matrix_tree.cpp for a batch. The elimination is in
// tree_elimination.cuh.
//
// Marginals: a block handles one half of a sentence's modifiers, whose marginal columns do not depend on the
// other half. The first kernel uses doubles and reports for every work item whether they were safe; the
// second redoes the others on WideNumber.
#pragma once
#include "kernels/inference/tree_elimination.cuh"

namespace arcwise {

struct MatrixTreeArguments {
  const void *scores, *first,
      *second;  // (sentences, side, side); first and second: directions of derivatives
  const int32_t* lengths;
  void *log_partition, *marginals;  // either may be null
  int32_t* unsafe;                  // of each sentence, or of each half of one
  char* workspace;                  // one slice per block, or null if everything is in shared memory
  int64_t slice;
  int32_t sentences, side, stride;
  int32_t single_root, in_double;  // in_double: whether the scores and the results are doubles
  int32_t pieces;                  // work items processed per block at a time (matrix_tree_short.cuh)
};

// The result codes of a kernel with plain doubles. WITHOUT_EXITS: needs orders (single-root-elimination.md),
// but maybe not wide numbers.
CONSTANT int32_t SAFE = 0, UNSAFE = 1, WITHOUT_EXITS = 2;

// A sum with compensation of rounding errors (Neumaier 1974).
struct CarefulSum {
  double total = 0, lost = 0;

  friend DEVICE CarefulSum operator+(const CarefulSum& a, const CarefulSum& b) {
    const double sum = a.total + b.total;
    const double error =
        fabs(a.total) >= fabs(b.total) ? (a.total - sum) + b.total : (b.total - sum) + a.total;
    return {sum, a.lost + b.lost + error};
  }
};

// A product accumulated in a wide number, in place of a sum of logarithms.
struct WideProduct {
  WideNumber value{1, 0};
  friend DEVICE WideProduct operator+(const WideProduct& a, const WideProduct& b) {
    return {a.value * b.value};
  }
};

// One sentence or one half of it: `half` is 0 or 1, or -1 for log Z only, where all states but one are
// eliminated.
template <typename Number, bool SHARED>
struct MatrixTree {
  static constexpr bool PLAIN = sizeof(Number) == sizeof(double);
  using Team = Lanes<32>;

  const MatrixTreeArguments& arguments;
  int sentence, half, n;
  bool single;
  int roots;  // columns of exits to the root
  Levels<Number> levels{};
  Watch* watch = nullptr;
  double *shifts = nullptr, root_shift = 0;
  Number* sums = nullptr;
  int first_word = 1;  // the word of state 0

  DEVICE MatrixTree(const MatrixTreeArguments& arguments, int sentence, int half)
      : arguments(arguments),
        sentence(sentence),
        half(half),
        n(arguments.lengths[sentence]),
        single(arguments.single_root),
        roots(single ? 2 : 1) {
    const int side = arguments.side, front = half == 1 ? n - (n + 1) / 2 : (n + 1) / 2;
    if (half == 1) first_word = 1 + (n + 1) / 2;
    char* memory = shared_memory();
    watch = reinterpret_cast<Watch*>(memory);
    memory += 32;
    sums = reinterpret_cast<Number*>(memory);
    memory += sizeof(Number) * side;
    levels.pivots = reinterpret_cast<Number*>(memory);
    memory += sizeof(Number) * side;
    shifts = reinterpret_cast<double*>(memory);
    memory += sizeof(double) * side;
    levels.matrix = SHARED || !arguments.workspace
                        ? reinterpret_cast<Number*>(memory)
                        : reinterpret_cast<Number*>(arguments.workspace + block_index() * arguments.slice);
    levels.stride = arguments.stride;
    levels.roots = roots;
    levels.n = n;
    levels.kept = half < 0 ? 1 : front;
    levels.watch = watch;
  }

  DEVICE int word(int state) const {
    const int word = first_word + state;
    return word > n ? word - n : word;
  }
  DEVICE int state(int word) const { return word < first_word ? word + n - first_word : word - first_word; }
  DEVICE int64_t place(int head, int modifier) const {
    return (static_cast<int64_t>(sentence) * arguments.side + head) * arguments.side + modifier;
  }
  DEVICE double read(const void* from, int head, int modifier) const {
    const int64_t at = place(head, modifier);
    return arguments.in_double ? static_cast<const double*>(from)[at] : static_cast<const float*>(from)[at];
  }
  DEVICE void write(void* to, int64_t at, double value) const {
    if (arguments.in_double)
      static_cast<double*>(to)[at] = value;
    else
      static_cast<float*>(to)[at] = static_cast<float>(value);
  }

  // exp(score - shift), with derivatives where the number has them. Their difference loses no digits,
  // whatever their sizes.
  DEVICE Number weight(double score, int head, int modifier) const {
    if (score == minus_infinity()) return Number();
    const double shift = shifts[state(modifier)], more = head == 0 ? root_shift : 0;
    const double once = score - shift, twice = once - more;
    if constexpr (PLAIN) {
      return exp(twice);
    } else {
      const double lost = lost_in(score, -shift, once) + lost_in(once, -more, twice);
      Number x;
      value_of(x) =
          as<WideNumber>::exp(twice < LOWEST_SCORE ? LOWEST_SCORE : twice) * as<WideNumber>::exp(lost);
      set_slopes(x, head, modifier);
      return x;
    }
  }
  // The rounding error of a + b = sum (Knuth); 0 where the sum is too low for it to matter.
  static DEVICE double lost_in(double a, double b, double sum) {
    if (sum < LOWEST_SCORE) return 0;
    const double b_part = sum - a;
    return (a - (sum - b_part)) + (b - b_part);
  }
  static DEVICE WideNumber& value_of(WideNumber& x) { return x; }
  template <typename Other>
  static DEVICE WideNumber& value_of(Other& x) {
    return x.value;
  }
  DEVICE void set_slopes(WideNumber&, int, int) const {}
  DEVICE void set_slopes(Dual<WideNumber>& x, int head, int modifier) const {
    x.slope = read(arguments.first, head, modifier);
  }
  DEVICE void set_slopes(HyperDual<WideNumber>& x, int head, int modifier) const {
    x.first = read(arguments.first, head, modifier);
    x.second = read(arguments.second, head, modifier);
    x.both = x.first * x.second;
  }

  DEVICE Number* system(int state) const { return levels.at(state, 0); }

  // Fills in the system of all words: row by row the weights of the heads of a word. Returns false if that
  // reveals nan or that there is no tree.
  DEVICE bool fill() {
    if (thread_index() == 0) watch->recorded_zeros = 0;
    for (int i = thread_index(); i < (n + 1) * n; i += thread_count()) {
      const int head = i / n, modifier = i % n + 1;
      const double score = head == modifier ? minus_infinity() : read(arguments.scores, head, modifier);
      if (!(score < -minus_infinity())) watch->not_a_number = 1;
      Elimination<Number>::carried(system(state(modifier))[head == 0 ? 0 : roots + state(head)]) = score;
    }
    sync_block();
    find_shifts();
    sync_block();
    if (watch->not_a_number || watch->no_head) return false;
    for (int i = thread_index(); i < (n + 1) * n; i += thread_count()) {
      const int modifier = i / (n + 1) + 1, from = i % (n + 1), head = from == 0 ? 0 : word(from - 1);
      Number& entry = system(state(modifier))[from == 0 ? 0 : roots + from - 1];
      const double score = Elimination<Number>::carried(entry);
      entry = weight(score, head, modifier);
      if (single && from == 0) system(state(modifier))[1] = Number();
      // Underflow matters only where a state has no exits left.
      constexpr double LOWEST = 700;
      const double below = shifts[state(modifier)] + (head == 0 ? root_shift : 0) - score;
      if (PLAIN && score != minus_infinity() && n * below >= LOWEST) watch->deep = 1;
    }
    sync_block();
    return true;
  }

  // Finds column shifts that make the largest weight of each row of the system 1 (single root: of the exits
  // to words; the root's weights, infinitesimal anyway, share a separate shift).
  DEVICE void find_shifts() {
    constexpr double LARGEST_SHIFT = 1e4;
    for (int row = Team::group(); row < n + Team::groups(); row += Team::groups()) {
      double highest = minus_infinity();
      if (row < n)
        for (int c = (single ? roots : 0) + Team::lane(); c < roots + n; c += Team::COUNT) {
          const double score = Elimination<Number>::carried(system(row)[c]);
          highest = score > highest ? score : highest;
        }
      highest = Team::largest(highest);
      if (row >= n || Team::lane() > 0) continue;
      if (single && highest == minus_infinity()) highest = Elimination<Number>::carried(system(row)[0]);
      shifts[row] = highest;
      if (highest == minus_infinity()) watch->no_head = 1;
      if (!(fabs(highest) < LARGEST_SHIFT)) watch->unsafe = 1;
    }
    if (!single) return;
    sync_block();
    root_shift = minus_infinity();
    for (int row = Team::lane(); row < n; row += Team::COUNT) {
      const double score = Elimination<Number>::carried(system(row)[0]) - shifts[row];
      root_shift = score > root_shift ? score : root_shift;
    }
    root_shift = Team::largest(root_shift);
    if (root_shift == minus_infinity()) watch->no_head = 1;
    if (!(fabs(root_shift) < LARGEST_SHIFT)) watch->unsafe = 1;
  }

  // The last state has the root as its only exit. With a single root exactly one pivot of the whole
  // elimination is of order 1: two of them mean two words that only the root can govern. Run by one thread.
  DEVICE void record_last() {
    const int last = levels.levels() - 1;
    const Number* row = levels.at(0, last < 0 ? 0 : levels.column(last));
    const bool of_order_1 = single && is_zero(row[roots - 1]);
    levels.pivots[0] = of_order_1 ? row[0] : row[roots - 1];
    if (of_order_1) ++watch->recorded_zeros;
    if (single && watch->recorded_zeros > 1) levels.pivots[0] = Number();
  }

  // log Z = sum of shifts + sum of log pivots of one full elimination. Computed by every warp.
  DEVICE double log_partition() {
    CarefulSum total;
    for (int i = Team::lane(); i < n; i += Team::COUNT) total = total + CarefulSum{shifts[i], 0};
    total = Team::sum(total) + CarefulSum{root_shift, 0};
    if constexpr (PLAIN) {
      constexpr double MOST_MAGNIFIED = 300;
      double logs = 0, magnified = 0;
      for (int i = Team::lane(); i < n; i += Team::COUNT) {
        const double one = log(levels.pivots[i]);
        logs += one;
        magnified -= one < 0 ? one : 0;
      }
      logs = Team::sum(logs);
      if (!(Team::sum(magnified) < MOST_MAGNIFIED)) watch->unsafe = 1;
      if (logs == minus_infinity()) return logs;
      return total.total + (total.lost + logs);
    } else {
      WideProduct product;
      for (int i = Team::lane(); i < n; i += Team::COUNT)
        product = product + WideProduct{value_of(levels.pivots[i])};
      const WideNumber partition = Team::sum(product).value;
      if (is_zero(partition)) return minus_infinity();
      const double exponent = static_cast<double>(partition.exponent), large = exponent * LN2_HIGH;
      total = total + CarefulSum{large, fma(exponent, LN2_HIGH, -large) + exponent * LN2_LOW +
                                            log(partition.mantissa)};
      return total.total + total.lost;
    }
  }

  // The marginals of the half's words. With a single root, escapes of order 0 follow those of order 1, and
  // only they count where a column has any.
  DEVICE void marginals(int order) {
    levels.go_up(order);
    const bool with_root = order == roots - 1;
    const int kept = levels.kept;
    for (int i = thread_index(); i < n * kept; i += thread_count()) {
      const int head = i / kept + 1, m = i % kept, modifier = word(m);
      Number* escape = levels.escape(state(head), m);
      *escape = head == modifier ? Number()
                                 : *escape * weight(read(arguments.scores, head, modifier), head, modifier);
    }
    sync_block();
    // mu(h->m) ∝ w(h->m) esc_m(h)
    for (int m = Team::group(); m < kept + Team::groups(); m += Team::groups()) {
      Number sum = Number();
      if (m < kept)
        for (int h = Team::lane(); h < n; h += Team::COUNT) sum += *levels.escape(h, m);
      sum = Team::sum(sum);
      if (m >= kept || Team::lane() > 0) continue;
      if (with_root) sum += weight(read(arguments.scores, 0, word(m)), 0, word(m));
      const bool none = is_zero(sum);
      if (!none || with_root) Panel<Number, 1, Team>::see(sum, *watch);
      sums[m] = none ? Number() : Elimination<Number>::one() / sum;
    }
    sync_block();
    for (int i = thread_index(); i < (n + 1) * kept; i += thread_count()) {
      const int head = i / kept, m = i % kept, modifier = word(m);
      if (is_zero(sums[m])) continue;
      const Number mass = head > 0    ? *levels.escape(state(head), m)
                          : with_root ? weight(read(arguments.scores, 0, modifier), 0, modifier)
                                      : Number();
      write(arguments.marginals, place(head, modifier), answer_of(mass * sums[m]));
    }
    sync_block();
  }

  // Writes 0, or nan for arcs of the sentence, to the half's columns; the first half also has column 0, the
  // second the padding.
  DEVICE void clear(double value) const {
    const int middle = (n + 1) / 2 + 1, side = arguments.side;
    const int begin = half == 0 ? 0 : middle, width = (half == 0 ? middle : side) - begin;
    for (int i = thread_index(); i < side * width; i += thread_count()) {
      const int head = i / width, modifier = begin + i % width;
      const bool is_arc = head <= n && modifier > 0 && modifier <= n && head != modifier;
      write(arguments.marginals, place(head, modifier), is_arc ? value : 0);
    }
    sync_block();
  }

  DEVICE void run(int32_t* unsafe) {
    double log_partition = n == 0 ? 0 : minus_infinity();
    const bool has_work = half < 0 ? n > 0 : levels.kept > 0;
    if (thread_index() == 0) *watch = {};
    sync_block();
    if (half >= 0) clear(0);
    if (has_work) log_partition = solve();
    if (half <= 0 && arguments.log_partition && thread_index() == 0)
      write(arguments.log_partition, sentence, log_partition);
    if (half >= 0 && isnan(log_partition)) clear(log_partition);
    sync_block();
    if (PLAIN && thread_index() == 0)
      *unsafe = has_work && (watch->unsafe || (watch->zero_pivot && watch->deep)) && !watch->not_a_number;
    sync_block();
  }

  DEVICE double solve() {
    double log_partition = 0;
    for (int order = roots - 1; order >= 0; --order) {
      if (!fill()) return watch->not_a_number ? not_a_number() : minus_infinity();
      levels.go_down(half >= 0);
      if (thread_index() == 0) record_last();
      sync_block();
      log_partition = this->log_partition();
      if (half < 0 || log_partition == minus_infinity()) break;
      marginals(order);
      if (!watch->zero_pivot) break;
    }
    return log_partition;
  }
};

// Runs every work item: a sentence, or half of one.
template <typename Number, bool SHARED>
DEVICE void matrix_tree(const MatrixTreeArguments& arguments) {
  const int halves = arguments.marginals ? 2 : 1;
  for (int piece = block_index(); piece < arguments.sentences * halves; piece += block_count()) {
    const int half = halves == 1 ? -1 : piece % 2;
    MatrixTree<Number, SHARED>(arguments, piece / halves, half).run(arguments.unsafe + piece);
  }
}

// Redoes the items for which doubles were unsafe, usually none: the threads of a block check its items in
// parallel.
DEVICE void matrix_tree_again(const MatrixTreeArguments& arguments) {
  const int halves = arguments.marginals ? 2 : 1, all = arguments.sentences * halves;
  int* found = reinterpret_cast<int*>(shared_memory());
  for (int first = block_index(); first < all; first += block_count() * thread_count()) {
    const int own = first + thread_index() * block_count();
    if (thread_index() == 0) *found = 0;
    sync_block();
    if (own < all && arguments.unsafe[own]) *found = 1;
    sync_block();
    const bool is_work = *found;
    sync_block();
    for (int i = 0; is_work && i < thread_count(); ++i) {
      const int piece = first + i * block_count();
      if (piece >= all || !arguments.unsafe[piece]) continue;
      const int half = halves == 1 ? -1 : piece % 2;
      if (arguments.unsafe[piece] == WITHOUT_EXITS) {
        sync_block();
        MatrixTree<double, false>(arguments, piece / halves, half).run(arguments.unsafe + piece);
        if (!arguments.unsafe[piece]) continue;
      }
      MatrixTree<WideNumber, false>(arguments, piece / halves, half).run(arguments.unsafe + piece);
    }
  }
}

}  // namespace arcwise
