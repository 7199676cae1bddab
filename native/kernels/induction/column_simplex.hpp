// A small simplex solver for column generation: few rows (tens to hundreds), many columns that are added and
// removed, and one basis that persists through the whole search.
//    maximise  costs . x   subject to  A x = right side,  x >= 0,  x = 0 for disabled columns.
// After columns are disabled, dual pivots restore feasibility and primal pivots restore optimality. The
// solution only guides a search whose bounds are computed elsewhere in exact arithmetic, so this solver is
// built for speed: a dense inverse of the basis, and slightly perturbed right sides to avoid stalling on rows
// whose right side is 0.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace arcwise {

class ColumnSimplex {
 public:
  // One row per right side (>= 0). `penalty[r]`: cost per unit of violation of row r.
  ColumnSimplex(std::vector<double> right_sides, std::vector<double> penalty);

  size_t rows() const { return m_; }
  size_t columns() const { return costs_.size(); }
  void add(double cost, const std::vector<int32_t>& rows, const std::vector<double>& values);
  void set_usable(size_t column, bool usable) { usable_[column] = usable; }
  bool is_basic(size_t column) const { return where_[column] >= 0; }
  void remove(const std::vector<uint8_t>& unwanted);  // `unwanted` must not be basic

  // The current basis, to restore later; valid until a column is removed.
  const std::vector<int32_t>& basis() const { return basis_; }
  void set_basis(const std::vector<int32_t>& basis);

  // Pivots until the optimum, or for at most `most_pivots` pivots; returns the number of pivots.
  int solve(int most_pivots);

  void scale_penalties(double scale) { scale_ = scale; }
  double violation() const;  // the largest violation of any row

  double value() const;                                    // penalties included
  const std::vector<double>& duals() const { return y_; }  // d value / d right side
  double solution(size_t column) const { return where_[column] < 0 ? 0.0 : x_[where_[column]]; }
  double reduced_cost(size_t column) const;

 private:
  // Variables are columns (>= 0), or violations of a row: -1-r (too little) and -1-m-r (too much).
  double cost_of(int variable) const;
  bool is_fixed(int variable) const { return variable >= 0 && !usable_[variable]; }
  double along(const double* row, size_t column) const;  // row . column
  void refactor();
  void price_basis();
  void direction(int entering);  // d = inverse * column
  void exchange(size_t leaving, int entering, double step, double gain);
  int dual_pivots(int most);
  int primal_pivots(int most);
  int improving();
  size_t blocking(double& step) const;

  size_t m_;
  std::vector<double> right_sides_, penalty_, costs_;
  std::vector<int32_t> starts_{0}, entry_row_;
  std::vector<double> entry_value_;
  std::vector<uint8_t> usable_;
  std::vector<int32_t> where_;  // position of each column in the basis, or -1
  std::vector<int32_t> basis_, active_, promising_;
  std::vector<double> inverse_;  // column-major
  std::vector<double> x_, y_, d_, row_;
  double scale_ = 1.0;
  int since_refactor_ = 0;
};

}  // namespace arcwise
