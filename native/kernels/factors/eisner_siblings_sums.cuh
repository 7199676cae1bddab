// log Z and the probabilities of arcs and of adjacent siblings in projective trees, in any numbers. Why a double is enough, mostly, and how
// it shows where it is not: see eisner_sums.cuh. The argument holds here, because weights are at most 1 too,
// and products of three are bracketed so that a weight comes last.
#pragma once
#include "kernels/factors/eisner_siblings_chart.cuh"

namespace arcwise::block_siblings {

// Writes 0 for what is no arc or pair, and answer for the others, if there is one.
template <bool HAS_ANSWER, typename Scalar>
DEVICE void write_answers(const SiblingArguments& arguments, const SiblingSentence<Scalar>& sentence,
                          double answer) {
  using Row = Lanes<32>;
  Scalar *arcs = sentence.arcs_of(arguments), *pairs = sentence.pairs_of(arguments);
  const int side = sentence.side, n = sentence.n;
  for (int h = 0; h < side; ++h)
    for (int s = Row::group(); s < side; s += Row::groups())
      for (int m = Row::lane(); m < side; m += Row::COUNT) {
        const bool is_arc = h <= n && 0 < m && m <= n && h != m;
        const bool is_pair =
            is_arc && (s == h || (sentence.has_siblings(h) && ((h < s && s < m) || (m < s && s < h))));
        if (HAS_ANSWER || !is_pair) pairs[sentence.pair(h, s, m)] = static_cast<Scalar>(is_pair ? answer : 0);
        if (s == 0 && (HAS_ANSWER || !is_arc))
          arcs[sentence.arc(h, m)] = static_cast<Scalar>(is_arc ? answer : 0);
      }
}

// Writes all results of a sentence without its sums.
template <typename Scalar>
DEVICE void write_all(const SiblingArguments& arguments, const SiblingSentence<Scalar>& sentence,
                      double log_partition, double answer) {
  if (thread_index() == 0) arguments.log_partition[sentence.number] = log_partition;
  if (arguments.arcs) write_answers<true>(arguments, sentence, answer);
}

// The sums of a sentence in which every word can have a head. Whether they may be wrong.
template <typename Number, bool WITH_OUTSIDE, typename Scalar>
DEVICE bool sibling_sums(const SiblingArguments& arguments, const SiblingSentence<Scalar>& sentence,
                         const EisnerScratch& scratch, char* memory) {
  const int n = sentence.n;
  const SiblingWeights<Number, Scalar> weights{sentence, scratch.shifts, scratch.flags};
  SiblingChart<Number, Scalar, SiblingWeights<Number, Scalar>> chart(sentence, weights, memory);
  chart.fill();
  const Number total = chart.total();
  if (!is_safe_total(total, n, WITH_OUTSIDE)) return true;
  if (is_zero(total)) {
    write_all(arguments, sentence, minus_infinity(), 0);
    return false;
  }
  if (thread_index() < WARP_LANES) {
    const CarefulSum shift = eisner_shift(scratch.shifts, n);
    if (thread_index() == 0)
      arguments.log_partition[sentence.number] = shift.total + (shift.lost + log_of(total));
  }
  if constexpr (WITH_OUTSIDE) {
    Scalar *arcs = sentence.arcs_of(arguments), *pairs = sentence.pairs_of(arguments);
    chart.outside(
        [&](int h, int m, const Number& p) { arcs[sentence.arc(h, m)] = static_cast<Scalar>(answer_of(p)); },
        [&](int h, int s, int m, const Number& p) {
          pairs[sentence.pair(h, s, m)] = static_cast<Scalar>(answer_of(p));
        },
        eisner_safety<Number>(scratch, n));
  }
  return scratch.flags[UNSAFE];
}

// Chooses where the tables lie: in shared memory if they fit.
template <typename Number, bool WITH_OUTSIDE, typename Scalar>
DEVICE bool place_sibling_sums(const SiblingArguments& arguments, const SiblingSentence<Scalar>& sentence,
                               const EisnerScratch& scratch) {
  const int64_t room = scratch.room(arguments.shared_bytes);
  char* workspace = arguments.workspace + block_index() * arguments.workspace_bytes;
  const bool fits = SiblingTables<Number>::bytes(sentence.n, WITH_OUTSIDE) <= room;
  if constexpr (sizeof(Number) == sizeof(double))  // twice, so that the compiler knows where doubles lie
    if (fits) return sibling_sums<Number, WITH_OUTSIDE>(arguments, sentence, scratch, scratch.tables);
  return sibling_sums<Number, WITH_OUTSIDE>(arguments, sentence, scratch, fits ? scratch.tables : workspace);
}

// Doubles for all sentences, or other numbers for those that were found unsafe.
template <typename Number, typename Scalar, bool WITH_OUTSIDE>
DEVICE void sibling_sums_batch(const SiblingArguments& arguments, bool only_unsafe) {
  constexpr bool IS_PLAIN = sizeof(Number) == sizeof(double);
  const EisnerScratch scratch(arguments.side);
  for (int s = block_index(); s < arguments.batch; s += block_count()) {
    if (only_unsafe && !arguments.unsafe[s]) continue;
    const SiblingSentence<Scalar> sentence(arguments, s);
    bool is_unsafe = false;
    if (sentence.n == 0) {
      write_all(arguments, sentence, 0, 0);
    } else if (IS_PLAIN && sentence.n > SAFE_LENGTH) {
      is_unsafe = true;
    } else {
      find_shifts(sentence, scratch);
      if (scratch.flags[NOT_A_SCORE]) {
        write_all(arguments, sentence, not_a_number(), not_a_number());
      } else if (scratch.flags[NO_HEAD]) {
        write_all(arguments, sentence, minus_infinity(), 0);
      } else {
        if (WITH_OUTSIDE) write_answers<false>(arguments, sentence, 0);
        is_unsafe = place_sibling_sums<Number, WITH_OUTSIDE>(arguments, sentence, scratch);
      }
    }
    if (IS_PLAIN && thread_index() == 0) arguments.unsafe[s] = is_unsafe;
  }
}

}  // namespace arcwise::block_siblings
