#include "kernels/neural/packed_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace arcwise {

float row_in_bytes(const float* row, int count, int8_t* out) {
  float most = 0;
  for (int i = 0; i < count; ++i) most = std::max(most, std::fabs(row[i]));
  const float scale = most > 0 ? most / 127.0f : 1.0f;
  for (int i = 0; i < count; ++i)
    out[i] = static_cast<int8_t>(std::clamp(std::nearbyintf(row[i] / scale), -127.0f, 127.0f));
  return scale;
}

GivenMatrix GivenMatrix::in_bytes() const {
  if (has_bytes()) return *this;
  GivenMatrix result{rows, columns, {}, std::vector<int8_t>(numbers.size()), std::vector<float>(rows)};
  for (int row = 0; row < rows; ++row) {
    const size_t first = static_cast<size_t>(row) * columns;
    result.scales[row] = row_in_bytes(numbers.data() + first, columns, result.bytes.data() + first);
  }
  return result;
}

GivenMatrix GivenMatrix::in_floats() const {
  if (!has_bytes()) return *this;
  GivenMatrix result{rows, columns, std::vector<float>(bytes.size()), {}, {}};
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      result.numbers[static_cast<size_t>(row) * columns + column] = at(row, column);
  return result;
}

OutputOrder plain_order(int outputs) {
  OutputOrder order(outputs);
  for (int i = 0; i < outputs; ++i) order[i] = i;
  return order;
}

OutputOrder gate_order(int units, int width) {
  OutputOrder order;
  for (int first = 0; first < units; first += width)
    for (int gate = 0; gate < GATES; ++gate)
      for (int unit = first; unit < first + width; ++unit)
        order.push_back(unit < units ? gate * units + unit : -1);
  return order;
}

void PackedMatrix::set_bias(const float* bias, const OutputOrder& order, size_t padded) {
  bias_.assign(padded, 0);
  for (size_t column = 0; bias && column < order.size(); ++column)
    if (order[column] >= 0) bias_[column] = bias[order[column]];
}

PackedMatrix PackedMatrix::in_floats(const NetworkLoops& loops, const GivenMatrix& matrix, const float* bias,
                                     const OutputOrder& order) {
  PackedMatrix packed;
  packed.inputs_ = matrix.columns;
  packed.columns_ = static_cast<int>(order.size());
  packed.panel_ = GATES * loops.width;
  const size_t panel = packed.panel_, padded = round_up(order.size(), panel);
  packed.set_bias(bias, order, padded);
  packed.weights_.assign(padded * matrix.columns + SLACK / sizeof(float), 0);
  for (size_t column = 0; column < order.size(); ++column) {
    if (order[column] < 0) continue;
    float* to = &packed.weights_[column / panel * panel * matrix.columns + column % panel];
    for (int k = 0; k < matrix.columns; ++k) to[k * panel] = matrix.at(order[column], k);
  }
  return packed;
}

PackedMatrix PackedMatrix::in_bytes(const NetworkLoops& loops, const GivenMatrix& given, const float* bias,
                                    const OutputOrder& order, float unit) {
  const GivenMatrix matrix = given.in_bytes();
  PackedMatrix packed;
  packed.bytes_ = true;
  packed.inputs_ = matrix.columns;
  packed.columns_ = static_cast<int>(order.size());
  packed.panel_ = GATES * loops.width;
  packed.groups_ = (matrix.columns + loops.group - 1) / loops.group;
  const size_t panel = packed.panel_, padded = round_up(order.size(), panel);
  packed.panel_bytes_ = panel * packed.groups_ * loops.group * loops.weight_bytes;
  packed.set_bias(bias, order, padded);
  packed.factor_.assign(padded, 0);
  packed.start_.assign(padded, 0);
  packed.byte_weights_.assign(padded / panel * packed.panel_bytes_ + SLACK, 0);
  for (size_t column = 0; column < order.size(); ++column) {
    if (order[column] < 0) continue;
    const int8_t* row = &matrix.bytes[static_cast<size_t>(order[column]) * matrix.columns];
    packed.factor_[column] = matrix.scales[order[column]] * unit;
    int8_t* to = &packed.byte_weights_[column / panel * packed.panel_bytes_];
    for (int k = 0; k < matrix.columns; ++k) {
      const size_t place = (k / loops.group * panel + column % panel) * loops.group + k % loops.group;
      packed.start_[column] -= loops.offset * row[k];
      const int16_t wide = row[k];
      if (loops.weight_bytes == 1)
        to[place] = row[k];
      else
        std::memcpy(to + place * sizeof wide, &wide, sizeof wide);
    }
  }
  return packed;
}

FloatMatrix PackedMatrix::floats() const {
  const size_t panel = panel_;
  return {weights_.data(), panel, panel * inputs_, inputs_, columns_, bias_.data()};
}

ByteMatrix PackedMatrix::byte_matrix() const {
  return {byte_weights_.data(), panel_bytes_, groups_, columns_, start_.data(), factor_.data(), bias_.data()};
}

}  // namespace arcwise
