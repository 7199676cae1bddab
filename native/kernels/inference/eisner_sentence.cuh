// The arguments of the CUDA kernels of Eisner's algorithm, a view of one sentence, and the placement of its
// tables. The CPU twin: eisner_chart.hpp.
#pragma once
#include "kernels/base/cuda_number.cuh"

namespace arcwise {

struct EisnerArguments {
  const void* scores;             // (batch, side, side), float or double
  const int32_t* lengths;         // (batch)
  const int32_t* span_ends;       // first and last word of each span
  const int64_t* span_starts;     // (batch + 1), or null: no spans
  const void *first, *second;     // directions of derivatives, shaped like the scores, or null
  void *log_partition, *answers;  // (batch) and (batch, side, side), in the scores' type; either may be null
  int64_t* heads;                 // trees
  int32_t* unsafe;                // (batch): whether the sums exceeded a double
  char* workspace;                // workspace_bytes per block
  int64_t workspace_bytes, seed;
  int32_t batch, side, single_root, shared_bytes, count;
};

// The scores of one sentence and what they are read for.
template <typename Scalar>
struct EisnerSentence {
  const Scalar *scores, *first, *second;
  const int32_t* spans;
  int number, n, side, span_count;
  bool single_root;

  DEVICE EisnerSentence(const EisnerArguments& arguments, int sentence)
      : number(sentence),
        n(arguments.lengths[sentence]),
        side(arguments.side),
        single_root(arguments.single_root) {
    const int64_t offset = static_cast<int64_t>(sentence) * side * side;
    scores = static_cast<const Scalar*>(arguments.scores) + offset;
    first = arguments.first ? static_cast<const Scalar*>(arguments.first) + offset : nullptr;
    second = arguments.second ? static_cast<const Scalar*>(arguments.second) + offset : nullptr;
    const int64_t* starts = arguments.span_starts;
    const int64_t start = starts ? starts[sentence] : 0;
    spans = starts ? arguments.span_ends + 2 * start : nullptr;
    span_count = starts ? static_cast<int>(starts[sentence + 1] - start) : 0;
  }
  DEVICE int place(int head, int modifier) const { return head * side + modifier; }
  DEVICE double score(int head, int modifier) const {
    return static_cast<double>(scores[place(head, modifier)]);
  }

  // Whether C(head, end) must be zero: a head outside a span must not stop in the middle of it, and with a
  // single root C(0→j) ends at n.
  DEVICE bool stops(int head, int end) const {
    if (single_root && head == 0 && end < n) return true;
    for (int s = 0; s < span_count; ++s) {
      const int from = spans[2 * s], to = spans[2 * s + 1];
      if (head < from && from <= end && end < to) return true;
      if (head > to && from < end && end <= to) return true;
    }
    return false;
  }
};

// A sum and its rounding error.
struct CarefulSum {
  double total = 0, lost = 0;
  friend DEVICE CarefulSum operator+(const CarefulSum& a, const CarefulSum& b) {
    const double total = a.total + b.total, back = total - a.total;
    return {total, (a.total - (total - back)) + (b.total - back) + (a.lost + b.lost)};
  }
};

// exp(left.total + left.lost), with the derivatives of scores + ε · first + δ · second.
template <typename Number>
struct EisnerWeight {
  template <typename Scalar>
  static DEVICE Number of(const CarefulSum& left, const EisnerSentence<Scalar>&, int) {
    return as<Number>::exp(left.total) * as<Number>::exp(left.lost);
  }
};
template <>
struct EisnerWeight<double> {
  template <typename Scalar>
  static DEVICE double of(const CarefulSum& left, const EisnerSentence<Scalar>&, int) {
    const double weight = exp(left.total);
    return weight + weight * left.lost;
  }
};
template <typename Number>
struct EisnerWeight<Dual<Number>> {
  template <typename Scalar>
  static DEVICE Dual<Number> of(const CarefulSum& left, const EisnerSentence<Scalar>& sentence, int place) {
    return {EisnerWeight<Number>::of(left, sentence, place), static_cast<double>(sentence.first[place])};
  }
};
template <typename Number>
struct EisnerWeight<HyperDual<Number>> {
  template <typename Scalar>
  static DEVICE HyperDual<Number> of(const CarefulSum& left, const EisnerSentence<Scalar>& sentence,
                                     int place) {
    const double first = sentence.first[place], second = sentence.second[place];
    return {EisnerWeight<Number>::of(left, sentence, place), first, second, first * second};
  }
};

// The weight of an arc, exp(score - shift of its column). Scores below LOWEST_SCORE are clamped to it.
template <typename Number, typename Scalar>
DEVICE Number eisner_weight(const EisnerSentence<Scalar>& sentence, const double* shifts, int head,
                            int modifier) {
  const double score = sentence.score(head, modifier);
  if (score == minus_infinity()) return Number{};
  CarefulSum left = CarefulSum{score, 0} + CarefulSum{-shifts[modifier], 0};
  if (!(left.total > LOWEST_SCORE)) left = {LOWEST_SCORE, 0};
  return EisnerWeight<Number>::of(left, sentence, sentence.place(head, modifier));
}

DEVICE void set_one(double& x) { x = 1; }
DEVICE void set_one(WideNumber& x) { x = {1, 0}; }
template <typename Number>
DEVICE void set_one(Dual<Number>& x) {
  x = {};
  set_one(x.value);
}
template <typename Number>
DEVICE void set_one(HyperDual<Number>& x) {
  x = {};
  set_one(x.value);
}

// Row stride with padding. Cells of neighbouring groups of 4 lanes are stride + 1 numbers apart, and those of
// the lanes of a group 1 or stride: with this remainder, 16 lanes that read doubles hit 16 different banks.
DEVICE int eisner_stride(int n) { return n + 1 + (10 - n % 8) % 8; }

template <typename Number>
struct EisnerTable {
  Number* cells;
  int stride;
  DEVICE Number& operator()(int row, int column) const { return cells[row * stride + column]; }
};

// The upper triangle (row < column) of a square, with the rows of the second half rotated into the free space
// of the first half: n/2 + 1 rows.
template <typename Number>
struct EisnerTriangle {
  Number* cells;
  int stride, half, turn;
  DEVICE EisnerTriangle(Number* memory, int n)
      : cells(memory), stride(eisner_stride(n)), half((n + 1) / 2), turn(n * (stride + 1)) {}
  DEVICE Number& operator()(int row, int column) const {
    const int place = row * stride + column;
    return cells[row < half ? place : turn - place];
  }
};

// The shared memory of every block besides its tables. (tests and cuda/eisner.py count the same bytes.)
struct EisnerScratch {
  int* flags;        // 16 of them
  double* shifts;    // the highest score of each column
  double* partials;  // one per thread
  char* tables;
  DEVICE EisnerScratch(int side) {
    char* memory = shared_memory();
    flags = reinterpret_cast<int*>(memory);
    shifts = reinterpret_cast<double*>(memory + 64);
    partials = shifts + side;
    const int64_t used = 64 + 8 * (static_cast<int64_t>(side) + thread_count());
    tables = memory + (used + 15) / 16 * 16;
  }
  // The bytes left for tables.
  DEVICE int64_t room(int shared_bytes) const { return shared_bytes - (tables - shared_memory()); }
};

enum EisnerFlag { NOT_A_SCORE, NO_HEAD, DEEP, UNSAFE, FLAGS };

// Finds the highest score of each column and invalid scores. Ends with a barrier.
template <typename Scalar>
DEVICE void eisner_reduce(const EisnerSentence<Scalar>& sentence, const EisnerScratch& scratch) {
  const int n = sentence.n, threads = thread_count(), parts = threads / n > 1 ? threads / n : 1;
  sync_block();
  for (int flag = thread_index(); flag < FLAGS; flag += threads) scratch.flags[flag] = 0;
  sync_block();
  bool is_wrong = false;
  for (int at = thread_index(); at < parts * n; at += threads) {
    const int m = at % n + 1;
    double highest = minus_infinity();
    for (int h = at / n; h <= n; h += parts) {
      if (h == m) continue;
      const double score = sentence.score(h, m);
      is_wrong |= !(score < -minus_infinity());
      highest = score > highest ? score : highest;
    }
    if (parts == 1)
      scratch.shifts[m] = highest;
    else
      scratch.partials[at] = highest;
  }
  if (is_wrong) scratch.flags[NOT_A_SCORE] = 1;
  sync_block();
  bool has_no_head = false;
  for (int m = thread_index() + 1; m <= n; m += threads) {
    double highest = scratch.shifts[m];
    if (parts > 1) {
      highest = minus_infinity();
      for (int part = 0; part < parts; ++part) {
        const double other = scratch.partials[part * n + m - 1];
        highest = other > highest ? other : highest;
      }
      scratch.shifts[m] = highest;
    }
    has_no_head |= highest == minus_infinity();
  }
  if (has_no_head) scratch.flags[NO_HEAD] = 1;
  sync_block();
}

// The sum of the column shifts; whole warps must call it.
DEVICE CarefulSum eisner_shift(const double* shifts, int n) {
  using Warp = Lanes<32>;
  CarefulSum total;
  for (int m = Warp::lane() + 1; m <= n; m += Warp::COUNT) total = total + CarefulSum{shifts[m], 0};
  return Warp::sum(total);
}

}  // namespace arcwise
