// Sentences of like length going through the network together; one object per thread, with memory that is used again.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/factors/eisner_siblings.hpp"
#include "kernels/neural/neural_network.hpp"

namespace arcwise {

// A sentence of a batch: its number, its length and where its words begin among those that were looked up.
struct BatchSentence {
  size_t sentence;
  int n;
  size_t first;
};

class NetworkBatch {
 public:
  explicit NetworkBatch(const NeuralNetwork& network) : network_(&network) {}

  // Runs the encoder; sentences are ordered by falling length.
  void encode(const std::vector<BatchSentence>& sentences, const InputProducts& products);
  int size() const { return static_cast<int>(lengths_.size()); }
  int rows() const { return rows_; }
  // The row of a sentence's root; its words follow.
  int first_row(int s) const { return firsts_[s]; }

  // Outputs of the last layer, 2H numbers for each row.
  void states(std::vector<float>& out) const;
  // Of tag output t: classify(t, first, count) makes the numbers of the classes of some rows, and classes(row)
  // is where those of one of them begin. Few rows at a time: outputs with many classes would take megabytes.
  void classify(int t, int first, int count);
  const float* classes(int row) const { return &classes_[(row - classified_) * class_width_]; }

  // Perceptrons of all rows, and U d + u.
  void project();
  // s(h, m) of a sentence at arcs[h * stride + m]; after project().
  const float* arcs(int s, int n);
  size_t arc_stride() const { return arc_stride_; }

  // t(h, s, m) of a sentence of a network of order 2, into rows that were started; after project().
  void siblings(int s, SiblingRows& rows);

  // l(state, h, m) of arcs into a word from heads first_head, first_head + 1, …, one row of label_stride() each; after project(). Words
  // are best asked about in their order.
  float* labels(int s, int m, int first_head, int count);
  size_t label_stride() const { return label_stride_; }

 private:
  struct Outputs {  // of a layer: floats, or what 8-bit inputs are
    Aligned<float> floats;
    Aligned<uint8_t> bytes;
  };
  void run_direction(size_t layer, int direction, const Outputs& below, Outputs& out);
  template <typename Matrix>
  void run_steps(size_t layer, int direction, const Outputs& below, Outputs& out);
  void multiply_ahead(const PackedMatrix& input, const Outputs& below);
  InputRows inputs_of(const Outputs& outputs, size_t offset, const int32_t* at, int count) const;
  void siblings_of(int s, int h, int first, int last, SiblingRows& rows);
  void choose_label_words(int s, int m);
  void prepare_labels(int s, int m);
  void* place_of(Outputs& outputs, size_t offset) const;

  const NeuralNetwork* network_;
  int rows_ = 0;
  std::vector<int> lengths_, firsts_;  // positions of each sentence, root included
  size_t state_stride_ = 0;
  std::vector<const float*> starts_, step_starts_;
  std::vector<int32_t> now_, before_;
  Outputs outputs_[2];
  Outputs* last_ = nullptr;
  Aligned<float> cells_, gates_;

  int classified_ = 0;  // the first row that classes_ has
  size_t class_width_ = 0, arc_width_ = 0, arc_stride_ = 0, label_stride_ = 0, product_stride_ = 0;
  Aligned<float> classes_, spaces_, arc_dependents_, turned_, arcs_;
  size_t sibling_stride_ = 0;
  Aligned<float> inner_, pairs_,
      triples_;  // of siblings: by number and word; by modifier and number; by modifier and sibling
  static constexpr int LABEL_WORDS = 48;            // as many are made ready together
  std::vector<int32_t> label_rows_, label_places_;  // their rows; of each row its place among them, or -1
  Aligned<float> label_products_, label_starts_, label_scores_, label_scales_;
  Aligned<uint8_t> label_bytes_;
};

}  // namespace arcwise
