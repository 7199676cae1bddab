// The inner loops of the network against plain loops, for every instruction set of this machine, under the sanitizers.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/base/random.hpp"
#include "kernels/neural/packed_matrix.hpp"

using namespace arcwise;

namespace {

void check(bool good, const char* what, int a = 0, int b = 0) {
  if (good) return;
  std::fprintf(stderr, "failed: %s (%d, %d)\n", what, a, b);
  std::exit(1);
}

float number(Random& random) { return static_cast<float>(random.below(2001)) / 1000.0f - 1.0f; }

Aligned<float> numbers(Random& random, size_t count) {
  Aligned<float> out(count + SLACK);
  for (size_t i = 0; i < count; ++i) out[i] = number(random);
  return out;
}

GivenMatrix matrix(Random& random, int rows, int columns) {
  GivenMatrix out{rows, columns, {}, {}, {}};
  for (int i = 0; i < rows * columns; ++i) out.numbers.push_back(number(random));
  return out;
}

void test_functions(const NetworkLoops& loops) {
  Aligned<float> x(4001 + SLACK), out(4001);
  for (int i = 0; i <= 4000; ++i) x[i] = static_cast<float>(i - 2000) * 0.02f;
  loops.sigmoid(x.data(), 4001, out.data());
  for (int i = 0; i <= 4000; ++i)
    check(std::fabs(out[i] - 1 / (1 + std::exp(-double{x[i]}))) <= 1e-6, "sigmoid", i);
  loops.tanh(x.data(), 4001, out.data());
  for (int i = 0; i <= 4000; ++i) check(std::fabs(out[i] - std::tanh(double{x[i]})) <= 1e-6, "tanh", i);
}

void test_sums(const NetworkLoops& loops, Random& random) {
  for (int count = 1; count < 70; ++count) {
    Aligned<float> x = numbers(random, count);
    for (int i = 0; i < count; ++i) x[i] *= 30;
    for (size_t i = count; i < x.size(); ++i) x[i] = 1e30f;  // what stands after them does not count
    for (float T : {1.0f, 0.5f, 3.0f}) {
      double top = x[0], total = 0, powers = 0;
      for (int i = 0; i < count; ++i) top = std::fmax(top, x[i]);
      for (int i = 0; i < count; ++i) total += std::exp(x[i] - top);
      for (int i = 0; i < count; ++i) powers += std::exp((x[i] - top) / T);
      check(std::fabs(loops.log_sum(x.data(), count, 1 / T) - (top / T + std::log(powers))) < 1e-5, "log sum",
            count);
      check(std::fabs(loops.power_sum(x.data(), count, T) - (T * std::log(powers) - std::log(total))) < 1e-5,
            "power sum", count);
    }
    const Aligned<float> before = x;
    const float total = loops.log_sum(x.data(), count, 1);
    loops.log_softmax(x.data(), count, 2.0f);
    for (int i = 0; i < count; ++i)
      check(std::fabs(x[i] - (before[i] - total + 2.0f)) < 1e-5, "log softmax", count, i);
  }
}

// Floats: near a sum in doubles. Of any rows the same to the bit.
void test_products(const NetworkLoops& loops, Random& random) {
  for (int columns : {1, 15, 16, 17, 64, 65, 200})
    for (int inputs : {1, 7, 64}) {
      const GivenMatrix weights = matrix(random, columns, inputs);
      const Aligned<float> bias = numbers(random, columns), x = numbers(random, 20 * inputs);
      const PackedMatrix packed = PackedMatrix::in_floats(loops, weights, bias.data(), plain_order(columns));
      const size_t stride = round_up(columns, 16);
      Aligned<float> all(20 * stride), some(20 * stride);
      packed.multiply(loops, {x.data(), static_cast<size_t>(inputs), nullptr, 20}, 0.1f, all.data(), stride);
      for (int r = 0; r < 20; ++r)
        for (int c = 0; c < columns; ++c) {
          double y = bias[c];
          for (int k = 0; k < inputs; ++k) y += double{x[r * inputs + k]} * weights.at(c, k);
          check(std::fabs(all[r * stride + c] - (y > 0 ? y : 0.1 * y)) < 1e-5, "product", columns, inputs);
        }
      const int32_t rows[] = {19, 3, 3, 7};
      packed.multiply(loops, {x.data(), static_cast<size_t>(inputs), rows, 4}, 0.1f, some.data(), stride);
      for (int r = 0; r < 4; ++r)
        for (int c = 0; c < columns; ++c)
          check(some[r * stride + c] == all[rows[r] * stride + c], "rows by number", columns, inputs);
    }
}

// 8 bits: sums of integers are exact, the largest ones too.
void test_byte_products(const NetworkLoops& loops, Random& random) {
  for (int columns : {1, 17, 64, 130})
    for (int inputs : {1, 3, 4, 63, 512}) {
      GivenMatrix weights = matrix(random, columns, inputs);
      for (int k = 0; k < inputs; ++k) weights.numbers[k] = 1;  // a row of 127s
      const GivenMatrix bytes = weights.in_bytes();
      const PackedMatrix packed = PackedMatrix::in_bytes(loops, weights, nullptr, plain_order(columns), 1.0f);
      const size_t stride = round_up(columns, 16), x_stride = round_up(inputs, 64);
      Aligned<float> x = numbers(random, 9 * inputs), out(9 * stride), scales(9);
      for (int k = 0; k < inputs; ++k) x[k] = k % 2 ? -1.0f : 1.0f;  // the ends of the range
      for (int k = 0; k < inputs; ++k) x[inputs + k] = 1.0f;
      Aligned<uint8_t> inputs8(9 * x_stride * loops.activation_bytes + SLACK);
      for (int r = 0; r < 9; ++r)
        loops.to_bytes(&x[r * inputs], inputs, &inputs8[r * x_stride * loops.activation_bytes], &scales[r]);
      packed.multiply(loops, {inputs8.data(), x_stride, nullptr, 9}, 1.0f, out.data(), stride);
      for (int r = 0; r < 9; ++r)
        for (int c = 0; c < columns; ++c) {
          int64_t sum = 0;
          for (int k = 0; k < inputs; ++k) {
            const float most = scales[r] * 127.0f, q = std::nearbyintf(x[r * inputs + k] * (127.0f / most));
            sum += int64_t{bytes.bytes[c * inputs + k]} * static_cast<int64_t>(most > 0 ? q : 0);
          }
          const float expected = static_cast<float>(sum) * bytes.scales[c];
          check(std::fabs(out[r * stride + c] - expected) <= 1e-5f * std::fabs(expected) + 1e-6f,
                "8-bit product", columns, inputs);
        }
    }
}

}  // namespace

int main() {
  for (Instructions instructions : {Instructions::baseline, Instructions::avx2, Instructions::avx512}) {
    if (!has_instructions(instructions)) continue;
    Random random(1);
    const NetworkLoops& loops = network_loops(instructions);
    check(loops.instructions == instructions, "the loops asked for");
    test_functions(loops);
    test_sums(loops, random);
    test_products(loops, random);
    test_byte_products(loops, random);
  }
}
