// Random draws of projective trees from their distribution, on a GPU.
#include "kernels/base/cuda_random.cuh"
#include "kernels/inference/eisner_sums.cuh"
#include "kernels/inference/eisner_walk.cuh"

namespace arcwise {

// Selects a part of a whole with probability part / whole.
DEVICE bool is_taken(double uniform, double part, double whole) { return uniform * whole < part; }
DEVICE bool is_taken(double uniform, const WideNumber& part, const WideNumber& whole) {
  return !is_zero(part) && uniform < share_of(part, whole);
}

// A subset of the splits: its total weight and one split drawn from it by weight.
template <typename Number>
struct RandomSplit {
  Number weight{};
  int split = 0;
  DEVICE void add(const RandomSplit& other, uint64_t bits) {
    weight = weight + other.weight;
    if (is_taken(uniform_of(bits), other.weight, weight)) split = other.split;
  }
};
template <typename Number>
struct ChooseAtRandom {
  uint64_t seed;
  int first_draw;

  template <typename Group, typename Split>
  DEVICE int operator()(Group, int draw, int cell, int from, int to, Split split) const {
    const uint64_t key =
        scrambled(scrambled(seed + static_cast<uint64_t>(first_draw + draw)) + static_cast<uint64_t>(cell));
    RandomSplit<Number> chosen;
    for (int k = from + Group::lane(); k < to; k += Group::COUNT) {
      const auto parts = split(k);
      chosen.add({parts.a * parts.b, k}, scrambled(key + static_cast<uint64_t>(k)));
    }
    // Paired lanes add their values in the same order and use the same random number.
    for (int mask = Group::COUNT / 2; mask > 0; mask /= 2) {
      RandomSplit<Number> other = from_lane_across(chosen, mask);
      const bool is_first = (Group::lane() & mask) == 0;
      RandomSplit<Number> both = is_first ? chosen : other;
      both.add(is_first ? other : chosen,
               scrambled(~key + static_cast<uint64_t>(Group::lane() / (2 * mask) * 64 + mask)));
      chosen = both;
    }
    return chosen.split;
  }
};

// The output of a sentence's draws, and the results if there are none.
template <typename Scalar>
DEVICE int64_t* heads_of(const EisnerArguments& arguments, const EisnerSentence<Scalar>& sentence, int draw) {
  return arguments.heads + (static_cast<int64_t>(draw) * arguments.batch + sentence.number) * sentence.side;
}
template <typename Scalar>
DEVICE void pad_draws(const EisnerArguments& arguments, const EisnerSentence<Scalar>& sentence,
                      bool is_tree) {
  for (int draw = 0; draw < arguments.count; ++draw)
    eisner_pad_heads(heads_of(arguments, sentence, draw), sentence.n, sentence.side, is_tree);
}

// Whether the sums may be inaccurate.
template <typename Number, int SHARED, typename Scalar>
DEVICE bool eisner_draws(const EisnerArguments& arguments, const EisnerSentence<Scalar>& sentence,
                         const EisnerScratch& scratch, int shared, char* workspace) {
  const int n = sentence.n;
  EisnerChart<Number, Scalar, SHARED> chart(sentence, scratch, shared, workspace);
  chart.start([&](int h, int m) { return eisner_weight<Number>(sentence, scratch.shifts, h, m); });
  chart.template fill<false>();
  if (!is_safe_total(chart.total(), n, false)) return true;
  const bool is_tree = !is_zero(chart.total());
  pad_draws(arguments, sentence, is_tree);
  if (!is_tree) return false;
  const int at_once = (sentence.side + thread_count()) / (n + 1);  // reuses the memory of shifts and partials
  const uint64_t seed = scrambled(static_cast<uint64_t>(arguments.seed)) +
                        static_cast<uint64_t>(sentence.number) * 0xD1342543DE82EF95ull;
  for (int first = 0; first < arguments.count; first += at_once) {
    const int left = arguments.count - first, draws = left < at_once ? left : at_once;
    eisner_walk(chart.tables(), scratch, n, draws, reinterpret_cast<int32_t*>(scratch.shifts),
                ChooseAtRandom<Number>{seed, first},
                [&](int draw, int m, int h) { heads_of(arguments, sentence, first + draw)[m] = h; });
  }
  return false;
}

template <typename Number, typename Scalar>
DEVICE void eisner_sample_batch(const EisnerArguments& arguments, bool only_unsafe) {
  constexpr bool IS_PLAIN = sizeof(Number) == sizeof(double);
  const EisnerScratch scratch(arguments.side);
  char* workspace = arguments.workspace + block_index() * arguments.workspace_bytes;
  for (int s = block_index(); s < arguments.batch; s += block_count()) {
    if (only_unsafe && !arguments.unsafe[s]) continue;
    const EisnerSentence<Scalar> sentence(arguments, s);
    bool is_unsafe = IS_PLAIN && sentence.n > SAFE_LENGTH;
    bool has_trees = sentence.n > 0 && !is_unsafe;
    if (has_trees) {
      eisner_reduce(sentence, scratch);
      has_trees = !scratch.flags[NOT_A_SCORE] && !scratch.flags[NO_HEAD];
    }
    if (has_trees) {
      const int shared = eisner_shared_tables<Number>(sentence.n, scratch.room(arguments.shared_bytes));
      is_unsafe =
          IS_PLAIN && shared >= 2
              ? eisner_draws<Number, IS_PLAIN ? 2 : -1>(arguments, sentence, scratch, shared, workspace)
              : eisner_draws<Number, -1>(arguments, sentence, scratch, shared, workspace);
    } else {
      pad_draws(arguments, sentence, false);
    }
    if (IS_PLAIN && thread_index() == 0) arguments.unsafe[s] = is_unsafe;
  }
}

}  // namespace arcwise

using namespace arcwise;

KERNEL THREADS_AT_MOST(512) eisner_sample_float(EisnerArguments arguments) {
  eisner_sample_batch<double, float>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_sample_double(EisnerArguments arguments) {
  eisner_sample_batch<double, double>(arguments, false);
}

KERNEL THREADS_AT_MOST(512) eisner_sample_wide_float(EisnerArguments arguments) {
  eisner_sample_batch<WideNumber, float>(arguments, true);
}

KERNEL THREADS_AT_MOST(512) eisner_sample_wide_double(EisnerArguments arguments) {
  eisner_sample_batch<WideNumber, double>(arguments, true);
}
