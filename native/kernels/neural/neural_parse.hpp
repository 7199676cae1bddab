// Parsing a treebank with a network: encoder, scores and decoder in one go, sentences of like length together. The same trees as those of
// the scores of neural_scores and then ScoreBatch::decode; where no probabilities are wanted labels are scored on the arcs of the
// tree alone, if the decoder does not ask for others.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/factors/legal_search.hpp"
#include "kernels/inference/score_batch.hpp"
#include "kernels/inference/tree_decoder.hpp"
#include "kernels/neural/neural_network.hpp"

namespace arcwise {

struct NeuralText {
  const TreebankLayout& layout;
  const char* data;
};

// The best class of each word, and its probability.
struct TagResult {
  std::vector<int32_t> codes;
  std::vector<float> probabilities;
};

// required: a head per word that must be kept, -1 for free ones; or null. single_root: of the trees that siblings are summed over.
ScoreBatch neural_scores(const NeuralNetwork& network, const NeuralText& text, const int32_t* required,
                         bool single_root, int threads);
// tags: null, or where the tags go, from the same pass. legal: rules for the trees, or null.
ParseResult neural_parse(const NeuralNetwork& network, const NeuralText& text, const int32_t* required,
                         const DecodeSettings& settings, const AskedTrees& asked, int threads,
                         std::vector<TagResult>* tags = nullptr, const LegalSettings* legal = nullptr);
KBestResult neural_k_best(const NeuralNetwork& network, const NeuralText& text, const int32_t* required,
                          const DecodeSettings& settings, int k, int threads);
std::vector<TagResult> neural_tags(const NeuralNetwork& network, const NeuralText& text, int threads);

// For tests and for looking inside: outputs of the last layer, 2H for each position (root first), and the scores s(h, m), (n+1)²,
// l(s, h, m), (n+1)² · S, and t(h, s, m), (n+1)³, sentence after sentence.
std::vector<float> neural_states(const NeuralNetwork& network, const NeuralText& text);
std::vector<float> neural_arcs(const NeuralNetwork& network, const NeuralText& text);
std::vector<float> neural_labels(const NeuralNetwork& network, const NeuralText& text);
std::vector<float> neural_siblings(const NeuralNetwork& network, const NeuralText& text);

}  // namespace arcwise
