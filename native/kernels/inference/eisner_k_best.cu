// The k best projective trees on a GPU: every cell has a list of its k best scores, best first (Huang &
// Chiang 2005, algorithm 1). A tree has one derivation in the chart, so distinct derivations are distinct
// trees.
#include "kernels/inference/eisner_walk.cuh"

namespace arcwise {

// Lists for the cells C(head, end) and S(i,j), with the backpointers of each score: the split and the ranks
// of its two parts. A list with fewer than k entries is padded with -inf.
class EisnerLists {
 public:
  static constexpr int RANK_BITS = 5, MOST = 1 << RANK_BITS;

  DEVICE EisnerLists(char* memory, int n, int k) : side_(n + 1), k_(k) {
    const int64_t lists = static_cast<int64_t>(side_) * side_ + static_cast<int64_t>(n) * side_ / 2;
    scores_ = reinterpret_cast<double*>(memory);
    parts_ = reinterpret_cast<int32_t*>(scores_ + lists * k);
  }
  DEVICE int64_t complete(int head, int end) const { return (static_cast<int64_t>(head) * side_ + end) * k_; }
  DEVICE int64_t span(int i, int j) const {
    return (static_cast<int64_t>(side_) * side_ + static_cast<int64_t>(j) * (j - 1) / 2 + i) * k_;
  }
  DEVICE double* scores(int64_t list) const { return scores_ + list; }
  DEVICE int32_t parts(int64_t list, int rank) const { return parts_[list + rank]; }
  static DEVICE int split_of(int32_t parts) { return parts >> 2 * RANK_BITS; }
  static DEVICE int left_of(int32_t parts) { return parts >> RANK_BITS & (MOST - 1); }
  static DEVICE int right_of(int32_t parts) { return parts & (MOST - 1); }

  DEVICE void set_word(int head) const {
    scores(complete(head, head))[0] = 0;
    end(complete(head, head), 1);
  }
  DEVICE void end(int64_t list, int count) const {
    if (count < k_) scores_[list + count] = minus_infinity();
  }
  // Adds (arc + left[p]) + right[q] for all ranks to a list with `count` entries; existing entries win ties.
  // The k best sums have ranks with (p+1)(q+1) <= k.
  DEVICE int add(int64_t list, int count, int split, double arc, const double* left,
                 const double* right) const {
    for (int p = 0; p < k_; ++p) {
      const double start = arc + left[p];
      if (start == minus_infinity()) break;
      int q = 0;
      for (; (p + 1) * (q + 1) <= k_; ++q) {
        const double score = start + right[q];
        if (score == minus_infinity() || (count == k_ && score <= scores_[list + k_ - 1])) break;
        count = insert(list, count, score, (split << RANK_BITS | p) << RANK_BITS | q);
      }
      if (q == 0) break;
    }
    return count;
  }

 private:
  DEVICE int insert(int64_t list, int count, double score, int32_t parts) const {
    int at = count < k_ ? count : k_ - 1;
    for (; at > 0 && scores_[list + at - 1] < score; --at) {
      scores_[list + at] = scores_[list + at - 1];
      parts_[list + at] = parts_[list + at - 1];
    }
    scores_[list + at] = score, parts_[list + at] = parts;
    return count < k_ ? count + 1 : k_;
  }

  int side_, k_;
  double* scores_;
  int32_t* parts_;
};

// S(i,j): C(i→k) + C(k+1←j)
DEVICE void fill_span(const EisnerLists& lists, int i, int j) {
  const int64_t list = lists.span(i, j);
  int count = 0;
  for (int k = i; k < j; ++k)
    count = lists.add(list, count, k, 0, lists.scores(lists.complete(i, k)),
                      lists.scores(lists.complete(j, k + 1)));
  lists.end(list, count);
}

// C(head, end): (score of head→m + S between them) + C(m, end)
template <typename Scalar>
DEVICE void fill_complete(const EisnerLists& lists, const EisnerSentence<Scalar>& sentence, int head,
                          int end) {
  const int64_t list = lists.complete(head, end);
  const int from = head < end ? head + 1 : end, to = head < end ? end + 1 : head;
  int count = 0;
  if (!sentence.stops(head, end))
    for (int m = from; m < to; ++m) {
      const int64_t span = head < m ? lists.span(head, m) : lists.span(m, head);
      count = lists.add(list, count, m, sentence.score(head, m), lists.scores(span),
                        lists.scores(lists.complete(m, end)));
    }
  lists.end(list, count);
}

// Traces one tree from the top down. A pending cell is stored at the first word of its span, as in
// eisner_walk.cuh: (head, end) and its rank.
DEVICE void write_tree(const EisnerLists& lists, int n, int rank, int64_t* waiting, int64_t* heads) {
  const auto wait = [&](int head, int end, int rank) {
    if (head != end) waiting[head < end ? head : end] = (static_cast<int64_t>(head) << 16 | end) << 16 | rank;
  };
  for (int at = 0; at <= n; ++at) waiting[at] = -1;
  wait(0, n, rank);
  for (int at = 0; at < n; ++at)
    while (waiting[at] >= 0) {
      const int head = static_cast<int>(waiting[at] >> 32),
                end = static_cast<int>(waiting[at] >> 16 & 0xFFFF);
      const int32_t parts = lists.parts(lists.complete(head, end), static_cast<int>(waiting[at] & 0xFFFF));
      waiting[at] = -1;
      const int m = lists.split_of(parts), i = head < m ? head : m, j = head < m ? m : head;
      heads[m] = head;
      wait(m, end, lists.right_of(parts));
      const int32_t inner = lists.parts(lists.span(i, j), lists.left_of(parts));
      const int k = lists.split_of(inner);
      wait(i, k, lists.left_of(inner));
      wait(j, k + 1, lists.right_of(inner));
    }
}

template <typename Scalar>
DEVICE void eisner_k_best_of(const EisnerArguments& arguments, const EisnerSentence<Scalar>& sentence,
                             char* workspace) {
  const int n = sentence.n, side = sentence.side, k = arguments.count;
  int64_t* waiting = reinterpret_cast<int64_t*>(workspace);
  const EisnerLists lists(workspace + static_cast<int64_t>(k) * side * sizeof(int64_t), n, k);
  for (int h = thread_index(); h <= n; h += thread_count()) lists.set_word(h);
  for (int width = 1; width <= n; ++width) {
    const int cells = n + 1 - width;
    sync_block();
    for (int i = thread_index(); i < cells; i += thread_count()) fill_span(lists, i, i + width);
    sync_block();
    for (int at = thread_index(); at < 2 * cells - 1; at += thread_count()) {
      const int i = at < cells ? at : at - cells + 1;
      fill_complete(lists, sentence, at < cells ? i : i + width, at < cells ? i + width : i);
    }
  }
  sync_block();
  const double* scores = lists.scores(lists.complete(0, n));
  Scalar* best = static_cast<Scalar*>(arguments.log_partition) + static_cast<int64_t>(sentence.number) * k;
  bool is_left = true;
  for (int rank = 0; rank < k; ++rank) {
    is_left = is_left && scores[rank] > minus_infinity();
    int64_t* heads = arguments.heads + (static_cast<int64_t>(sentence.number) * k + rank) * side;
    if (thread_index() == 0) best[rank] = static_cast<Scalar>(is_left ? scores[rank] : minus_infinity());
    eisner_pad_heads(heads, n, side, is_left);
    if (is_left && thread_index() == rank % thread_count())
      write_tree(lists, n, rank, waiting + static_cast<int64_t>(rank) * side, heads);
  }
  sync_block();
}

// The results of a sentence without lists: only the score of the first tree.
template <typename Scalar>
DEVICE void eisner_k_best_without(const EisnerArguments& arguments, const EisnerSentence<Scalar>& sentence,
                                  double first, double other) {
  const int k = arguments.count;
  for (int rank = 0; rank < k; ++rank) {
    const int64_t place = static_cast<int64_t>(sentence.number) * k + rank;
    if (thread_index() == 0)
      static_cast<Scalar*>(arguments.log_partition)[place] = static_cast<Scalar>(rank == 0 ? first : other);
    eisner_pad_heads(arguments.heads + place * sentence.side, sentence.n, sentence.side, false);
  }
}

template <typename Scalar>
DEVICE void eisner_k_best_batch(const EisnerArguments& arguments) {
  const EisnerScratch scratch(arguments.side);
  char* workspace = arguments.workspace + block_index() * arguments.workspace_bytes;
  for (int s = block_index(); s < arguments.batch; s += block_count()) {
    const EisnerSentence<Scalar> sentence(arguments, s);
    if (sentence.n == 0) {
      eisner_k_best_without(arguments, sentence, 0, minus_infinity());
      continue;
    }
    eisner_reduce(sentence, scratch);
    if (scratch.flags[NOT_A_SCORE])
      eisner_k_best_without(arguments, sentence, not_a_number(), not_a_number());
    else if (scratch.flags[NO_HEAD])
      eisner_k_best_without(arguments, sentence, minus_infinity(), minus_infinity());
    else
      eisner_k_best_of(arguments, sentence, workspace);
  }
}

}  // namespace arcwise

using namespace arcwise;

KERNEL THREADS_AT_MOST(512) eisner_k_best_float(EisnerArguments arguments) {
  eisner_k_best_batch<float>(arguments);
}

KERNEL THREADS_AT_MOST(512) eisner_k_best_double(EisnerArguments arguments) {
  eisner_k_best_batch<double>(arguments);
}
