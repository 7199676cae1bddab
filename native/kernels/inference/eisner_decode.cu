// The best projective tree: Eisner (1996) on a GPU. Order of summation and tie-breaking match the CPU
// (eisner.cpp).
#include "kernels/inference/eisner_best.cuh"
#include "kernels/inference/eisner_walk.cuh"

namespace arcwise {

struct ChooseBest {
  template <typename Group, typename Split>
  DEVICE int operator()(Group, int, int, int from, int to, Split split) const {
    BestSplit best;
    for (int k = from + Group::lane(); k < to; k += Group::COUNT) {
      const auto parts = split(k);
      best = best.better({parts.a.value + parts.b.value, k});
    }
    for (int mask = Group::COUNT / 2; mask > 0; mask /= 2) best = best.better(from_lane_across(best, mask));
    return best.split;
  }
};

template <int SHARED, typename Scalar>
DEVICE double eisner_best(const EisnerSentence<Scalar>& sentence, const EisnerScratch& scratch, int shared,
                          char* workspace, int64_t* heads) {
  EisnerChart<BestScore, Scalar, SHARED> chart(sentence, scratch, shared, workspace);
  chart.start([&](int h, int m) { return BestScore{sentence.score(h, m)}; });
  chart.template fill<false>();
  const double best = chart.total().value;
  const bool is_tree = best > minus_infinity();
  eisner_pad_heads(heads, sentence.n, sentence.side, is_tree);
  if (is_tree)
    eisner_walk(chart.tables(), scratch, sentence.n, 1, reinterpret_cast<int32_t*>(scratch.shifts),
                ChooseBest(), [&](int, int m, int h) { heads[m] = h; });
  return best;
}

template <typename Scalar>
DEVICE void eisner_decode_batch(const EisnerArguments& arguments) {
  const EisnerScratch scratch(arguments.side);
  char* workspace = arguments.workspace + block_index() * arguments.workspace_bytes;
  for (int s = block_index(); s < arguments.batch; s += block_count()) {
    const EisnerSentence<Scalar> sentence(arguments, s);
    int64_t* heads = arguments.heads + static_cast<int64_t>(s) * sentence.side;
    double best = 0;
    bool has_trees = false;
    if (sentence.n > 0) {
      eisner_reduce(sentence, scratch);
      best = scratch.flags[NOT_A_SCORE] ? not_a_number() : minus_infinity();
      has_trees = !scratch.flags[NOT_A_SCORE] && !scratch.flags[NO_HEAD];
    }
    if (has_trees) {
      const int shared = eisner_shared_tables<BestScore>(sentence.n, scratch.room(arguments.shared_bytes));
      best = shared >= 2 ? eisner_best<2>(sentence, scratch, 2, workspace, heads)
                         : eisner_best<-1>(sentence, scratch, shared, workspace, heads);
    } else {
      eisner_pad_heads(heads, sentence.n, sentence.side, false);
    }
    if (thread_index() == 0) static_cast<Scalar*>(arguments.log_partition)[s] = static_cast<Scalar>(best);
  }
}

}  // namespace arcwise

using namespace arcwise;

KERNEL THREADS_AT_MOST(512) eisner_decode_float(EisnerArguments arguments) {
  eisner_decode_batch<float>(arguments);
}

KERNEL THREADS_AT_MOST(512) eisner_decode_double(EisnerArguments arguments) {
  eisner_decode_batch<double>(arguments);
}
