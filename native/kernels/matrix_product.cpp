#include "kernels/matrix_product.hpp"

namespace arcwise {

namespace {

// Four doubles at any address. One instruction where there is AVX, two where there is not: the sums are the
// same.
typedef double Four __attribute__((vector_size(32), aligned(8), may_alias));

template <int ROWS, int FOURS>
void tile_product(Block<double> c, Block<double> a, Block<double> b, int inner) {
  Four sum[ROWS][FOURS];
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < FOURS; ++j) sum[i][j] = reinterpret_cast<const Four*>(c.row(i))[j];
  for (int k = 0; k < inner; ++k) {
    const Four* from = reinterpret_cast<const Four*>(b.row(k));
    for (int i = 0; i < ROWS; ++i)
      for (int j = 0; j < FOURS; ++j) sum[i][j] += a.row(i)[k] * from[j];
  }
  for (int i = 0; i < ROWS; ++i)
    for (int j = 0; j < FOURS; ++j) reinterpret_cast<Four*>(c.row(i))[j] = sum[i][j];
}

template <int ROWS>
void strip_product(Block<double> c, Block<double> a, Block<double> b, int inner, int columns) {
  int j = 0;
  for (; j + 4 < columns; j += 8) tile_product<ROWS, 2>(c.at(0, j), a, b.at(0, j), inner);
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
