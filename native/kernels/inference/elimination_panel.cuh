// Joint elimination of several states of a random walk, in registers: the inner step of tree_elimination.cuh
// and wilson.cu.
#pragma once
#include "kernels/base/cuda_number.cuh"

#ifdef __CUDACC_RTC__
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
#define BY_FOURS _Pragma("unroll 4")
#define BOUNDS(threads, blocks) \
  __launch_bounds__(threads, blocks)  // number of blocks per multiprocessor, which limits the registers
#else
#define UNROLL
#define ROLLED
#define BY_FOURS
#define BOUNDS(threads, blocks)
#endif

namespace arcwise {

DEVICE double reciprocal(double x) {
#ifdef __CUDACC_RTC__
  // A 20-bit estimate refined by two Newton steps; valid for pivots in range, and others are rejected.
  double y;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
  y = fma(y, fma(-x, y, 1.0), y);
  return fma(y, fma(-x, y, 1.0), y);
#else
  return 1 / x;
#endif
}

// Initialisation of each number type, and its work distribution: pivots eliminated together, columns per
// lane, lanes per row.
template <typename Number>
struct Elimination;
template <>
struct Elimination<double> {
  static constexpr int PIVOTS = 4, COLUMNS = 2, LANES = 32;
  static DEVICE double one() { return 1; }
  static DEVICE double& carried(double& x) { return x; }
  static DEVICE double inverse(double x) { return reciprocal(x); }
};
template <>
struct Elimination<WideNumber> {
  static constexpr int PIVOTS = 1, COLUMNS = 1, LANES = 8;
  static DEVICE WideNumber one() { return {1, 0}; }
  static DEVICE double& carried(WideNumber& x) { return x.mantissa; }
  static DEVICE WideNumber inverse(const WideNumber& x) { return one() / x; }
};
template <template <typename> typename Derivative>
struct EliminationWithDerivative {
  using Number = Derivative<WideNumber>;
  static constexpr int PIVOTS = 1, COLUMNS = 1, LANES = 8;
  static DEVICE Number one() {
    Number x;
    x.value = {1, 0};
    return x;
  }
  static DEVICE double& carried(Number& x) { return x.value.mantissa; }
  static DEVICE Number inverse(const Number& x) { return one() / x; }
};
template <>
struct Elimination<Dual<WideNumber>> : EliminationWithDerivative<Dual> {};
template <>
struct Elimination<HyperDual<WideNumber>> : EliminationWithDerivative<HyperDual> {};

// Flags and counters shared by the threads of a block. Any thread may raise a flag; the counters belong to
// one thread.
struct Watch {
  int not_a_number, no_head, unsafe, deep, zero_pivot;
  int recorded_zeros;
};

// The pivots of a task that are eliminated together: states top, top - 1, …, with the exits that remain,
//     exits_k = Σ_i through[k][i] row(top - i)   (+ sure[k] to the root, of order 0).
// Every lane computes the same `through` redundantly, which avoids synchronisation.
template <typename Number, int PIVOTS, typename Team>
struct Panel {
  Number through[PIVOTS][PIVOTS], sure[PIVOTS];
  Number* rows = nullptr;
  // roots: number of columns of exits to the root, 2 with a single root.
  int stride = 0, roots = 1, top = 0, count = 0;

  DEVICE int outer() const { return roots + top + 1 - count; }  // remaining columns
  DEVICE Number* row(int state) const { return rows + static_cast<int64_t>(state) * stride; }

  // pivots: where to record the pivot of each state, or null.
  DEVICE void find(Watch& watch, Number* pivots) {
    Number outside[PIVOTS], inner[PIVOTS][PIVOTS];
    UNROLL
    for (int k = 0; k < PIVOTS; ++k) {
      outside[k] = Number();
      if (k < count)
        for (int c = roots - 1 + Team::lane(); c < outer(); c += Team::COUNT) outside[k] += row(top - k)[c];
      UNROLL
      for (int i = 0; i < PIVOTS; ++i) {
        through[k][i] = i == k ? Elimination<Number>::one() : Number();
        inner[k][i] = k < count && i < count ? row(top - k)[roots + top - i] : Number();
      }
      sure[k] = Number();
    }
    UNROLL
    for (int k = 0; k < PIVOTS; ++k) outside[k] = Team::sum(outside[k]);
    UNROLL
    for (int k = 0; k < PIVOTS; ++k)
      if (k < count) eliminate(k, outside, inner, watch, pivots);
  }

  // exits_k /= s, then exits_i += exits_i[k] exits_k for the other pivots of the panel.
  DEVICE void eliminate(int k, Number (&outside)[PIVOTS], Number (&inner)[PIVOTS][PIVOTS], Watch& watch,
                        Number* pivots) {
    Number pivot = outside[k];
    UNROLL
    for (int i = k + 1; i < PIVOTS; ++i) pivot += inner[k][i];
    if (is_zero(pivot)) {
      pivot = without_exits(k, outside[k], watch, pivots != nullptr);
    } else {
      see(pivot, watch);
      const Number scale = Elimination<Number>::inverse(pivot);
      outside[k] = outside[k] * scale;
      sure[k] = sure[k] * scale;
      UNROLL
      for (int i = 0; i < PIVOTS; ++i) {
        through[k][i] = through[k][i] * scale;
        if (i > k) inner[k][i] = inner[k][i] * scale;
      }
    }
    if (pivots) pivots[top - k] = pivot;
    UNROLL
    for (int other = 0; other < PIVOTS; ++other) {
      if (other == k) continue;
      const Number share = inner[other][k];
      outside[other] += share * outside[k];
      sure[other] += share * sure[k];
      UNROLL
      for (int i = 0; i < PIVOTS; ++i) {
        through[other][i] += share * through[k][i];
        if (i > k && i != other) inner[other][i] += share * inner[k][i];
      }
    }
  }

  // A state whose only exit, if any, is the infinitesimal weight of the root goes there with certainty.
  // Returns the pivot, of order 1.
  DEVICE Number without_exits(int k, Number& outside, Watch& watch, bool record) {
    watch.zero_pivot = 1;
    if (roots == 1) return Number();
    if (record) ++watch.recorded_zeros;
    Number pivot = Number();
    UNROLL
    for (int i = 0; i < PIVOTS; ++i) {
      if (i < count) pivot += through[k][i] * row(top - i)[0];
      through[k][i] = Number();
    }
    outside = sure[k] = is_zero(pivot) ? Number() : Elimination<Number>::one();
    return pivot;
  }

  static DEVICE void see(double pivot, Watch& watch) {
    constexpr double SMALLEST = 1e-280;
    if (!(pivot > SMALLEST && pivot < 1 / SMALLEST)) watch.unsafe = 1;
  }
  template <typename Other>
  static DEVICE void see(const Other&, Watch&) {}

  DEVICE Number exits(int k, int column) const {
    Number sum = column == 1 && roots == 2 ? sure[k] : Number();
    UNROLL
    for (int i = 0; i < PIVOTS; ++i)
      if (i < count) sum += through[k][i] * row(top - i)[column];
    return sum;
  }

  // Writes the rows of the panel's states, after all threads have read the old values.
  DEVICE void write_rows() {
    for (int c = Team::lane(); c < outer(); c += Team::COUNT) {
      Number left[PIVOTS];
      UNROLL
      for (int k = 0; k < PIVOTS; ++k) left[k] = exits(k, c);
      UNROLL
      for (int k = 0; k < PIVOTS; ++k)
        if (k < count) row(top - k)[c] = left[k];
    }
  }

  // row_i += Σ_k row_i[k] exits_k, for the rows of other states. Rows are distributed from the last one,
  // PIVOTS at a time, to the teams of a task; from_block: rows before it are unchanged.
  template <int COLUMNS>
  DEVICE void update(int states, int team, int teams, int from_block) {
    const int blocks = (states + PIVOTS - 1) / PIVOTS, own_block = (states - 1 - top) / PIVOTS;
    const int before = from_block - team,
              begin = before > 0 ? team + (before + teams - 1) / teams * teams : team;
    for (int base = Team::lane(); count > 0 && base - Team::lane() < outer(); base += COLUMNS * Team::COUNT) {
      Number left[PIVOTS][COLUMNS];
      UNROLL
      for (int j = 0; j < COLUMNS; ++j) {
        const int c = base + j * Team::COUNT;
        UNROLL
        for (int k = 0; k < PIVOTS; ++k) left[k][j] = c < outer() ? exits(k, c) : Number();
      }
      for (int block = begin; block < blocks; block += teams) {
        const int last = states - 1 - block * PIVOTS;
        for (int i = last; i > last - PIVOTS && i >= 0; --i) {
          if (block == own_block && i > top - count) continue;
          Number* to = row(i);
          Number shares[PIVOTS], sums[COLUMNS] = {};
          UNROLL
          for (int k = 0; k < PIVOTS; ++k) shares[k] = k < count ? to[roots + top - k] : Number();
          UNROLL
          for (int j = 0; j < COLUMNS; ++j)
            if (base + j * Team::COUNT < outer()) sums[j] = to[base + j * Team::COUNT];
          UNROLL
          for (int k = 0; k < PIVOTS; ++k) UNROLL
          for (int j = 0; j < COLUMNS; ++j) sums[j] += shares[k] * left[k][j];
          UNROLL
          for (int j = 0; j < COLUMNS; ++j)
            if (base + j * Team::COUNT < outer()) to[base + j * Team::COUNT] = sums[j];
        }
      }
    }
  }
};

}  // namespace arcwise
