#include "kernels/inference/matrix_product.hpp"

#include "kernels/base/lanes.hpp"

namespace arcwise {

namespace {

template <int ROWS, int TIMES>
void tile_product(Block<double> c, Block<double> a, Block<double> b, int inner) {
  Lanes sum[ROWS][TIMES];
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < TIMES; ++j) sum[i][j] = load(c.row(i) + j * LANES);
  for (int k = 0; k < inner; ++k)
    for (int j = 0; j < TIMES; ++j) {
      const Lanes from = load(b.row(k) + j * LANES);
      for (int i = 0; i < ROWS; ++i) sum[i][j] += a.row(i)[k] * from;
    }
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < TIMES; ++j) store(c.row(i) + j * LANES, sum[i][j]);
}

template <int ROWS>
void strip_product(Block<double> c, Block<double> a, Block<double> b, int inner, int columns) {
  int j = 0;
  for (; j + LANES < columns; j += 2 * LANES) tile_product<ROWS, 2>(c.at(0, j), a, b.at(0, j), inner);
  if (j < columns) tile_product<ROWS, 1>(c.at(0, j), a, b.at(0, j), inner);
}

}  // namespace

void add_product(Block<double> c, Block<double> a, Block<double> b, int rows, int inner, int columns) {
  int i = 0;
  for (; i + 4 <= rows; i += 4) strip_product<4>(c.at(i, 0), a.at(i, 0), b, inner, columns);
  switch (rows - i) {
    case 3:
      return strip_product<3>(c.at(i, 0), a.at(i, 0), b, inner, columns);
    case 2:
      return strip_product<2>(c.at(i, 0), a.at(i, 0), b, inner, columns);
    case 1:
      return strip_product<1>(c.at(i, 0), a.at(i, 0), b, inner, columns);
  }
}

}  // namespace arcwise
