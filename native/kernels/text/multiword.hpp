// Multiword tokens: one token of the text that stands for several words ("don't" = "do" + "n't", Portuguese
// "da" = "de" + "a"). How a token is split is a script, learned from the treebank; which script a token takes
// is known for tokens that training saw always split in one way, and chosen by a log-linear model otherwise.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/key_table.hpp"
#include "kernels/learning/softmax.hpp"
#include "kernels/learning/sparse_linear.hpp"
#include "kernels/text/tokenizer.hpp"

namespace arcwise {

// One word of a script: the characters first .. last-1 of the token (counted from the end if negative, and
// last = 0 with `to_end` means up to its end), then `text`.
struct WordRecipe {
  int first, last;
  bool to_end;
  std::string text;
};
using SplitScript = std::vector<WordRecipe>;  // empty: the token is one word

// The words of a token; empty if the script does not fit it (too short). A text of the script is written in
// capitals where the token is.
std::vector<std::string> split_apply(const SplitScript& script, std::string_view token);

struct MultiwordModel {
  std::vector<SplitScript> scripts;  // script 0 leaves the token whole
  SoftmaxTask task;                  // candidate = script; set 0 = those open to tokens never seen
  KeyTable set_of_token;             // tokens that training saw split: their set
  SparseLinear weights;

  bool empty() const { return scripts.size() < 2; }
};

// The neighbourhood of a token that features are made of, each in lower case. Bit k of `known_stems` says
// that the token without its last k characters is a word that training saw: "elbiseli" may be "elbise" +
// "li".
struct TokenContext {
  std::string_view token, before, after;
  uint32_t known_stems = 0;
};
constexpr size_t LONGEST_ENDING = 6;
uint32_t known_stems(const TokenizerModel& tokenizer, std::string_view token_in_lower_case);
void multiword_features(const TokenContext& context, std::vector<uint32_t>& keys);
uint32_t token_key(std::string_view token_in_lower_case);

// The script of a token, or 0. `seen_whole`: training saw the token, and always whole.
size_t multiword_decode(const MultiwordModel& model, const TokenContext& context, bool seen_whole,
                        SoftmaxWorkspace& workspace);

}  // namespace arcwise
