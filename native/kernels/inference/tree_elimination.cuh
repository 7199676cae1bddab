// The elimination behind matrix_tree.cu: tree_elimination.hpp for a block of threads. Derivation and
// terminology: docs/explanation/single-root-elimination.md.
//
// The two halves of the first level are independent, so a block handles one of them. From there on all 2^l
// tasks of a level of the recursion run in parallel, so that a block waits for n pivots in sequence instead
// of n log n.
//
// One matrix holds everything. A task of level l has as many rows as states and uses the columns from
// column(l) on: exits to the root, to the kept states, and to those that are eliminated. After their
// elimination, the latter columns belong to the tasks of level l + 1. On the way back the escapes of kept
// states replace the kept rows, and those of eliminated states are stored from column(l + 1) on.
#pragma once
#include "kernels/inference/elimination_panel.cuh"

namespace arcwise {

// A task has `states` states in as many rows from `row` on, and eliminates those after the first `kept`. Of
// the states of the level above, it keeps states first_kept.. and eliminates first_other...
struct Task {
  int states = 0, kept = 0, row = 0, first_kept = 0, first_other = 0;

  DEVICE int above(int state) const { return state < kept ? first_kept + state : first_other + state - kept; }
  // The place of a state of the level above.
  DEVICE int place(int above) const {
    const bool is_kept = above >= first_kept && above < first_kept + kept;
    return is_kept ? above - first_kept : kept + above - first_other;
  }
};

// The levels of one half of a sentence. kept: the number of the n states left after the first level.
template <typename Number>
struct Levels {
  static constexpr int PIVOTS = Elimination<Number>::PIVOTS, COLUMNS = Elimination<Number>::COLUMNS,
                       LANES = Elimination<Number>::LANES;
  Number* matrix;
  int stride, roots, n, kept;
  Watch* watch;
  Number* pivots;

  DEVICE Number* at(int row, int column) const {
    return matrix + static_cast<int64_t>(row) * stride + column;
  }
  // The maximum number of states of a task of a level.
  DEVICE int states(int level) const {
    if (level == 0) return n;
    int states = kept;
    for (int l = 1; l < level; ++l) states = (states + 1) / 2;
    return states;
  }
  DEVICE int column(int level) const {
    int column = 0, left = kept;
    for (int l = 0; l < level; ++l, left = (left + 1) / 2) column += roots + left;
    return column;
  }
  DEVICE int levels() const {
    if (n < 2) return 0;
    int levels = 1;
    for (int states = kept; states > 1; states = (states + 1) / 2) ++levels;
    return levels;
  }
  // Tasks 2i and 2i + 1 each keep one half of what task i of the level above kept.
  DEVICE Task task(int level, int number) const {
    if (level == 0) return {n, kept, 0, 0, kept};
    int first = 0, size = kept;
    for (int bit = level - 1; bit > 0; --bit) {
      const int half = (size + 1) / 2;
      const bool second = number >> bit & 1;
      first += second ? half : 0;
      size = second ? size - half : half;
    }
    const int half = (size + 1) / 2;
    if (number & 1) return {size, size - half, 2 * first + size, half, 0};
    return {size, half, 2 * first, 0, half};
  }

  DEVICE void eliminate(int level, bool keep_eliminated) const {
    if (LANES == 8 || states(level) > 14)
      eliminate_with<LANES, PIVOTS, COLUMNS>(level, keep_eliminated);
    else
      eliminate_with<8, (PIVOTS + 1) / 2, COLUMNS>(level, keep_eliminated);
  }

  template <int TEAM, int TOGETHER, int WIDE>
  DEVICE void eliminate_with(int level, bool keep_eliminated) const {
    using Team = Lanes<TEAM>;
    const int tasks = 1 << level, teams = Team::groups() > tasks ? Team::groups() / tasks : 1;
    const int at_once = Team::groups() / teams, member = Team::group() % teams;
    const int most = level == 0 ? n - kept : (states(level) + 1) / 2;
    for (int first = 0; first < tasks; first += at_once) {
      const int number = first + Team::group() / teams;
      const bool busy = number < tasks && Team::group() < at_once * teams;
      Task task{};
      if (busy) task = this->task(level, number);
      if (task.states < 2) task.kept = task.states;
      Panel<Number, TOGETHER, Team> panel;
      panel.rows = at(task.row, column(level));
      panel.stride = stride;
      panel.roots = roots;
      Number* record = busy && number == 0 && member == 0 && Team::lane() == 0 ? pivots : nullptr;
      for (int step = 0; step * TOGETHER < most; ++step) {
        if (keep_eliminated && step > 0 && member == (step - 1) % teams) panel.write_rows();
        sync_warp();
        panel.top = task.states - 1 - step * TOGETHER;
        const int left = panel.top + 1 - task.kept;
        panel.count = left < 0 ? 0 : left < TOGETHER ? left : TOGETHER;
        panel.find(*watch, record);
        panel.template update<WIDE>(task.states, member, teams, keep_eliminated ? 0 : step);
        sync_block();
      }
      if (keep_eliminated && member == ((most + TOGETHER - 1) / TOGETHER - 1) % teams) panel.write_rows();
    }
    sync_block();
  }

  // Builds the systems of the level below: what each task kept, once for each half, with the half to keep in
  // front.
  DEVICE void hand_down(int level) const {
    using Team = Lanes<32>;
    const int from_column = column(level), to_column = column(level + 1), most = states(level + 1);
    for (int item = Team::group(); item < (2 << level) * most; item += Team::groups()) {
      const int number = item / most, state = item % most;
      const Task task = this->task(level + 1, number);
      if (state >= task.states) continue;
      const Number* from = at(this->task(level, number / 2).row + task.above(state), from_column);
      Number* to = at(task.row + state, to_column);
      for (int c = Team::lane(); c < roots + task.states; c += Team::COUNT)
        to[c] = from[c < roots ? c : roots + task.above(c - roots)];
    }
    sync_block();
  }

  // keep_eliminated: required by go_up.
  DEVICE void go_down(bool keep_eliminated) const {
    const int levels = this->levels();
    for (int level = 0; level < levels; ++level) {
      eliminate(level, keep_eliminated);
      if (level + 1 < levels) hand_down(level);
    }
  }

  // Computes escapes between all states kept at the first level, and from the others to them. order: 0 or 1;
  // 0 with several roots.
  DEVICE void go_up(int order) const {
    const int levels = this->levels();
    if (levels == 0 && thread_index() == 0) *at(0, roots) = Number();
    for (int level = levels - 1; level >= 0; --level) {
      gather(level, level + 1 == levels);
      sync_block();
      const int root = roots - 1 - order;
      if (LANES == 8 || states(level) > 14)
        escape_with<LANES, PIVOTS, COLUMNS>(level, root);
      else
        escape_with<8, COLUMNS, 1>(level, root);
      sync_block();
    }
    sync_block();
  }

  // Computes escapes between the kept states of each task, from the two tasks below.
  DEVICE void gather(int level, bool is_last) const {
    using Team = Lanes<8>;
    const int most = level == 0 ? kept : (states(level) + 1) / 2;
    for (int item = Team::group(); item < (1 << level) * most; item += Team::groups()) {
      const int number = item / most, state = item % most;
      const Task task = this->task(level, number);
      if (state >= task.kept) continue;
      Number* to = at(task.row + state, column(level) + roots);
      if (is_last || task.kept == 1) {
        if (Team::lane() == 0) to[0] = Number();
        continue;
      }
      for (int half = 0; half < 2; ++half) {
        const Task below = this->task(level + 1, 2 * number + half);
        const int place = below.place(state);
        const Number* from =
            at(below.row + place, place < below.kept ? column(level + 1) + roots : column(level + 2));
        for (int m = Team::lane(); m < below.kept; m += Team::COUNT) to[below.first_kept + m] = from[m];
      }
    }
  }

  // esc_m(e) = row(e)[root] + Σ_a row(e)[a] esc_m(a), over kept states a.
  template <int TEAM, int ROWS, int WIDE>
  DEVICE void escape_with(int level, int root) const {
    using Team = Lanes<TEAM>;
    const int most = level == 0 ? (n - kept > kept ? n - kept : kept) : (states(level) + 1) / 2;
    const int tiles_down = (most + ROWS - 1) / ROWS, width = WIDE * Team::COUNT,
              tiles_across = (most + width - 1) / width;
    const int tiles = tiles_down * tiles_across;
    for (int item = Team::group(); item < (1 << level) * tiles; item += Team::groups()) {
      const Task task = this->task(level, item / tiles);
      const int eliminated = task.states - task.kept, first = item % tiles / tiles_across * ROWS;
      const int column = item % tiles_across * width + Team::lane();
      if (task.states < 2 || first >= eliminated || column >= task.kept) continue;
      const Number* rows = at(task.row + task.kept + first, this->column(level));
      const Number* inner = at(task.row, this->column(level) + roots);
      Number sums[ROWS][WIDE];
      UNROLL
      for (int i = 0; i < ROWS; ++i) UNROLL
      for (int j = 0; j < WIDE; ++j)
        sums[i][j] = first + i < eliminated ? rows[static_cast<int64_t>(i) * stride + root] : Number();
      for (int a = 0; a < task.kept; ++a) {
        Number escape[WIDE];
        UNROLL
        for (int j = 0; j < WIDE; ++j) {
          const int m = column + j * Team::COUNT;
          escape[j] = m < task.kept ? inner[static_cast<int64_t>(a) * stride + m] : Number();
        }
        UNROLL
        for (int i = 0; i < ROWS; ++i) {
          if (first + i >= eliminated) continue;
          const Number share = rows[static_cast<int64_t>(i) * stride + roots + a];
          UNROLL
          for (int j = 0; j < WIDE; ++j) sums[i][j] += share * escape[j];
        }
      }
      UNROLL
      for (int i = 0; i < ROWS; ++i) UNROLL
      for (int j = 0; j < WIDE; ++j)
        if (first + i < eliminated && column + j * Team::COUNT < task.kept)
          *at(task.row + task.kept + first + i, this->column(level + 1) + column + j * Team::COUNT) =
              sums[i][j];
    }
  }

  // esc_m(h) of states, m one of those kept at the first level.
  DEVICE Number* escape(int h, int m) const { return at(h, h < kept ? roots + m : column(1) + m); }
};

}  // namespace arcwise
