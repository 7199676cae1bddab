// The inner loops of the network: products of matrices in float32 and in 8-bit integers, steps of an LSTM, softmax. They exist once
// for each instruction set; which one runs is chosen when a network is made.
//
// Every number that comes out is a sum in one fixed order (by input, from the first to the last), whatever else is in the batch and
// however many rows it has. AVX2 and AVX-512 add in the same way (fused), the baseline rounds products before it adds them. Sums of
// 8-bit products are exact in all of them.
//
// Matrices are packed in panels of 4 · width outputs:  [panel][input][4 · width]  in float32 and
// [panel][input / group][4 · width][group]  in 8 bits: see packed_matrix.hpp. Loops read and write whole vectors: rows of what comes out
// are padded to a multiple of `width`, and memory that is read goes on for SLACK bytes after its end.
#pragma once
#include <cstddef>
#include <cstdint>

namespace arcwise {

enum class Instructions { baseline, avx2, avx512 };

constexpr size_t SLACK = 256;
constexpr int GATES =
    4;  // vectors a panel has; of an LSTM: input, forget, cell, output gate of the same units

// Rows of a matrix of inputs: row r is first + at[r] * stride, or first + r * stride if `at` is null.
struct InputRows {
  const void* first;  // float, or what 8-bit inputs are to these loops (see NetworkLoops::activation_bytes)
  size_t stride;      // numbers from one row to the next
  const int32_t* at;
  int count;
  const float* scales = nullptr;  // 8-bit: of each row; null: 1
};

// A matrix as the loops read it. Plain ones, for products whose matrix is made for one sentence, have panel_stride = 4 · width and
// the distance of their rows as input_stride.
struct FloatMatrix {
  const float* weights;
  size_t input_stride, panel_stride;
  int inputs, columns;
  const float* bias;  // null: 0
};

// In 8 bits: number = bias + factor · (start + Σ weight · input).
struct ByteMatrix {
  const void* weights;
  size_t panel_bytes;
  int groups, columns;   // inputs / group, rounded up
  const int32_t* start;  // makes up for what was added to inputs so that none is negative
  const float *factor, *bias;
};

// The same for one step of a direction of an LSTM, in all sentences that have not ended. Columns are in the order
// [units / width][gate][width].
template <typename Matrix>
struct LstmStep {
  int units, rows;
  // What the gates start from: the sum of `parts` rows of products that are known already, at starts[row * parts + part] + offset;
  // or, without parts, the product of `input`, with its bias.
  const float* const* starts = nullptr;
  int parts = 0;
  size_t offset = 0;
  InputRows input{};
  Matrix input_weights{};
  InputRows before{};  // outputs of the step before; first = null: there was none
  Matrix recurrent{};
  float* cells = nullptr;  // of each row, `units` padded to the width
  void* output = nullptr;  // row r goes to output + output_at[r] * output_stride
  size_t output_stride = 0;
  const int32_t* output_at = nullptr;
};

struct NetworkLoops {
  Instructions instructions;
  int width;                              // floats in a vector
  int group;                              // 8-bit inputs that are multiplied together
  size_t activation_bytes, weight_bytes;  // of one 8-bit input, of one 8-bit weight
  int offset;                             // added to 8-bit inputs

  // out[r][c] = leaky(bias[c] + Σ_k x[r][k] · weights[k][c]), leaky(y) = y > 0 ? y : slope · y.
  void (*multiply)(const InputRows& x, const FloatMatrix& matrix, float slope, float* out, size_t out_stride);
  void (*multiply_bytes)(const InputRows& x, const ByteMatrix& matrix, float slope, float* out,
                         size_t out_stride);
  void (*lstm_step)(const LstmStep<FloatMatrix>& step);
  void (*lstm_step_bytes)(const LstmStep<ByteMatrix>& step);  // writes 8-bit outputs: round(127 · h)
  // Floats to 8-bit inputs, each row by its own highest number; `count` is padded with zeros to a whole group.
  void (*to_bytes)(const float* row, int count, void* out, float* scale);
  // values[0..states) become their log softmax plus `add`. Padding after them is overwritten.
  void (*log_softmax)(float* values, int states, float add);
  // log Σ exp(scale · value).
  float (*log_sum)(const float* values, int count, float scale);
  // temperature · log Σ exp(value / temperature), of log softmax of the values.
  float (*power_sum)(const float* values, int count, float temperature);
  // For tests: out[i] = sigmoid or tanh of values[i].
  void (*sigmoid)(const float* values, int count, float* out);
  void (*tanh)(const float* values, int count, float* out);
};

// Whether this machine has them; loops for those it has.
bool has_instructions(Instructions instructions);
Instructions widest_instructions();
const NetworkLoops& network_loops(Instructions instructions);

const NetworkLoops& baseline_loops();
#if defined(__x86_64__)
const NetworkLoops& avx2_loops();
const NetworkLoops& avx512_loops();
#endif

}  // namespace arcwise
