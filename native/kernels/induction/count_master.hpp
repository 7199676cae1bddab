// The columns of the linear program of the global search over counts: whole parses of sentences, and points
// of blocks.
//
//   maximise    sum of G(v) over chosen points v
//   subject to  for each coordinate, (sum of parses) - (sum of points) = 0
//               one parse per sentence
//               one point per block
//               marked arcs >= least, if there is a constraint
//
// Its dual values are the multipliers of CountProblem::bound, and what maximises that bound are the columns
// to add.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernels/induction/column_simplex.hpp"
#include "kernels/induction/count_problem.hpp"

namespace arcwise {

struct CountSplit {
  int coordinate = -1;  // -1: the box is a single point
  int at = 0;           // children: coordinate <= at, coordinate > at
  double gap = 0;
};

struct CountEvaluation {
  int64_t bound = INT64_MAX;  // the least of the bounds found, and its multipliers
  std::vector<int64_t> mu;
  double value = 0;            // of the linear program over the columns known
  std::vector<double> counts;  // of its solution
  int rounds = 0, pivots = 0;
};

struct CountBasis {  // of a linear program solved before, to start from
  uint64_t generation = 0;
  std::vector<int32_t> variables;
};

class CountMaster {
 public:
  CountMaster(const CountProblem& problem, bool constrained);
  size_t rows() const { return simplex_.rows(); }
  size_t columns() const { return columns_.size(); }

  // Solves the linear program of a box by adding columns, until its bound is at most `threshold` or as good
  // as `precision` times the distance to the threshold. `start` may be the basis of a similar box.
  // After `seconds` it stops with what it has.
  CountEvaluation evaluate(const CountBox& box, int64_t threshold, double precision, int most_rounds,
                           double seconds, const CountBasis* start);
  CountBasis basis() const { return {generation_, simplex_.basis()}; }

  // Coordinates of the box by how much the envelope exceeds the function along them, the largest first, each
  // split near the value in the last solution: (1-middle) * value + middle * (centre of its range).
  std::vector<CountSplit> splits(const CountBox& box, const std::vector<double>& counts, double middle,
                                 size_t at_most) const;

 private:
  struct Column {
    bool is_parse;
    int owner;                                        // sentence or block
    int parse;                                        // of a short sentence, else -1
    std::vector<std::pair<int32_t, int32_t>> counts;  // coordinate, value
    std::string key;
    std::vector<uint8_t> point;  // of a block: parts and A, as in BlockPoints
  };
  size_t add(const CountBound& bound);  // its best parses and points, those that are not columns yet
  size_t append(Column column);
  bool is_usable(const Column& column, const CountBox& box) const;
  void forget_columns();
  std::vector<int64_t> multipliers() const;
  std::vector<double> solution_counts() const;

  const CountProblem& problem_;
  bool constrained_;
  std::vector<int32_t> rows_, row_coordinates_;  // row of each coordinate or -1; coordinate of each row
  std::vector<Column> columns_;  // those of the simplex, in order (before them: the surplus of Q)
  std::unordered_set<std::string> known_;
  ColumnSimplex simplex_;
  uint64_t generation_ = 1;  // changes when columns are forgotten
};

}  // namespace arcwise
