// The network of the neural parser, for parsing alone: embeddings of properties of words, bidirectional LSTM layers, biaffine scores of
// arcs and labels (Dozat & Manning 2017), linear layers for tags. Trained elsewhere; made from named arrays.
//
// Arrays, with tables of dimensions d₀, d₁, …, D = Σ d, H units a direction, A and R the sizes of the arc and label spaces, and
// S = labels · clusters states (state s has label s / clusters):
//   table.<i>                              (3 + size of vocabulary i, dᵢ)   rows: unknown, nothing (`_`), root, then values by rank
//   layer.<l>.forward.input, .backward.input    (4H, D), layers after the first (4H, 2H)   gates i, f, g, o, as in torch.nn.LSTM
//   layer.<l>.forward.recurrent, .backward.…    (4H, H)
//   layer.<l>.forward.bias, .backward.bias      (4H)      both biases of torch, summed
//   arc_head.weight, arc_dependent.weight       (A, 2H)   and .bias (A)
//   label_head.weight, label_dependent.weight   (R, 2H)   and .bias (R)                              labels > 0 only
//   arc.product (A, A), arc.head (A)            s(h, m) = a_h · U d_m + u · a_h
//   label.product (S, R, R), label.head (S, R), label.dependent (S, R), label.bias (S)               labels > 0 only
//                                               l(s, h, m) = l_h · V_s r_m + p_s · l_h + q_s · r_m + b_s
//   sibling_head.weight, sibling_inner.weight, sibling_outer.weight  (K, 2H)   and .bias (K)         order 2 only
//   sibling.product (K)                         t(h, s, m) = Σ_k w_k · head_h,k · inner_s,k · outer_m,k   order 2 only
//   tag.<t>.weight (classes, 2H), tag.<t>.bias (classes)
// At order 2 t(h, s, m) scores dependent m of h next to s, or s = h for the first one on its side, and s(h, m) becomes the logarithm of the
// probability of the arc among projective trees, over the temperature of heads.
// The score of an arc in state s is s(h, m) + log softmax_s l(s, h, m): summed over states an arc has the weight exp s(h, m).
//
// Numbers are float32. Matrices (tables, input, recurrent, perceptrons, label.product, tags) may also be int8, with
// <name>.scale, one float32 for each row (of label.product: (S, R)): number = scale · byte.
// With Precision::int8 the same matrices are rounded to 8 bits if they are not so already, and all products with them but those of the
// first layer's input are made in integers: outputs h of LSTMs are round(127 h), those of label_dependent are scaled by their
// own largest number.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/inference/arc_states.hpp"
#include "kernels/neural/input_layer.hpp"
#include "kernels/neural/packed_matrix.hpp"

namespace arcwise {

enum class NetworkPrecision { float32, int8 };

// What a network consists of besides its arrays.
struct NetworkPlan {
  std::vector<std::string> atoms;
  std::vector<Vocabulary> vocabularies;
  int layers = 1, labels = 0, clusters = 1, tags = 0;
  int order = 1;               // 2: siblings are scored as well
  float head_temperature = 1;  // order 2: what the logarithms of probabilities of arcs are divided by
  int root_label =
      -1;  // the label of all arcs from the root and of no others; -1: every arc may have every label
  NetworkPrecision precision = NetworkPrecision::float32;
  Instructions instructions = widest_instructions();
  // Keeps the memory of 8-bit tables, which the network does not copy; without it, they must outlive the network.
  std::shared_ptr<const void> tables_owner;
};

// An array that somebody else owns: one of the two kinds of numbers.
struct GivenArray {
  std::vector<size_t> shape;
  const float* numbers = nullptr;
  const int8_t* bytes = nullptr;
};
using GivenArrays = std::map<std::string, GivenArray>;

// Where the spaces stand in a row of `spaces`, and how long such a row is.
struct SpacePlan {
  int arc_size = 0, label_size = 0, sibling_size = 0;
  size_t arc_head = 0, arc_dependent = 0, label_head = 0, label_dependent = 0;
  size_t sibling_head = 0, sibling_inner = 0, sibling_outer = 0, width = 0;
};

class NeuralNetwork {
 public:
  // Throws std::invalid_argument, with the name of the array that is wrong.
  NeuralNetwork(const NetworkPlan& plan, const GivenArrays& arrays);

  struct Direction {
    PackedMatrix input, recurrent;  // input: of layers after the first
  };
  struct Layer {
    Direction directions[2];
  };

  const NetworkLoops& loops() const { return *loops_; }
  bool in_bytes() const { return precision_ == NetworkPrecision::int8; }
  const InputLayer& input() const { return input_; }
  const std::vector<Layer>& layers() const { return layers_; }
  int units() const { return units_; }
  const SpacePlan& space_plan() const { return space_plan_; }
  const PackedMatrix& spaces() const { return spaces_; }                // perceptrons, side by side
  const PackedMatrix& arc_product() const { return arc_product_; }      // U d + u
  const PackedMatrix& label_product() const { return label_product_; }  // V_s r + p_s, in the order [i][s]
  const PackedMatrix& label_dependent() const { return label_dependent_; }        // q_s · r + b_s
  const std::vector<float>& sibling_product() const { return sibling_product_; }  // empty at order 1
  float head_temperature() const { return head_temperature_; }
  const std::vector<PackedMatrix>& tags() const { return tags_; }
  const ArcStates& states() const { return states_; }
  int root_label() const { return root_label_; }
  int state_count() const { return states_.labels * states_.clusters; }

 private:
  class Reader;
  void read_input(Reader& reader, const NetworkPlan& plan);
  void read_layers(Reader& reader, int layers);
  void read_spaces(Reader& reader, int order);
  void read_scores(Reader& reader);
  PackedMatrix packed(const GivenMatrix& matrix, const std::vector<float>& bias,
                      const OutputOrder& order) const;

  const NetworkLoops* loops_;
  NetworkPrecision precision_;
  std::shared_ptr<const void> tables_owner_;
  InputLayer input_;
  std::vector<Layer> layers_;
  int units_ = 0;
  SpacePlan space_plan_;
  PackedMatrix spaces_, arc_product_, label_product_, label_dependent_;
  std::vector<float> sibling_product_;
  float head_temperature_ = 1;
  std::vector<PackedMatrix> tags_;
  ArcStates states_;
  int root_label_ = -1;
};

}  // namespace arcwise
