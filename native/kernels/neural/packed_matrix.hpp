// Matrices of weights: as they are given, and laid out for the loops of an instruction set.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "kernels/neural/aligned.hpp"
#include "kernels/neural/network_loops.hpp"

namespace arcwise {

// rows × columns numbers in float32, or in 8 bits with one scale a row.
struct GivenMatrix {
  int rows = 0, columns = 0;
  std::vector<float> numbers;  // empty: in 8 bits
  std::vector<int8_t> bytes;
  std::vector<float> scales;

  bool has_bytes() const { return numbers.empty() && !bytes.empty(); }
  float at(int row, int column) const {
    const size_t place = static_cast<size_t>(row) * columns + column;
    return has_bytes() ? scales[row] * static_cast<float>(bytes[place]) : numbers[place];
  }
  // The same in 8 bits, in floats; as it is if it is so already.
  GivenMatrix in_bytes() const, in_floats() const;
};

// Numbers of a row in 8 bits, the nearest to number / scale; returns the scale, (the largest size in the row) / 127, or 1 if all are 0.
float row_in_bytes(const float* row, int count, int8_t* out);

// Outputs in the order in which they are packed: numbers of rows of the matrix, -1 for padding.
using OutputOrder = std::vector<int32_t>;
OutputOrder plain_order(int outputs);
// The gates of an LSTM as lstm_step wants them: [units / width][gate][width] of rows gate * units + unit.
OutputOrder gate_order(int units, int width);

// A matrix and its bias, packed in one of the two precisions.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // In 8 bits a number is weight · input · scale · unit.
  static PackedMatrix in_floats(const NetworkLoops& loops, const GivenMatrix& matrix, const float* bias,
                                const OutputOrder& order);
  static PackedMatrix in_bytes(const NetworkLoops& loops, const GivenMatrix& matrix, const float* bias,
                               const OutputOrder& order, float unit);

  int inputs() const { return inputs_; }
  int columns() const { return columns_; }
  bool has_bytes() const { return bytes_; }
  FloatMatrix floats() const;
  ByteMatrix byte_matrix() const;
  size_t memory() const { return weights_.size() * sizeof(float) + byte_weights_.size(); }

  // The product, in whichever precision it is; x has rows of that precision.
  void multiply(const NetworkLoops& loops, const InputRows& x, float slope, float* out, size_t stride) const {
    if (bytes_)
      loops.multiply_bytes(x, byte_matrix(), slope, out, stride);
    else
      loops.multiply(x, floats(), slope, out, stride);
  }

 private:
  void set_bias(const float* bias, const OutputOrder& order, size_t padded);

  int inputs_ = 0, columns_ = 0, groups_ = 0, panel_ = 0;
  bool bytes_ = false;
  size_t panel_bytes_ = 0;
  Aligned<float> weights_, bias_, factor_;
  Aligned<int8_t> byte_weights_;
  Aligned<int32_t> start_;
};

inline size_t round_up(size_t number, size_t unit) { return (number + unit - 1) / unit * unit; }

}  // namespace arcwise
