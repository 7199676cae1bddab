// Column generation for the linear program of the global search over counts. Columns are whole parses of
// sentences and points of blocks.
//
//   maximise    sum of G(v) over chosen points v
//   subject to  for each coordinate, (sum of parses) - (sum of points) = 0
//               one parse per sentence
//               one point per block
//               marked arcs >= least, if there is a constraint
//
// The dual values are the multipliers of CountProblem::bound, and the maximisers of that bound are the
// columns to add.
#pragma once
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "kernels/induction/column_simplex.hpp"
#include "kernels/induction/count_problem.hpp"

namespace arcwise {

struct CountSplit {
  int coordinate = -1;  // -1 if the box is a single point
  int at = 0;           // children: coordinate <= at, coordinate > at
  double gap = 0;
};

struct CountEvaluation {
  int64_t bound = INT64_MAX;  // the lowest bound so far; below, its multipliers
  std::vector<int64_t> mu;
  double value = 0;            // objective of the linear program over the current columns
  std::vector<double> counts;  // counts of its solution
  int rounds = 0, pivots = 0;
};

struct CountBasis {  // basis of an earlier linear program, for a warm start
  uint64_t generation = 0;
  std::vector<int32_t> variables;
};

class CountMaster {
 public:
  CountMaster(const CountProblem& problem, bool constrained);
  size_t rows() const { return simplex_.rows(); }
  size_t columns() const { return columns_.size(); }

  // Solves the linear program of a box by column generation, until its bound is at most `threshold` or within
  // `precision` of the distance to the threshold. `start` may be the basis of a similar box. After `seconds`
  // it returns its best bound so far.
  CountEvaluation evaluate(const CountBox& box, int64_t threshold, double precision, int most_rounds,
                           double seconds, const CountBasis* start);
  CountBasis basis() const { return {generation_, simplex_.basis()}; }

  // Candidate splits: coordinates of the box by how much the envelope exceeds the function along them,
  // largest first. Each is split near its value in the last solution: (1-middle) * value + middle * (centre
  // of its range).
  std::vector<CountSplit> splits(const CountBox& box, const std::vector<double>& counts, double middle,
                                 size_t at_most) const;

 private:
  struct Column {
    bool is_parse;
    int owner;                                        // sentence or block
    int parse;                                        // parse of a short sentence, or -1
    std::vector<std::pair<int32_t, int32_t>> counts;  // coordinate, value
    std::string key;
    std::vector<uint8_t> point;  // point of a block: parts and A, as in BlockPoints
  };
  size_t add(const CountBound& bound);  // adds the best parses and points that are not yet columns
  size_t append(Column column);
  bool is_usable(const Column& column, const CountBox& box) const;
  void forget_columns();
  std::vector<int64_t> multipliers() const;
  std::vector<double> solution_counts() const;

  const CountProblem& problem_;
  bool constrained_;
  std::vector<int32_t> rows_, row_coordinates_;  // row of each coordinate or -1; coordinate of each row
  std::vector<Column> columns_;  // in the simplex's order (which has the surplus of Q before them)
  std::unordered_set<std::string> known_;
  ColumnSimplex simplex_;
  uint64_t generation_ = 1;  // incremented when columns are dropped
};

}  // namespace arcwise
