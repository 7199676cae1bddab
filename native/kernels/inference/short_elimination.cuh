// The elimination of tree_elimination.cuh (docs/explanation/single-root-elimination.md) for at most 128
// words, in plain doubles held in registers, with all sizes known at compile time.
//
// Half of a sentence has WORDS rows, some of them empty. Level l has 2^l tasks of SIZE = WORDS >> l rows
// each; of the places of a task the first half is kept and the second half eliminated, last place first. Task
// t keeps places t·SIZE/2.. of what level 0 kept, and eliminates those of its sibling t ^ 1. A row is held by
// Q neighbouring lanes, column c by lane c % Q; each of them has R rows.
//
// Rows of eliminated states remain undivided until the level is done, because other rows' updates are linear
// in them.
#pragma once
#include "kernels/inference/elimination_panel.cuh"

namespace arcwise {

struct alignas(16) Pair {
  double first, second;
};

// ROWS per thread and LANES per row on a GPU; whatever the threads can do in tests without one.
template <int WORDS, int ROWS, int LANES>
struct ShortElimination {
  // LAST: number of states left by the levels.
  static constexpr int N = WORDS, K = N / 2, STRIDE = K + 2, LAST = 4;
  static constexpr int Q = LANES < WARP_LANES ? LANES : WARP_LANES;
  static constexpr int R = ROWS > N* Q / MOST_THREADS ? ROWS : N * Q / MOST_THREADS;
  static constexpr int C = N / Q, THREADS = N / R * Q;  // columns per lane, threads per half
  using Row = Lanes<Q>;
  using Team = Lanes<(THREADS < 32 ? THREADS : 32)>;

  // Level l: columns per lane, tasks of a thread, and the layout of a pivot's row in shared memory.
  static constexpr int size(int level) { return N >> level; }
  static constexpr int pitch(int level) { return size(level) / Q > 1 ? size(level) / Q + 2 : 1; }
  static constexpr int pivot_row(int level) { return Q * pitch(level) + 2; }
  static constexpr int pivot_rows(int level) {
    const int here = (1 << level) * pivot_row(level);
    const int below = size(level) > 2 * LAST ? pivot_rows(level + 1) : 0;
    return here > below ? here : below;
  }
  // Start of the rows of states eliminated at a level.
  static constexpr int shares(int level) {
    return level == 0 ? SHARES : shares(level - 1) + K * (size(level) + 2);
  }
  static constexpr int levels(int level = 0) {
    return size(level) > 2 * LAST ? levels(level + 1) : level + 1;
  }
  static constexpr int SCRATCH = 2, SHIFTS = SCRATCH + 32, PIVOTS = SHIFTS + N, INVERSES = PIVOTS + N,
                       PIVOT_ROWS = INVERSES + N, INNER = PIVOT_ROWS + 2 * pivot_rows(0),
                       KEPT = INNER + K * STRIDE, SHARES = KEPT + K * STRIDE;
  static constexpr int DOUBLES = shares(levels());

  double* const memory;                                   // of this half, in shared memory
  const int thread, q;                                    // of the half, of the row
  bool single = false, unsafe = false, no_exits = false;  // observations of a thread
  int n = 0, kept = 0;                                    // words of the sentence, and of the half
  int most_kept = 0, most_eliminated = 0;                 // maxima over the halves of a warp
  double rows[R][C], root[R];                             // weights of the first level, before it begins

  DEVICE ShortElimination()
      : memory(reinterpret_cast<double*>(shared_memory()) + thread_index() / THREADS * DOUBLES),
        thread(thread_index() % THREADS),
        q(Row::lane()) {}

  static DEVICE void sync() {
    if constexpr (THREADS > WARP_LANES)
      sync_block();
    else
      sync_warp();
  }
  static DEVICE Pair& pair(double* at) { return *reinterpret_cast<Pair*>(at); }
  DEVICE int first_row() const { return thread / Q * R; }

  // The maximum over all threads of the half.
  DEVICE double largest(double x) const {
    x = Team::largest(x);
    if constexpr (THREADS > Team::COUNT) {
      double* scratch = memory + SCRATCH;
      if (thread % Team::COUNT == 0) scratch[thread / Team::COUNT] = x;
      sync();
      for (int i = 0; i < THREADS / Team::COUNT; ++i) x = scratch[i] > x ? scratch[i] : x;
      sync();
    }
    return x;
  }

  // Publishes the row of pivot `place` of each task for all threads of the task.
  template <int LEVEL, int REGISTER>
  DEVICE void publish(int place, double* to) const {
    constexpr int SIZE = size(LEVEL), TASKS = R > SIZE ? R / SIZE : 1, RT = R / TASKS;
    UNROLL
    for (int t = 0; t < TASKS; ++t) {
      const int first = first_row() + t * RT, i_pivot = place - first % SIZE;
      if (i_pivot < 0 || i_pivot >= RT) continue;
      double* row = to + first / SIZE * pivot_row(LEVEL);
      UNROLL
      for (int i = 0; i < RT; ++i) {
        if (i != i_pivot) continue;
        const double (&mine)[C] = rows[t * RT + i];
        if constexpr (SIZE / Q > 1) {
          UNROLL
          for (int j = 0; j <= REGISTER; j += 2) pair(row + q * pitch(LEVEL) + j) = {mine[j], mine[j + 1]};
        } else {
          row[q] = mine[0];
        }
        if (q == 0) row[Q * pitch(LEVEL)] = root[t * RT + i];
      }
    }
  }

  // Eliminates one pivot of each task: s = Σ exits to the places before it, rows_i += rows_i[pivot] / s · row
  // of the pivot. REGISTER: the pivot's column belongs to lane `lane`; the values of later lanes there are
  // already eliminated.
  template <int LEVEL, int REGISTER>
  DEVICE void eliminate_one(int lane, double* from) {
    constexpr int SIZE = size(LEVEL), TASKS = R > SIZE ? R / SIZE : 1, RT = R / TASKS, SUMS = 4;
    const int place = REGISTER * Q + lane;
    UNROLL
    for (int t = 0; t < TASKS; ++t) {
      const int first = first_row() + t * RT, i_pivot = place - first % SIZE;
      double* row = from + first / SIZE * pivot_row(LEVEL);
      double exits[REGISTER + 2], sums[SUMS] = {};
      if constexpr (SIZE / Q > 1) {
        UNROLL
        for (int j = 0; j <= REGISTER; j += 2) {
          const Pair both = pair(row + q * pitch(LEVEL) + j);
          exits[j] = both.first;
          exits[j + 1] = both.second;
        }
      } else {
        exits[0] = row[q];
      }
      const double to_root = row[Q * pitch(LEVEL)];
      exits[REGISTER] = q < lane ? exits[REGISTER] : 0;
      sums[SUMS - 1] = q == 0 && !single ? to_root : 0;
      UNROLL
      for (int j = 0; j <= REGISTER; ++j)
        sums[j % SUMS] = j < SUMS - 1 ? exits[j] : sums[j % SUMS] + exits[j];
      const double s = Row::sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
      const double inverse = s > 0 ? reciprocal(s) : 0;
      if (q == 0 && i_pivot >= 0 && i_pivot < RT) memory[INVERSES + first + i_pivot] = inverse;
      UNROLL
      for (int i = 0; i < RT; ++i) {
        double (&mine)[C] = rows[t * RT + i];
        const double there = from_lane_across(mine[REGISTER], q ^ lane);
        const double share = i == i_pivot ? 0 : there * inverse;
        root[t * RT + i] = fma(share, to_root, root[t * RT + i]);
        UNROLL
        for (int j = 0; j <= REGISTER; ++j) mine[j] = fma(share, exits[j], mine[j]);
      }
    }
  }

  // Eliminates the pivots whose columns are in REGISTER, then the ones before them.
  template <int LEVEL, int REGISTER>
  DEVICE void eliminate(int pivots, int& turn) {
    constexpr int HALF = size(LEVEL) / 2;
    ROLLED
    for (int lane = Q - 1; lane >= 0; --lane) {
      const int place = REGISTER * Q + lane;
      if (place >= HALF + pivots || place < HALF) continue;
      eliminate_one<LEVEL, REGISTER>(lane, memory + PIVOT_ROWS + turn);
      turn = pivot_rows(0) - turn;
      if (place > HALF) publish<LEVEL, REGISTER>(place - 1, memory + PIVOT_ROWS + turn);
      sync();
    }
    if constexpr (REGISTER * Q > HALF) eliminate<LEVEL, REGISTER - 1>(pivots, turn);
  }

  // Builds the systems of a level: what the tasks above kept, once for each half, with the half to keep in
  // front.
  template <int LEVEL>
  DEVICE void load() {
    constexpr int SIZE = size(LEVEL);
    UNROLL
    for (int i = 0; i < R; ++i) {
      const int row = first_row() + i, task = row / SIZE, swap = task % 2 * (SIZE / 2);
      const double* from = memory + KEPT + (task / 2 * SIZE + (row % SIZE ^ swap)) * (SIZE + 2);
      root[i] = from[SIZE];
      UNROLL
      for (int j = 0; j < SIZE / Q; ++j) rows[i][j] = from[(q + Q * j) ^ swap];
    }
  }

  static DEVICE bool is_in_range(double x) {
    constexpr double SMALLEST = 1e-280;
    return x > SMALLEST && x < 1 / SMALLEST;
  }

  // Writes the kept rows for the level below and the rows of eliminated states, now divided, for the upward
  // pass.
  template <int LEVEL>
  DEVICE void store() {
    constexpr int SIZE = size(LEVEL), HALF = SIZE / 2;
    UNROLL
    for (int i = 0; i < R; ++i) {
      const int row = first_row() + i, task = row / SIZE, place = row % SIZE, rest = place % HALF;
      double scale = 1;
      if (place >= HALF) {
        // Skip tasks that keep no word.
        const bool is_pivot =
            LEVEL == 0 ? rest < n - kept : (task ^ 1) * HALF + rest < kept && task * HALF < kept;
        scale = is_pivot ? memory[INVERSES + row] : 0;
        if (is_pivot && !is_in_range(scale)) unsafe = true;
        if (is_pivot && scale == 0) no_exits = true;
        if (task == 0 && q == 0) memory[PIVOTS + place] = is_pivot ? scale : 1;
      }
      double* to = memory + (place < HALF ? KEPT : shares(LEVEL)) + (task * HALF + rest) * (HALF + 2);
      if (q == 0) to[HALF] = root[i] * scale;
      UNROLL
      for (int j = 0; j < (SIZE / Q + 1) / 2; ++j)
        if (q + Q * j < HALF) to[q + Q * j] = rows[i][j] * scale;
    }
  }

  // Of the last LAST states of each task, eliminates all but one, a different one per thread: with all rows
  // leading to that state or to the root, esc = exits to the root / s.
  DEVICE void finish() {
    for (int item = thread; item < K; item += THREADS) {
      const int first = item / LAST * LAST, one = item % LAST;
      const double* from = memory + KEPT + first * (LAST + 2);
      double w[LAST][LAST], to_root[LAST], inverses[LAST] = {};
      UNROLL
      for (int i = 0; i < LAST; ++i) {
        to_root[i] = from[(one ^ i) * (LAST + 2) + LAST];
        UNROLL
        for (int j = 0; j < LAST; ++j) w[i][j] = from[(one ^ i) * (LAST + 2) + (one ^ j)];
      }
      UNROLL
      for (int pivot = LAST - 1; pivot > 0; --pivot) {
        double s = single ? 0 : to_root[pivot];
        UNROLL
        for (int j = 0; j < LAST; ++j) s += j < pivot ? w[pivot][j] : 0;
        inverses[pivot] = s > 0 ? reciprocal(s) : 0;
        const bool is_pivot = item < kept && first + (one ^ pivot) < kept;
        if (is_pivot && !is_in_range(s)) unsafe = true;
        if (is_pivot && s == 0) no_exits = true;
        UNROLL
        for (int i = 0; i < LAST; ++i) {
          if (i == pivot) continue;
          const double share = w[i][pivot] * inverses[pivot];
          to_root[i] = fma(share, to_root[pivot], to_root[i]);
          UNROLL
          for (int j = 0; j < LAST; ++j)
            if (j < pivot) w[i][j] = fma(share, w[pivot][j], w[i][j]);
        }
      }
      UNROLL
      for (int i = 0; i < LAST; ++i) {
        memory[INNER + (first + (one ^ i)) * STRIDE + item] = i == 0 ? 0 : to_root[i] * inverses[i];
        if (item == 0) memory[PIVOTS + i] = i < kept ? (i == 0 ? 1 / to_root[0] : inverses[i]) : 1;
      }
    }
  }

  // esc_m(e) = row(e)[root] + Σ_a row(e)[a] esc_m(a), over kept states a.
  template <int LEVEL>
  DEVICE void go_up() {
    constexpr int HALF = size(LEVEL) / 2, EACH = K * HALF / THREADS / 2;
    constexpr int DOWN = EACH < 1 ? 1 : EACH > 4 ? 4 : EACH, TILES = HALF / DOWN * (HALF / 2);
    for (int item = thread; item < TILES * (1 << LEVEL); item += THREADS) {
      const int task = item / TILES, e = item % TILES / (HALF / 2) * DOWN, m = item % (HALF / 2) * 2;
      double* share = memory + shares(LEVEL) + (task * HALF + e) * (HALF + 2);
      double* inner = memory + INNER + task * HALF * STRIDE + task * HALF + m;
      double sums[DOWN][2];
      UNROLL
      for (int i = 0; i < DOWN; ++i) sums[i][0] = sums[i][1] = share[i * (HALF + 2) + HALF];
      const int end = LEVEL == 0 ? kept : HALF;
      ROLLED
      for (int a = 0; a < end; a += 2) {
        const Pair upper = pair(inner + a * STRIDE), lower = pair(inner + (a + 1) * STRIDE);
        UNROLL
        for (int i = 0; i < DOWN; ++i) {
          const Pair both = pair(share + i * (HALF + 2) + a);
          sums[i][0] = fma(both.second, lower.first, fma(both.first, upper.first, sums[i][0]));
          sums[i][1] = fma(both.second, lower.second, fma(both.first, upper.second, sums[i][1]));
        }
      }
      double* to = LEVEL == 0 ? memory + KEPT + e * STRIDE + m
                              : memory + INNER + ((task ^ 1) * HALF + e) * STRIDE + task * HALF + m;
      UNROLL
      for (int i = 0; i < DOWN; ++i) pair(to + i * STRIDE) = {sums[i][0], sums[i][1]};
    }
    sync();
  }

  template <int LEVEL>
  DEVICE void solve_level(bool with_marginals) {
    constexpr int SIZE = size(LEVEL), LAST_REGISTER = SIZE / Q - 1;
    if constexpr (LEVEL > 0) load<LEVEL>();
    int pivots = LEVEL == 0 ? most_eliminated : most_kept, turn = 0;
    pivots = pivots < SIZE / 2 ? pivots : SIZE / 2;
    publish<LEVEL, LAST_REGISTER>(SIZE / 2 + pivots - 1, memory + PIVOT_ROWS);
    sync();
    eliminate<LEVEL, LAST_REGISTER>(pivots, turn);
    store<LEVEL>();
    sync();
    if constexpr (SIZE > 2 * LAST) {
      solve_level<LEVEL + 1>(with_marginals);
    } else {
      finish();
      sync();
    }
    if (with_marginals) go_up<LEVEL>();
  }

  // Runs all levels down and, for marginals, up again: esc_m is then in INNER for kept places, in KEPT for
  // the others; 1 / pivots in PIVOTS.
  DEVICE void solve(bool with_marginals) {
    most_kept = static_cast<int>(Lanes<32>::largest(kept));
    most_eliminated = static_cast<int>(Lanes<32>::largest(n - kept));
    solve_level<0>(with_marginals);
  }
};

}  // namespace arcwise
