// C += A·B on row-major blocks: the inner loop of the state eliminations in matrix_tree.
#pragma once
#include <cstddef>

namespace arcwise {

// A block of a row-major matrix.
template <typename Number>
struct Block {
  Number* data;
  size_t stride;

  Number* row(size_t i) const { return data + i * stride; }
  Block at(size_t i, size_t j) const { return {data + i * stride + j, stride}; }
};

// Any number type, row by row.
template <typename Number>
void add_product(Block<Number> c, Block<Number> a, Block<Number> b, int rows, int inner, int columns) {
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < inner; ++k) {
      const Number factor = a.row(i)[k];
      if (factor == Number()) continue;
      for (int j = 0; j < columns; ++j) c.row(i)[j] += factor * b.row(k)[j];
    }
}

// Doubles: keeps tiles of c in registers. Processes columns in groups of four, so up to three columns to the
// right of c's last are overwritten as well: they must exist, and their contents must not matter. a and c may
// be adjacent in the same rows, a to the right of c.
void add_product(Block<double> c, Block<double> a, Block<double> b, int rows, int inner, int columns);

}  // namespace arcwise
