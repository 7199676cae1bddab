// The best projective tree with sibling scores.
#pragma once
#include "kernels/factors/eisner_siblings_chart.cuh"
#include "kernels/inference/eisner_best.cuh"

namespace arcwise::block_siblings {

template <typename Scalar>
struct SiblingScores {
  const SiblingSentence<Scalar>& sentence;
  DEVICE BestScore operator()(int h, int s, int m) const { return {sentence.score(h, s, m)}; }
};

// From a filled chart to the best tree, by one warp: a cell at a time is replaced by the parts of its best split. Cells that wait cover
// different gaps between words, so there are n of them at most.
template <typename Scalar>
class SiblingWalk {
 public:
  DEVICE SiblingWalk(const SiblingTables<BestScore>& tables, const SiblingSentence<Scalar>& sentence,
                     int32_t* waiting, int64_t* heads)
      : tables_(tables), sentence_(sentence), waiting_(waiting), heads_(heads) {}

  // Whole warps call it.
  DEVICE void run() {
    wait(COMPLETE, 0, sentence_.n);
    while (count_ > 0) {
      sync_warp();
      const int32_t cell = waiting_[--count_];
      sync_warp();  // before another cell is written to its place
      const int a = cell >> 12 & 0xFFF, b = cell & 0xFFF;
      switch (cell >> 24) {
        case COMPLETE:
          split_complete(a, b);
          break;
        case BETWEEN:
          split_between(a, b);
          break;
        default:
          split_incomplete(a, b);
      }
    }
  }

 private:
  enum Kind { COMPLETE, BETWEEN, INCOMPLETE };
  using Warp = Lanes<32>;

  DEVICE void wait(Kind kind, int a, int b) {
    if (a == b) return;
    if (Warp::lane() == 0) waiting_[count_] = kind << 24 | a << 12 | b;
    ++count_;
  }
  // The first of the best splits between from and to, exclusive; others come before them, or after those of the same value.
  template <typename Value>
  DEVICE int best_split(BestSplit best, int from, int to, Value value) const {
    if (Warp::lane() > 0) best = {};
    for (int k = from + Warp::lane(); k < to; k += Warp::COUNT) best = best.better({value(k), k});
    for (int mask = Warp::COUNT / 2; mask > 0; mask /= 2) best = best.better(from_lane_across(best, mask));
    return best.split;
  }
  DEVICE void split_complete(int h, int e) {
    const auto &C = tables_.complete, &I = tables_.incomplete;
    const int from = h < e ? h + 1 : e, to = h < e ? e + 1 : h;
    const int m = best_split({}, from, to, [&](int k) { return I(h, k).value + C(k, e).value; });
    wait(INCOMPLETE, h, m);
    wait(COMPLETE, m, e);
  }
  DEVICE void split_between(int i, int j) {
    const auto& C = tables_.complete;
    const int k = best_split({}, i, j, [&](int k) { return C(i, k).value + C(j, k + 1).value; });
    wait(COMPLETE, i, k);
    wait(COMPLETE, j, k + 1);
  }
  DEVICE void split_incomplete(int h, int m) {
    const int i = h < m ? h : m, j = h < m ? m : h, next = h < m ? h + 1 : h - 1;
    if (Warp::lane() == 0) heads_[m] = h;
    const BestSplit first{tables_.complete(m, next).value + sentence_.score(h, h, m), -1};
    const int s = best_split(first, i + 1, sentence_.has_siblings(h) ? j : i, [&](int k) {
      const double between = (k < m ? tables_.between(k, m) : tables_.between(m, k)).value;
      return tables_.incomplete(h, k).value + between + sentence_.score(h, k, m);
    });
    if (s < 0) {
      wait(COMPLETE, m, next);
    } else {
      wait(INCOMPLETE, h, s);
      wait(BETWEEN, s < m ? s : m, s < m ? m : s);
    }
  }

  const SiblingTables<BestScore>& tables_;
  const SiblingSentence<Scalar>& sentence_;
  int32_t* waiting_;
  int64_t* heads_;
  int count_ = 0;
};

template <typename Scalar>
DEVICE double best_sibling_tree(const SiblingSentence<Scalar>& sentence, const EisnerScratch& scratch,
                                char* memory, int64_t* heads) {
  const SiblingScores<Scalar> scores{sentence};
  SiblingChart<BestScore, Scalar, SiblingScores<Scalar>> chart(sentence, scores, memory);
  chart.fill();
  const double best = chart.total().value;
  if (best > minus_infinity() && thread_index() < WARP_LANES)
    SiblingWalk<Scalar>(chart.tables(), sentence, reinterpret_cast<int32_t*>(scratch.shifts), heads).run();
  return best;
}

template <typename Scalar>
DEVICE void sibling_decode_batch(const SiblingArguments& arguments) {
  const EisnerScratch scratch(arguments.side);
  const int64_t room = scratch.room(arguments.shared_bytes);
  char* workspace = arguments.workspace + block_index() * arguments.workspace_bytes;
  for (int s = block_index(); s < arguments.batch; s += block_count()) {
    const SiblingSentence<Scalar> sentence(arguments, s);
    int64_t* heads = arguments.heads + static_cast<int64_t>(s) * sentence.side;
    for (int m = thread_index(); m < sentence.side; m += thread_count()) heads[m] = -1;
    double best = 0;
    if (sentence.n > 0) {
      find_shifts(sentence, scratch);
      best = scratch.flags[NOT_A_SCORE] ? not_a_number() : minus_infinity();
      if (!scratch.flags[NOT_A_SCORE] && !scratch.flags[NO_HEAD]) {
        const bool fits = SiblingTables<BestScore>::bytes(sentence.n, false) <= room;
        best = best_sibling_tree(sentence, scratch, fits ? scratch.tables : workspace, heads);
      }
    }
    sync_block();  // before the next sentence takes the scratch
    if (thread_index() == 0) arguments.log_partition[s] = best;
  }
}

}  // namespace arcwise::block_siblings
