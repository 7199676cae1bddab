// Traces trees top-down from a filled chart, processing all pending cells in parallel.
#pragma once
#include "kernels/inference/eisner_chart.cuh"

namespace arcwise {

// The two parts of a cell at one of its splits.
template <typename Number>
struct EisnerSplit {
  const Number &a, &b;
};

CONSTANT int FIRST_ROUND_FLAG = 8;  // of EisnerScratch::flags

// Traces `draws` trees at once. choose(group, draw, cell, from, to, split) is called by a group of lanes and
// returns one of the splits from..to-1, of which split(k) gives the parts; write(draw, modifier, head)
// receives the arcs.
//
// Pending cells cover disjoint spans of the sentence, so each is stored at the first word of its span:
// `waiting` has space for 2 × draws × (n+1). In each round, all pending cells are replaced by their parts.
template <typename Tables, typename Choose, typename Write>
DEVICE void eisner_walk(const Tables& tables, const EisnerScratch& scratch, int n, int draws,
                        int32_t* waiting, Choose choose, Write write) {
  using Group = Lanes<4>;
  const int side = n + 1, places = draws * side;
  int* flags = scratch.flags + FIRST_ROUND_FLAG;
  sync_block();
  for (int at = thread_index(); at < 2 * places; at += thread_count())
    waiting[at] = at < places && at % side == 0 ? n : -1;  // C(0→n)
  for (int at = thread_index(); at < 3; at += thread_count()) flags[at] = 0;
  for (int round = 0;; ++round) {
    sync_block();
    int32_t *now = waiting + round % 2 * places, *next = waiting + (round + 1) % 2 * places;
    if (thread_index() == 0) flags[(round + 1) % 3] = 0;
    for (int begin = 0; begin < places; begin += Group::groups()) {
      const int place = begin + Group::group(), cell = place < places ? now[place] : -1;
      if (!any_in_warp(cell >= 0)) continue;
      const int draw = place / side, head = cell >> 16, end = cell & 0xFFFF;
      const bool waits = cell >= 0;
      // C(head, end) = Σ_m I(head, m) · C(m, end)
      const int from = head < end ? head + 1 : end, to = head < end ? end + 1 : head;
      const int m = choose(Group(), draw, cell, waits ? from : 0, waits ? to : 0, [&](int k) {
        return EisnerSplit{tables.incomplete(head, k), tables.complete(k, end)};
      });
      // S(i,j) = Σ_k C(i→k) · C(k+1←j)
      const int i = head < m ? head : m, j = head < m ? m : head;
      const int k = choose(Group(), draw, ~cell, waits ? i : 0, waits ? j : 0, [&](int k) {
        return EisnerSplit{tables.complete(i, k), tables.complete(j, k + 1)};
      });
      if (!waits || Group::lane() != 0) continue;
      write(draw, m, head);
      now[place] = -1;
      const auto wait = [&](int head, int end) {
        if (head == end) return;
        next[draw * side + (head < end ? head : end)] = head << 16 | end;
        flags[round % 3] = 1;
      };
      wait(m, end), wait(i, k), wait(j, k + 1);
    }
    sync_block();
    if (!flags[round % 3]) return;
  }
}

// Fills the heads that no tree writes: those of the root and the padding, or all.
DEVICE void eisner_pad_heads(int64_t* heads, int n, int side, bool is_tree) {
  for (int m = thread_index(); m < side; m += thread_count())
    if (m == 0 || m > n || !is_tree) heads[m] = -1;
}

}  // namespace arcwise
