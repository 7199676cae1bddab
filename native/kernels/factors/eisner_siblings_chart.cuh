// The chart of Eisner (1996) with adjacent siblings (McDonald & Pereira 2006) by one block of threads: cells of equal width at the same
// time, one barrier a width, O(n³) in all. Weights are w(h,s,m) = exp(scores[h,m] + siblings[h,s,m]), where s = h for the first dependent.
//
//   B(i,j) = Σ_{i<=k<j} C(i→k) · C(k+1←j)                                      between two siblings i and j
//   I(i→j) = w(i,i,j) · C(i+1←j) + Σ_{i<s<j} w(i,s,j) · I(i→s) · B(s,j)         the arc i → j and all before it
//   I(i←j) = w(j,j,i) · C(i→j-1) + Σ_{i<s<j} w(j,s,i) · I(s←j) · B(i,s)
//   C(i→j) = I(i→j) + Σ_{i<m<j} I(i→m) · C(m→j)                                 i with its dependents up to j
//   C(i←j) = I(i←j) + Σ_{i<m<j} I(m←j) · C(i←m)
// The adjoints likewise, from the widest: d x = ∂ log Z / ∂ x,
//   dC(i→j) = w(j+1,j+1,i) · dI(i←j+1) +           Σ_{x>j} dB(i,x) · C(j+1←x)  +  Σ_{x<i} dC(x→j) · I(x→i)
//   dC(i←j) = w(i-1,i-1,j) · dI(i-1→j) +           Σ_{x>j} dC(i←x) · I(j←x)    +  Σ_{x<i} dB(x,j) · C(x→i-1)
//   dI(i→j) = dC(i→j) + Σ_{x>j}  dC(i→x) · C(j→x)  +  w(i,j,x) · dI(i→x) · B(j,x)
//   dI(i←j) = dC(i←j) + Σ_{x<i}  dC(x←j) · C(x←i)  +  w(j,i,x) · dI(x←j) · B(x,i)
//   dB(i,j) = Σ_{x<i} w(x,i,j) · dI(x→j) · I(x→i)  +  Σ_{x>j} w(x,j,i) · dI(i←x) · I(j←x)
// The probability of an arc is I · dI, that of a pair w · (what stands beside it in I) · dI.
#pragma once
#include "kernels/factors/eisner_siblings_sentence.cuh"

namespace arcwise::block_siblings {

// The tables of one sentence, all in shared memory or all in the workspace: C, I, B, and for adjoints dC, dI, dB. Row h of a square holds
// the cells of head h.
template <typename Number>
struct SiblingTables {
  EisnerTable<Number> complete, incomplete, complete_adjoint, incomplete_adjoint;
  EisnerTriangle<Number> between, between_adjoint;

  DEVICE SiblingTables(int n, char* memory)
      : complete(square(n, memory, 0)),
        incomplete(square(n, memory, 1)),
        complete_adjoint(square(n, memory + triangle_bytes(n), 2)),
        incomplete_adjoint(square(n, memory + triangle_bytes(n), 3)),
        between(reinterpret_cast<Number*>(memory + 2 * square_bytes(n)), n),
        between_adjoint(reinterpret_cast<Number*>(memory + triangle_bytes(n) + 4 * square_bytes(n)), n) {}

  static DEVICE int64_t square_bytes(int n) {
    return static_cast<int64_t>(n + 1) * eisner_stride(n) * sizeof(Number);
  }
  static DEVICE int64_t triangle_bytes(int n) {
    return static_cast<int64_t>(n / 2 + 1) * eisner_stride(n) * sizeof(Number);
  }
  static DEVICE int64_t bytes(int n, bool with_adjoints) {
    return (2 * square_bytes(n) + triangle_bytes(n)) * (with_adjoints ? 2 : 1);
  }

 private:
  static DEVICE EisnerTable<Number> square(int n, char* memory, int number) {
    return {reinterpret_cast<Number*>(memory + number * square_bytes(n)), eisner_stride(n)};
  }
};

// Weight: see SiblingWeights.
template <typename Number, typename Scalar, typename Weight>
class SiblingChart {
 public:
  DEVICE SiblingChart(const SiblingSentence<Scalar>& sentence, const Weight& weight, char* memory)
      : sentence_(sentence), weight_(weight), n_(sentence.n), tables_(sentence.n, memory) {}

  // Ends with a barrier.
  DEVICE void fill() {
    for (int h = thread_index(); h <= n_; h += thread_count()) {
      tables_.complete(h, 0) = Number{};  // nothing ends at the root
      set_one(tables_.complete(h, h));
    }
    sync_block();
    for (int width = 1; width <= n_; ++width) {
      with_lanes<Number>(n_ + 1 - width, [&](auto group) { fill_width(group, width); });
      sync_block();
    }
  }

  DEVICE Number total() const { return tables_.complete(0, n_); }
  DEVICE const SiblingTables<Number>& tables() const { return tables_; }

  // Hands arc(h, m, probability) every arc and pair(h, s, m, probability) every pair that is read; check(x) sees every adjoint.
  template <typename Arc, typename Pair, typename Check>
  DEVICE void outside(Arc arc, Pair pair, Check check) {
    for (int width = n_; width > 0; --width) {
      with_lanes<Number>(n_ + 1 - width, [&](auto group) { outside_width(group, width, arc, pair, check); });
      sync_block();
    }
  }

 private:
  static constexpr int UNROLLED = sizeof(Number) == sizeof(double) ? 2 : 1;

  template <typename Group>
  DEVICE void fill_width(Group, int width) {
    const auto &C = tables_.complete, &I = tables_.incomplete;
    const auto& B = tables_.between;
    const int cells = n_ + 1 - width;
    for (int begin = 0; begin < cells; begin += Group::groups()) {
      const int i = begin + eisner_turn<Group>(Group::group()), j = i + width;
      Number between{}, right_arc{}, left_arc{}, right{}, left{};
      if (i < cells) {
        const bool has_siblings = sentence_.has_siblings(i);
        UNROLL
        for (int m = i + 1 + Group::lane(); m < j; m += Group::COUNT) {
          right += I(i, m) * C(m, j);
          if (has_siblings) right_arc += weight_(i, m, j) * (I(i, m) * B(m, j));
          if (i == 0) continue;
          between += C(i, m - 1) * C(j, m);
          left += I(j, m) * C(m, i);
          left_arc += weight_(j, m, i) * (I(j, m) * B(i, m));
        }
      }
      between = Group::sum(between), right_arc = Group::sum(right_arc), left_arc = Group::sum(left_arc);
      right = Group::sum(right), left = Group::sum(left);
      if (i >= cells) continue;
      if (Group::lane() == 0) {
        const Number arc = right_arc + weight_(i, i, j) * C(j, i + 1);
        I(i, j) = arc;
        C(i, j) = sentence_.stops(i, j) ? Number{} : right + arc;
        if (i > 0) B(i, j) = between + C(i, j - 1);
      }
      if (Group::lane() == Group::COUNT - 1 && i > 0) {
        const Number arc = left_arc + weight_(j, j, i) * C(i, j - 1);
        I(j, i) = arc;
        C(j, i) = left + arc;
      }
    }
  }

  // Sums of the adjoints of the cells over i..j.
  struct Adjoints {
    Number right{}, left{}, right_arc{}, left_arc{}, between{};

    template <typename Group>
    DEVICE void sum(Group) {
      right = Group::sum(right), left = Group::sum(left), between = Group::sum(between);
      right_arc = Group::sum(right_arc), left_arc = Group::sum(left_arc);
    }
  };

  template <typename Group, typename Arc, typename Pair, typename Check>
  DEVICE void outside_width(Group group, int width, Arc arc, Pair pair, Check check) {
    const auto &C = tables_.complete, &I = tables_.incomplete;
    const auto &dC = tables_.complete_adjoint, &dI = tables_.incomplete_adjoint;
    const int cells = n_ + 1 - width;
    for (int begin = 0; begin < cells; begin += Group::groups()) {
      const int i = begin + eisner_turn<Group>(Group::group()), j = i + width;
      Adjoints d;
      if (i < cells) {
        add_longer_right(group, i, j, d, pair);
        add_longer_left(group, i, j, d, pair);
      }
      d.sum(group);
      if (i >= cells) continue;
      if (Group::lane() == 0) {
        if (i > 0 && j < n_) d.right += weight_(j + 1, j + 1, i) * dI(j + 1, i);
        if (width == n_) set_one(d.right), d.right = d.right / total();
        if (sentence_.stops(i, j)) d.right = Number{};
        const Number adjoint = d.right + d.right_arc;
        dC(i, j) = d.right;
        dI(i, j) = adjoint;
        arc(i, j, I(i, j) * adjoint);
        pair(i, i, j, weight_(i, i, j) * (C(j, i + 1) * adjoint));
        check(adjoint);
        if (i > 0) tables_.between_adjoint(i, j) = d.between, check(d.between);
      }
      if (Group::lane() == Group::COUNT - 1 && i > 0) {
        d.left += weight_(i - 1, i - 1, j) * dI(i - 1, j);
        const Number adjoint = d.left + d.left_arc;
        dC(j, i) = d.left;
        dI(j, i) = adjoint;
        arc(j, i, I(j, i) * adjoint);
        pair(j, j, i, weight_(j, j, i) * (C(i, j - 1) * adjoint));
        check(adjoint);
      }
    }
  }

  // From the cells that end behind j.
  template <typename Group, typename Pair>
  DEVICE void add_longer_right(Group, int i, int j, Adjoints& d, Pair pair) {
    const auto &C = tables_.complete, &I = tables_.incomplete;
    const auto &dC = tables_.complete_adjoint, &dI = tables_.incomplete_adjoint;
    const auto &B = tables_.between, &dB = tables_.between_adjoint;
    const bool has_siblings = sentence_.has_siblings(i);
    UNROLL
    for (int x = j + 1 + Group::lane(); x <= n_; x += Group::COUNT) {
      d.right_arc += dC(i, x) * C(j, x);
      if (has_siblings) {
        const Number share = weight_(i, j, x) * (dI(i, x) * B(j, x));
        d.right_arc += share;
        pair(i, j, x, share * I(i, j));
      }
      if (i == 0) continue;
      d.right += dB(i, x) * C(x, j + 1);
      d.left += dC(x, i) * I(x, j);
      d.between += weight_(x, j, i) * (dI(x, i) * I(x, j));
    }
  }

  // From the cells that begin before i.
  template <typename Group, typename Pair>
  DEVICE void add_longer_left(Group, int i, int j, Adjoints& d, Pair pair) {
    const auto &C = tables_.complete, &I = tables_.incomplete;
    const auto &dC = tables_.complete_adjoint, &dI = tables_.incomplete_adjoint;
    const auto &B = tables_.between, &dB = tables_.between_adjoint;
    UNROLL
    for (int x = Group::lane(); x < i; x += Group::COUNT) {
      d.right += dC(x, j) * I(x, i);
      if (sentence_.has_siblings(x)) d.between += weight_(x, i, j) * (dI(x, j) * I(x, i));
      if (x == 0) continue;
      d.left += dB(x, j) * C(x, i - 1);
      d.left_arc += dC(j, x) * C(i, x);
      const Number share = weight_(j, i, x) * (dI(j, x) * B(x, i));
      d.left_arc += share;
      pair(j, i, x, share * I(j, i));
    }
  }

  const SiblingSentence<Scalar>& sentence_;
  const Weight& weight_;
  int n_;
  SiblingTables<Number> tables_;
};

}  // namespace arcwise::block_siblings
