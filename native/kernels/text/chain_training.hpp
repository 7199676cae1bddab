// Learning a linear chain (chain.hpp) from sentences whose states are known: by AdaGrad on the conditional
// log-likelihood (Lafferty, McCallum & Pereira 2001), or as an averaged structured perceptron (Collins 2002).
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/learning/sparse_linear.hpp"
#include "kernels/text/chain.hpp"

namespace arcwise {

struct ChainItems {
  Lists features;  // keys of each word; see SparseLinear::supported
  std::vector<uint32_t>
      sentence_words;          // sentence s has the words sentence_words[s] .. sentence_words[s+1]-1
  Lists sets;                  // candidate states; a word names a list
  std::vector<uint32_t> set;   // of each word
  std::vector<uint32_t> gold;  // state of each word; a candidate too where its set lacks it
};

struct ChainModel {
  SparseLinear emissions;
  Transitions transitions;
};

// Feature keys in `items` are replaced by row numbers.
ChainModel chain_train(ChainItems& items, int states, const TrainingOptions& options, bool perceptron);

}  // namespace arcwise
