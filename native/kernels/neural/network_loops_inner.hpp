// The loops of network_loops.hpp, in terms of vectors that the file which includes this one defines for its instruction set:
// Floats, Ints, WIDTH, ROWS (of a tile of a product), GROUP, OFFSET, Activation, ByteWeights, multiply_add, load_weights, spread_inputs, dot.
// Everything is local to the file, and nothing of the standard library is used: what is compiled for one instruction set must not be
// linked into the code of another.
#pragma once

namespace arcwise {
namespace {

constexpr int PANEL = GATES * WIDTH;
#define ARCWISE_INLINE inline __attribute__((always_inline))

typedef uint32_t Bits __attribute__((vector_size(WIDTH * sizeof(uint32_t))));
typedef Activation Activations __attribute__((vector_size(WIDTH * sizeof(Activation))));

ARCWISE_INLINE Floats load(const float* from) {
  Floats out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
ARCWISE_INLINE Ints load(const int32_t* from) {
  Ints out;
  __builtin_memcpy(&out, from, sizeof out);
  return out;
}
ARCWISE_INLINE void store(float* to, Floats value) { __builtin_memcpy(to, &value, sizeof value); }
ARCWISE_INLINE Floats spread(float x) { return x - Floats{}; }
ARCWISE_INLINE Floats clamped(Floats x, float low, float high) {
  x = x > spread(low) ? x : spread(low);
  return x < spread(high) ? x : spread(high);
}
// The first `count` numbers, and `rest` after them, whatever stands there.
ARCWISE_INLINE Floats load_some(const float* from, int count, float rest) {
  Ints lanes;
  for (int i = 0; i < WIDTH; ++i) lanes[i] = i;
  return lanes < count - Ints{} ? load(from) : spread(rest);
}

// exp(x) for x in [-87, 88], to about 2e-7 of it (Cody & Waite 1980; coefficients of Cephes).
ARCWISE_INLINE Floats exp_of(Floats x) {
  const Floats shifter =
      spread(12582912.0f + 127.0f);  // 1.5 · 2^23: adding it leaves k + 127 in the low bits
  const Floats shifted = multiply_add(x, spread(1.44269504f), shifter);
  const Floats k = shifted - shifter;
  Floats r = multiply_add(k, spread(-0.693359375f), x);
  r = multiply_add(k, spread(2.12194440e-4f), r);
  Floats p = multiply_add(r, spread(1.9875691500e-4f), spread(1.3981999507e-3f));
  p = multiply_add(p, r, spread(8.3334519073e-3f));
  p = multiply_add(p, r, spread(4.1665795894e-2f));
  p = multiply_add(p, r, spread(1.6666665459e-1f));
  p = multiply_add(p, r, spread(5.0000001201e-1f));
  p = multiply_add(p, r * r, r + 1.0f);
  return p * (Floats)((Bits)shifted << 23);
}
// exp(-x), no larger than what can be multiplied by another such number.
ARCWISE_INLINE Floats exp_of_minus(Floats x) { return exp_of(clamped(-x, -40.0f, 40.0f)); }
// The nearest integers of numbers below 2^22, halves to the even one.
ARCWISE_INLINE Ints rounded(Floats x) { return (Ints)(x + 12582912.0f) - 0x4B400000; }

ARCWISE_INLINE const Activation* byte_row(const InputRows& x, int r) {
  return static_cast<const Activation*>(x.first) + static_cast<size_t>(x.at ? x.at[r] : r) * x.stride;
}
ARCWISE_INLINE const float* float_row(const InputRows& x, int r) {
  return static_cast<const float*>(x.first) + static_cast<size_t>(x.at ? x.at[r] : r) * x.stride;
}

// sums[r][v] += Σ_k x[r][k] · weights[k][v]
template <int R, int N>
ARCWISE_INLINE void add_products(Floats (&sums)[R][N], const InputRows& x, int row, const FloatMatrix& matrix,
                                 size_t panel) {
  const float* inputs[R];
  for (int r = 0; r < R; ++r) inputs[r] = float_row(x, row + r);
  const float* weights = matrix.weights + panel * matrix.panel_stride;
  for (int k = 0; k < matrix.inputs; ++k, weights += matrix.input_stride) {
    Floats w[N];
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) w[v] = load(weights + v * WIDTH);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Floats input = spread(inputs[r][k]);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) sums[r][v] = multiply_add(input, w[v], sums[r][v]);
    }
  }
}
template <int R, int N>
ARCWISE_INLINE void add_products(Ints (&sums)[R][N], const InputRows& x, int row, const ByteMatrix& matrix,
                                 size_t panel) {
  const Activation* inputs[R];
  for (int r = 0; r < R; ++r) inputs[r] = byte_row(x, row + r);
  const char* weights = static_cast<const char*>(matrix.weights) + panel * matrix.panel_bytes;
  constexpr size_t VECTOR = sizeof(ByteWeights);
  for (int k = 0; k < matrix.groups; ++k, weights += GATES * VECTOR) {
    Ints w[N];
#pragma GCC unroll 8
    for (int v = 0; v < N; ++v) w[v] = load_weights(weights + v * VECTOR);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      const Ints input = spread_inputs(inputs[r] + k * GROUP);
#pragma GCC unroll 8
      for (int v = 0; v < N; ++v) sums[r][v] = dot(sums[r][v], input, w[v]);
    }
  }
}
// numbers[r][v] += factor · (start + Σ_k weight · input)
template <int R, int N>
ARCWISE_INLINE void add_byte_products(Floats (&numbers)[R][N], const InputRows& x, int row,
                                      const ByteMatrix& matrix, size_t panel) {
  Ints sums[R][N];
#pragma GCC unroll 8
  for (int v = 0; v < N; ++v) {
    const Ints start = load(matrix.start + panel * PANEL + v * WIDTH);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sums[r][v] = start;
  }
  add_products(sums, x, row, matrix, panel);
#pragma GCC unroll 8
  for (int v = 0; v < N; ++v) {
    const Floats factor = load(matrix.factor + panel * PANEL + v * WIDTH);
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
      Floats product = __builtin_convertvector(sums[r][v], Floats);
      if (x.scales) product *= x.scales[row + r];
      numbers[r][v] = multiply_add(product, factor, numbers[r][v]);
    }
  }
}
template <int R, int N>
ARCWISE_INLINE void add_all(Floats (&numbers)[R][N], const InputRows& x, int row, const FloatMatrix& matrix,
                            size_t panel) {
  add_products(numbers, x, row, matrix, panel);
}
template <int R, int N>
ARCWISE_INLINE void add_all(Floats (&numbers)[R][N], const InputRows& x, int row, const ByteMatrix& matrix,
                            size_t panel) {
  add_byte_products(numbers, x, row, matrix, panel);
}

template <int R, int N>
ARCWISE_INLINE void set_bias(Floats (&numbers)[R][N], const float* bias, size_t panel) {
#pragma GCC unroll 8
  for (int v = 0; v < N; ++v) {
    const Floats start = bias ? load(bias + panel * PANEL + v * WIDTH) : Floats{};
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) numbers[r][v] = start;
  }
}

// tile.run<R>(row) for all rows, ROWS at a time while there are as many.
template <int R, typename Tile>
ARCWISE_INLINE void last_rows(int row, int left, const Tile& tile) {
  if constexpr (R > 0) {
    if (left == R)
      tile.template run<R>(row);
    else
      last_rows<R - 1>(row, left, tile);
  }
}
template <typename Tile>
ARCWISE_INLINE void for_each_tile(int count, const Tile& tile) {
  int row = 0;
  for (; row + ROWS <= count; row += ROWS) tile.template run<ROWS>(row);
  last_rows<ROWS - 1>(row, count - row, tile);
}

// So many rows of the product with N vectors of a panel.
template <typename Matrix, int N>
struct ProductTile {
  const InputRows& x;
  const Matrix& matrix;
  size_t panel;
  float slope;
  float* out;
  size_t out_stride;

  template <int R>
  __attribute__((noinline)) void run(int row) const {
    Floats numbers[R][N];
    set_bias(numbers, matrix.bias, panel);
    add_all(numbers, x, row, matrix, panel);
    for (int r = 0; r < R; ++r)
      for (int v = 0; v < N; ++v) {
        const Floats number = numbers[r][v], below = number * slope;
        store(out + static_cast<size_t>(row + r) * out_stride + panel * PANEL + v * WIDTH,
              number > Floats{} ? number : below);
      }
  }
};

template <typename Matrix>
void multiply(const InputRows& x, const Matrix& matrix, float slope, float* out, size_t out_stride) {
  for (int column = 0; column < matrix.columns; column += PANEL) {
    const size_t panel = static_cast<size_t>(column / PANEL);
    switch (matrix.columns - column < PANEL ? (matrix.columns - column + WIDTH - 1) / WIDTH : GATES) {
      case 1:
        for_each_tile(x.count, ProductTile<Matrix, 1>{x, matrix, panel, slope, out, out_stride});
        break;
      case 2:
        for_each_tile(x.count, ProductTile<Matrix, 2>{x, matrix, panel, slope, out, out_stride});
        break;
      case 3:
        for_each_tile(x.count, ProductTile<Matrix, 3>{x, matrix, panel, slope, out, out_stride});
        break;
      default:
        for_each_tile(x.count, ProductTile<Matrix, 4>{x, matrix, panel, slope, out, out_stride});
    }
  }
}

// c = sigmoid(f) · c + sigmoid(i) · tanh(g),  h = sigmoid(o) · tanh(c), of one vector of units; tanh(x) = (1 - e) / (1 + e), e = exp(-2x).
ARCWISE_INLINE Floats finished_cell(const Floats (&gates)[GATES], float* cells) {
  const Floats i = exp_of_minus(gates[0]), f = exp_of_minus(gates[1]), g = exp_of_minus(2.0f * gates[2]);
  const Floats added = (1.0f - g) / ((1.0f + g) * (1.0f + i));
  const Floats cell = multiply_add(1.0f / (1.0f + f), load(cells), added);
  store(cells, cell);
  const Floats o = exp_of_minus(gates[3]), c = exp_of_minus(2.0f * cell);
  return (1.0f - c) / ((1.0f + c) * (1.0f + o));
}

ARCWISE_INLINE void keep_output(float* to, Floats h, int count) {
  if (count >= WIDTH) return store(to, h);
  for (int i = 0; i < count; ++i) to[i] = h[i];
}
ARCWISE_INLINE void keep_output(Activation* to, Floats h, int count) {
  const Activations out = __builtin_convertvector(rounded(h * 127.0f) + OFFSET, Activations);
  __builtin_memcpy(to, &out, count >= WIDTH ? sizeof out : static_cast<size_t>(count) * sizeof(Activation));
}

// One panel of units in so many sentences.
template <typename Matrix, typename Output>
struct CellTile {
  const LstmStep<Matrix>& step;
  size_t panel;

  template <int R>
  __attribute__((noinline)) void run(int row) const {
    Floats gates[R][GATES];
    if (step.parts > 0)
      sum_parts(gates, row);
    else {
      set_bias(gates, step.input_weights.bias, panel);
      add_all(gates, step.input, row, step.input_weights, panel);
    }
    if (step.before.first) add_all(gates, step.before, row, step.recurrent, panel);
    const int unit = static_cast<int>(panel) * WIDTH;
    const size_t padded = static_cast<size_t>((step.units + WIDTH - 1) / WIDTH * WIDTH);
    for (int r = 0; r < R; ++r) {
      const Floats h = finished_cell(gates[r], step.cells + static_cast<size_t>(row + r) * padded + unit);
      Output* to = static_cast<Output*>(step.output) +
                   static_cast<size_t>(step.output_at[row + r]) * step.output_stride + unit;
      keep_output(to, h, step.units - unit);
    }
  }

  template <int R>
  ARCWISE_INLINE void sum_parts(Floats (&gates)[R][GATES], int row) const {
    for (int r = 0; r < R; ++r) {
      const float* const* starts = step.starts + static_cast<size_t>(row + r) * step.parts;
      const size_t at = step.offset + panel * PANEL;
      for (int v = 0; v < GATES; ++v) gates[r][v] = load(starts[0] + at + v * WIDTH);
      for (int part = 1; part < step.parts; ++part)
        for (int v = 0; v < GATES; ++v) gates[r][v] += load(starts[part] + at + v * WIDTH);
    }
  }
};

template <typename Matrix, typename Output>
void lstm_step(const LstmStep<Matrix>& step) {
  const int panels = (step.units + WIDTH - 1) / WIDTH;
  for (int panel = 0; panel < panels; ++panel)
    for_each_tile(step.rows, CellTile<Matrix, Output>{step, static_cast<size_t>(panel)});
}

ARCWISE_INLINE float highest_lane(Floats lanes) {
  float highest = lanes[0];
  for (int i = 1; i < WIDTH; ++i) highest = lanes[i] > highest ? lanes[i] : highest;
  return highest;
}
ARCWISE_INLINE float highest_of(const float* values, int count) {
  Floats top = spread(-3e38f);
  for (int at = 0; at < count; at += WIDTH) {
    const Floats some = load_some(values + at, count - at, -3e38f);
    top = some > top ? some : top;
  }
  return highest_lane(top);
}

ARCWISE_INLINE float total_of(Floats lanes) {
  float sum = 0;
  for (int i = 0; i < WIDTH; ++i) sum += lanes[i];
  return sum;
}

// Σ exp(scale · (value - top)) for each of N scales, top the highest value.
template <int N>
ARCWISE_INLINE void add_powers(const float* values, int count, float top, const float (&scales)[N],
                               float (&sums)[N]) {
  constexpr float NONE = -3e38f;
  Floats totals[N] = {};
  for (int at = 0; at < count; at += WIDTH) {
    const Floats below = load_some(values + at, count - at, NONE) - top;
    for (int i = 0; i < N; ++i) {
      const Floats power = exp_of(clamped(scales[i] * below, -87.0f, 0.0f));
      totals[i] += at + WIDTH <= count ? power : below > spread(NONE / 2) ? power : Floats{};
    }
  }
  for (int i = 0; i < N; ++i) sums[i] = total_of(totals[i]);
}

float log_sum(const float* values, int count, float scale) {
  const float top = highest_of(values, count), scales[1] = {scale};
  float sums[1];
  add_powers(values, count, top, scales, sums);
  return scale * top + __builtin_logf(sums[0]);
}

float power_sum(const float* values, int count, float temperature) {
  const float top = highest_of(values, count), scales[2] = {1.0f, 1.0f / temperature};
  float sums[2];
  add_powers(values, count, top, scales, sums);
  return temperature * __builtin_logf(sums[1]) - __builtin_logf(sums[0]);
}

void log_softmax(float* values, int states, float add) {
  const float shift = log_sum(values, states, 1.0f) - add;
  for (int at = 0; at < states; at += WIDTH) store(values + at, load(values + at) - shift);
}

void to_bytes(const float* row, int count, void* out, float* scale) {
  Floats most = Floats{};
  for (int at = 0; at < count; at += WIDTH) {
    const Floats some = load_some(row + at, count - at, 0), size = some < Floats{} ? -some : some;
    most = size > most ? size : most;
  }
  const float highest = highest_lane(most);
  *scale = highest / 127.0f;
  const float inverse = highest > 0 ? 127.0f / highest : 0;
  auto* to = static_cast<Activation*>(out);
  for (int at = 0; at < count; at += WIDTH) {
    const Ints numbers = rounded(load_some(row + at, count - at, 0) * inverse) + OFFSET;
    const Activations some = __builtin_convertvector(numbers, Activations);
    __builtin_memcpy(to + at, &some, sizeof some);
  }
}

void sigmoid(const float* values, int count, float* out) {
  for (int at = 0; at < count; at += WIDTH) {
    const Floats e = exp_of_minus(load_some(values + at, count - at, 0)), some = 1.0f / (1.0f + e);
    for (int i = 0; i < WIDTH && at + i < count; ++i) out[at + i] = some[i];
  }
}
void tanh(const float* values, int count, float* out) {
  for (int at = 0; at < count; at += WIDTH) {
    const Floats e = exp_of_minus(2.0f * load_some(values + at, count - at, 0)),
                 some = (1.0f - e) / (1.0f + e);
    for (int i = 0; i < WIDTH && at + i < count; ++i) out[at + i] = some[i];
  }
}

constexpr NetworkLoops loops_of(Instructions instructions) {
  return {instructions,
          WIDTH,
          GROUP,
          sizeof(Activation),
          sizeof(ByteWeights) / (WIDTH * GROUP),
          OFFSET,
          multiply<FloatMatrix>,
          multiply<ByteMatrix>,
          lstm_step<FloatMatrix, float>,
          lstm_step<ByteMatrix, Activation>,
          to_bytes,
          log_softmax,
          log_sum,
          power_sum,
          sigmoid,
          tanh};
}

}  // namespace
}  // namespace arcwise
