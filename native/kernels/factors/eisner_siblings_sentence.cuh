// What the CUDA kernels of Eisner's algorithm with siblings take, and one sentence of it. The same source is the CPU's
// (padded_siblings.cpp).
//
// scores[h, m] is the score of the arc h → m. siblings[h, s, m] is added where m is the next dependent of h after s on the same side,
// siblings[h, h, m] where m is the first one; no other entry is read.
#pragma once
#include "kernels/base/cuda_exp.cuh"
#include "kernels/inference/eisner_sums.cuh"

namespace arcwise::block_siblings {

struct SiblingArguments {
  const void *scores, *siblings;       // (batch, side, side) and (batch, side, side, side), float or double
  const int32_t* lengths;              // (batch)
  const void *first, *first_siblings;  // a direction of derivatives, shaped as the scores, or null
  const void *second, *second_siblings;
  double* log_partition;  // (batch): log Z, or the score of the best tree
  void *arcs, *pairs;     // shaped as scores and siblings, of their type
  int64_t* heads;         // (batch, side)
  int32_t* unsafe;        // (batch): whether a double did not hold the sums
  char* workspace;        // workspace_bytes for each block
  int64_t workspace_bytes;
  int32_t batch, side, single_root, shared_bytes;
};

template <typename Scalar>
struct SiblingSentence {
  const Scalar *scores, *siblings, *first, *first_siblings, *second, *second_siblings;
  int number, n, side;
  bool single_root;

  DEVICE SiblingSentence(const SiblingArguments& arguments, int sentence)
      : number(sentence),
        n(arguments.lengths[sentence]),
        side(arguments.side),
        single_root(arguments.single_root) {
    scores = at(arguments.scores, square());
    siblings = at(arguments.siblings, cube());
    first = at(arguments.first, square());
    first_siblings = at(arguments.first_siblings, cube());
    second = at(arguments.second, square());
    second_siblings = at(arguments.second_siblings, cube());
  }
  DEVICE int64_t square() const { return static_cast<int64_t>(side) * side; }
  DEVICE int64_t cube() const { return square() * side; }
  DEVICE int arc(int h, int m) const { return h * side + m; }
  DEVICE int64_t pair(int h, int s, int m) const { return h * square() + s * side + m; }
  DEVICE double score(int h, int s, int m) const {
    return static_cast<double>(scores[arc(h, m)]) + static_cast<double>(siblings[pair(h, s, m)]);
  }
  // Whether the head may have several dependents.
  DEVICE bool has_siblings(int h) const { return h > 0 || !single_root; }
  // Whether C(head, end) has to be zero: with one root, C(0→j) ends at n.
  DEVICE bool stops(int head, int end) const { return single_root && head == 0 && end < n; }
  // Where the results of this sentence begin.
  DEVICE Scalar* arcs_of(const SiblingArguments& arguments) const {
    return static_cast<Scalar*>(arguments.arcs) + number * square();
  }
  DEVICE Scalar* pairs_of(const SiblingArguments& arguments) const {
    return static_cast<Scalar*>(arguments.pairs) + number * cube();
  }

 private:
  DEVICE const Scalar* at(const void* array, int64_t size) const {
    return array ? static_cast<const Scalar*>(array) + number * size : nullptr;
  }
};

// exp(x) with the derivatives of scores + ε · first + δ · second at one pair.
template <typename Number>
struct SiblingWeight {
  template <typename Scalar>
  static DEVICE Number of(double x, const SiblingSentence<Scalar>&, int, int64_t) {
    return as<Number>::exp(x);
  }
};
template <>
struct SiblingWeight<double> {
  template <typename Scalar>
  static DEVICE double of(double x, const SiblingSentence<Scalar>&, int, int64_t) {
    return small_exp(x);
  }
};
template <typename Scalar>
DEVICE double direction_at(const Scalar* arcs, const Scalar* pairs, int arc, int64_t pair) {
  return static_cast<double>(arcs[arc]) + static_cast<double>(pairs[pair]);
}
template <typename Number>
struct SiblingWeight<Dual<Number>> {
  template <typename Scalar>
  static DEVICE Dual<Number> of(double x, const SiblingSentence<Scalar>& sentence, int arc, int64_t pair) {
    return {as<Number>::exp(x), direction_at(sentence.first, sentence.first_siblings, arc, pair)};
  }
};
template <typename Number>
struct SiblingWeight<HyperDual<Number>> {
  template <typename Scalar>
  static DEVICE HyperDual<Number> of(double x, const SiblingSentence<Scalar>& sentence, int arc,
                                     int64_t pair) {
    const double first = direction_at(sentence.first, sentence.first_siblings, arc, pair);
    const double second = direction_at(sentence.second, sentence.second_siblings, arc, pair);
    return {as<Number>::exp(x), first, second, first * second};
  }
};

// exp(score of m after s, with the arc, less the highest of its column): at most 1. What lies below LOWEST_SCORE counts as that.
template <typename Number, typename Scalar>
struct SiblingWeights {
  const SiblingSentence<Scalar>& sentence;
  const double* shifts;
  int* flags;

  DEVICE Number operator()(int h, int s, int m) const {
    double score = sentence.score(h, s, m);
    if (score == minus_infinity()) return Number{};
    score -= shifts[m];
    if (sizeof(Number) == sizeof(double) && score < SMALLEST_LOG_WEIGHT) flags[DEEP] = 1;
    if (!(score > LOWEST_SCORE)) score = LOWEST_SCORE;
    return SiblingWeight<Number>::of(score, sentence, sentence.arc(h, m), sentence.pair(h, s, m));
  }
};

// The highest score of each column, and what is wrong with the scores. Ends with a barrier. A thread takes every so many heads of a
// word; the threads of a warp read neighbouring words.
template <typename Scalar>
DEVICE void find_shifts(const SiblingSentence<Scalar>& sentence, const EisnerScratch& scratch) {
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
      const double arc = static_cast<double>(sentence.scores[sentence.arc(h, m)]);
      is_wrong |= !(arc < -minus_infinity());
      const int step = h < m ? 1 : -1, count = sentence.has_siblings(h) ? (m - h) * step : 1;
      for (int i = 0; i < count; ++i) {
        const double pair = static_cast<double>(sentence.siblings[sentence.pair(h, h + i * step, m)]);
        is_wrong |= !(pair < -minus_infinity());
        const double score = arc + pair;
        highest = score > highest ? score : highest;
      }
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
    double highest = parts > 1 ? minus_infinity() : scratch.shifts[m];
    for (int part = 0; parts > 1 && part < parts; ++part) {
      const double other = scratch.partials[part * n + m - 1];
      highest = other > highest ? other : highest;
    }
    scratch.shifts[m] = highest;
    has_no_head |= highest == minus_infinity();
  }
  if (has_no_head) scratch.flags[NO_HEAD] = 1;
  sync_block();
}

}  // namespace arcwise::block_siblings
