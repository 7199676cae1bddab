// log Z and the arc probabilities of projective trees, in any number type.
//
// Why a double usually suffices: subtracting the highest score of each column makes all weights at most 1,
// and no sum exceeds the number of trees, below (27/4)^n < 2^827 for n <= SAFE_LENGTH. So cells do not
// overflow, but they may underflow. The loss of a cell X when a product underflows is below n · 2^-1022, and
// that of Z at most this times Z · dX: with all adjoints below 2^950, less than n³ · 2^-72 of Z in all. (An
// adjoint computed from such cells is too small by 2^-1022 · (27/4)^n / Z, which is negligible.) If a weight
// underflows, the loss is 2^-1022 · S(i,j) < 2^-1022 · (27/4)^n, and the adjoints have to be smaller by that
// factor. The loss of an adjoint by underflow counts at most 2^-1022 times its cell.
//
// Without adjoints: each lost tree has a factor below 2^-1022 and therefore at most that weight, so Z must be
// above (27/4)^n · n³ · 2^-962.
#pragma once
#include "kernels/inference/eisner_chart.cuh"

namespace arcwise {

CONSTANT int SAFE_LENGTH = 300;
CONSTANT double LOG2_GROWTH = 2.7549;        // log2(27/4)
CONSTANT double SMALLEST_LOG_WEIGHT = -700;  // of weights that do not underflow

DEVICE double power_of_two(int exponent) { return from_bits(static_cast<int64_t>(exponent + 1023) << 52); }

// The largest safe adjoint.
DEVICE double largest_adjoint(int n, bool is_deep) {
  return power_of_two(950 - (is_deep ? static_cast<int>(LOG2_GROWTH * n) + 1 : 0));
}
DEVICE double smallest_partition(int n) {
  return power_of_two(static_cast<int>(LOG2_GROWTH * n) + 1 - 962 + 27);
}

// The results of a sentence whose sums are not computed.
template <typename Scalar>
DEVICE void eisner_say(const EisnerArguments& arguments, const EisnerSentence<Scalar>& sentence,
                       double log_partition, double answer) {
  if (thread_index() == 0)
    static_cast<Scalar*>(arguments.log_partition)[sentence.number] = static_cast<Scalar>(log_partition);
  if (!arguments.answers) return;
  const int side = sentence.side, n = sentence.n;
  Scalar* answers =
      static_cast<Scalar*>(arguments.answers) + static_cast<int64_t>(sentence.number) * side * side;
  for (int at = thread_index(); at < side * side; at += thread_count()) {
    const int h = at / side, m = at % side;
    answers[at] = static_cast<Scalar>(h <= n && m <= n && m > 0 && h != m ? answer : 0);
  }
}

// Fills in the results at positions that are not arcs.
template <typename Scalar>
DEVICE void eisner_pad(const EisnerSentence<Scalar>& sentence, Scalar* answers) {
  const int side = sentence.side, n = sentence.n;
  for (int at = thread_index(); at < side * side; at += thread_count()) {
    const int h = at / side, m = at % side;
    if (h > n || m > n || m == 0 || h == m) answers[at] = 0;
  }
}

template <typename Number>
struct EisnerSafety {
  DEVICE void operator()(const Number&) const {}
};
template <>
struct EisnerSafety<double> {
  double limit;
  int* flags;
  DEVICE void operator()(double adjoint) const {
    if (!(adjoint <= limit)) flags[UNSAFE] = 1;
  }
};

template <typename Number>
DEVICE EisnerSafety<Number> eisner_safety(const EisnerScratch&, int) {
  return {};
}
template <>
DEVICE EisnerSafety<double> eisner_safety<double>(const EisnerScratch& scratch, int n) {
  return {largest_adjoint(n, scratch.flags[DEEP]), scratch.flags};
}

// Whether a sum of doubles is reliable, before the adjoints are known.
template <typename Number>
DEVICE bool is_safe_total(const Number&, int, bool) {
  return true;
}
template <>
DEVICE bool is_safe_total<double>(const double& total, int n, bool with_outside) {
  return total > (with_outside ? power_of_two(-960) : smallest_partition(n));
}

// Computes the sums of a sentence in which every word can have a head; SHARED as in EisnerTables. Returns
// whether they may be inaccurate.
template <typename Number, int SHARED, bool WITH_OUTSIDE, typename Scalar>
DEVICE bool eisner_sums(const EisnerArguments& arguments, const EisnerSentence<Scalar>& sentence,
                        const EisnerScratch& scratch, int shared, char* workspace) {
  constexpr bool IS_PLAIN = sizeof(Number) == sizeof(double);
  const int n = sentence.n;
  EisnerChart<Number, Scalar, SHARED> chart(sentence, scratch, shared, workspace);
  chart.start([&](int h, int m) {
    if (IS_PLAIN) {
      const double score = sentence.score(h, m);
      if (score - scratch.shifts[m] < SMALLEST_LOG_WEIGHT && score > minus_infinity())
        scratch.flags[DEEP] = 1;
    }
    return eisner_weight<Number>(sentence, scratch.shifts, h, m);
  });
  chart.template fill<WITH_OUTSIDE>();
  const Number total = chart.total();
  if (!is_safe_total(total, n, WITH_OUTSIDE)) return true;
  if (is_zero(total)) {
    eisner_say(arguments, sentence, minus_infinity(), 0);
    return false;
  }
  if (thread_index() < WARP_LANES) {
    const CarefulSum shift = eisner_shift(scratch.shifts, n);
    if (thread_index() == 0)
      static_cast<Scalar*>(arguments.log_partition)[sentence.number] =
          static_cast<Scalar>(shift.total + (shift.lost + log_of(total)));
  }
  if constexpr (WITH_OUTSIDE) {
    Scalar* answers = static_cast<Scalar*>(arguments.answers) +
                      static_cast<int64_t>(sentence.number) * sentence.side * sentence.side;
    eisner_pad(sentence, answers);
    const EisnerSafety<Number> check = eisner_safety<Number>(scratch, n);
    chart.outside(
        [&](int h, int m, const Number& share) {
          answers[sentence.place(h, m)] = static_cast<Scalar>(answer_of(share));
        },
        check);
  }
  return scratch.flags[UNSAFE];
}

// Places as many tables in shared memory as fit.
template <typename Number, bool WITH_OUTSIDE, typename Scalar>
DEVICE bool eisner_place(const EisnerArguments& arguments, const EisnerSentence<Scalar>& sentence,
                         const EisnerScratch& scratch) {
  constexpr bool IS_PLAIN = sizeof(Number) == sizeof(double);
  char* workspace = arguments.workspace + block_index() * arguments.workspace_bytes;
  const int shared = eisner_shared_tables<Number>(sentence.n, scratch.room(arguments.shared_bytes));
  if constexpr (IS_PLAIN) {
    constexpr int ALL = WITH_OUTSIDE ? 4 : 2;
    if (shared >= ALL)
      return eisner_sums<Number, ALL, WITH_OUTSIDE>(arguments, sentence, scratch, ALL, workspace);
    if constexpr (WITH_OUTSIDE)
      if (shared == 3)
        return eisner_sums<Number, 3, WITH_OUTSIDE>(arguments, sentence, scratch, 3, workspace);
  }
  return eisner_sums<Number, -1, WITH_OUTSIDE>(arguments, sentence, scratch, shared, workspace);
}

// Runs on doubles for all sentences, or on another number type for those flagged as unsafe.
template <typename Number, typename Scalar, bool WITH_OUTSIDE>
DEVICE void eisner_sums_batch(const EisnerArguments& arguments, bool only_unsafe) {
  constexpr bool IS_PLAIN = sizeof(Number) == sizeof(double);
  const EisnerScratch scratch(arguments.side);
  for (int s = block_index(); s < arguments.batch; s += block_count()) {
    if (only_unsafe && !arguments.unsafe[s]) continue;
    const EisnerSentence<Scalar> sentence(arguments, s);
    bool is_unsafe = false;
    if (sentence.n == 0) {
      eisner_say(arguments, sentence, 0, 0);
    } else if (IS_PLAIN && sentence.n > SAFE_LENGTH) {
      is_unsafe = true;
    } else {
      eisner_reduce(sentence, scratch);
      if (scratch.flags[NOT_A_SCORE])
        eisner_say(arguments, sentence, not_a_number(), not_a_number());
      else if (scratch.flags[NO_HEAD])
        eisner_say(arguments, sentence, minus_infinity(), 0);
      else
        is_unsafe = eisner_place<Number, WITH_OUTSIDE>(arguments, sentence, scratch);
    }
    if (IS_PLAIN && thread_index() == 0) arguments.unsafe[s] = is_unsafe;
  }
}

}  // namespace arcwise
