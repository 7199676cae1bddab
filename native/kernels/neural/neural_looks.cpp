#include <algorithm>

#include "kernels/neural/network_batch.hpp"
#include "kernels/neural/neural_parse.hpp"

namespace arcwise {
namespace {

// work(batch, n) for every sentence, in a batch of its own.
template <typename Work>
void for_each_alone(const NeuralNetwork& network, const NeuralText& text, Work work) {
  NetworkBatch batch(network);
  InputProducts products;
  for (size_t s = 0; s < text.layout.sentences(); ++s) {
    const size_t first = text.layout.sentence_words[s], last = text.layout.sentence_words[s + 1];
    network.input().look_up(text.layout, text.data, first, last, 1, products);
    batch.encode({{s, static_cast<int>(last - first), 0}}, products);
    work(batch, static_cast<int>(last - first));
  }
}

}  // namespace

std::vector<float> neural_states(const NeuralNetwork& network, const NeuralText& text) {
  std::vector<float> result, own;
  for_each_alone(network, text, [&](NetworkBatch& batch, int) {
    batch.states(own);
    result.insert(result.end(), own.begin(), own.end());
  });
  return result;
}

std::vector<float> neural_arcs(const NeuralNetwork& network, const NeuralText& text) {
  std::vector<float> result;
  for_each_alone(network, text, [&](NetworkBatch& batch, int n) {
    batch.project();
    const float* arcs = batch.arcs(0, n);
    for (int h = 0; h <= n; ++h)
      result.insert(result.end(), arcs + h * batch.arc_stride(), arcs + h * batch.arc_stride() + n + 1);
  });
  return result;
}

std::vector<float> neural_labels(const NeuralNetwork& network, const NeuralText& text) {
  std::vector<float> result;
  const size_t states = network.state_count();
  if (states == 0) return result;
  for_each_alone(network, text, [&](NetworkBatch& batch, int n) {
    batch.project();
    const size_t side = static_cast<size_t>(n) + 1, start = result.size();
    result.resize(start + side * side * states, 0);
    for (int m = 1; m <= n; ++m) {
      const float* labels = batch.labels(0, m, 0, n + 1);
      for (size_t h = 0; h < side; ++h)
        for (size_t s = 0; s < states; ++s)
          result[start + (h * side + m) * states + s] = labels[h * batch.label_stride() + s];
    }
  });
  return result;
}

std::vector<float> neural_siblings(const NeuralNetwork& network, const NeuralText& text) {
  std::vector<float> result;
  if (network.sibling_product().empty()) return result;
  SiblingRows rows;
  for_each_alone(network, text, [&](NetworkBatch& batch, int n) {
    batch.project();
    rows.start(n);
    batch.siblings(0, rows);
    const size_t side = static_cast<size_t>(n) + 1, start = result.size();
    result.resize(start + side * side * side, 0);
    for (int h = 0; h <= n; ++h)
      for (int m = 1; m <= n; ++m) {
        if (m == h) continue;
        float* to = &result[start + h * side * side + m];
        to[h * side] = static_cast<float>(rows.first[rows.cell(h, m)]);
        for (int s = std::min(h, m) + 1; s < std::max(h, m); ++s)
          to[s * side] = static_cast<float>(rows.inner(h, m)[s]);
      }
  });
  return result;
}

}  // namespace arcwise
