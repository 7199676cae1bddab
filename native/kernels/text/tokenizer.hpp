// Cutting raw text into words and sentences. From left to right, a decision is made at every character that
// may be the last of a word:
//
//   inside    the word goes on
//   word      the word ends here
//   sentence  the word and the sentence end here
//
// by a log-linear model (softmax.hpp) over hashed features of the characters around, of the word so far, of
// the words before and after, and of the sentence so far. White space ends a word (but for a single space
// where training saw words go on, as in Vietnamese, or "1 000"), a blank line or the end of the text ends a
// sentence. Between two characters whose classes training never (or next to never) saw cut, no decision is
// made, and none inside a written character (squeezed_text.hpp) or, unless training saw them cut, inside an
// address of the Web or of e-mail (addresses.hpp); unless training saw otherwise, emoji and long dashes are words. A line that is no part of running text (line_ends.hpp) is
// a sentence or more. Of two ends, the sentence's has `sentence_bias` added to its score: F1 of sentences counts a sentence
// as found only if both of its ends are, so that the likelier choice at each place is not always the best.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/features/look_alikes.hpp"
#include "kernels/learning/softmax.hpp"
#include "kernels/learning/sparse_linear.hpp"
#include "kernels/text/character_classes.hpp"
#include "kernels/text/squeezed_text.hpp"

namespace arcwise {

constexpr size_t LONGEST_WORD = 32;  // characters of a neighbouring word that are looked at
constexpr size_t WIDE_WORDS = 4;     // words behind a cut that a model with wide context looks at

enum class Cut : uint8_t { inside, word, sentence };

struct TextToken {
  uint32_t first, last;  // in the squeezed text: the characters first .. last-1
  bool ends_sentence;
};

struct TokenizerModel {
  SparseLinear cuts;
  std::vector<uint32_t> vocabulary;  // hashes of words seen more than once in training, sorted
  // Whether a word may end between two classes without space; whether it may go on over the space between them.
  std::array<uint8_t, CHARACTER_CLASSES * CHARACTER_CLASSES> may_cut{}, may_span{};
  // Whether a sentence may not end at a single space between two classes: nothing is scored there.
  std::array<uint8_t, CHARACTER_CLASSES * CHARACTER_CLASSES> never_ends{};
  uint32_t longest_sentence = 300;  // in words; then it is cut
  float sentence_bias = 0.0f;       // for sentence, against word
  LookAlikes look_alikes;           // texts must have been squeezed by these
  bool whole_addresses = false;     // an address is never cut
  bool cut_addresses_out = false;   // punctuation beside an address is cut off
  bool cut_names_out = false;       // punctuation beside a name as programs have them is
  bool single_signs = false;        // every emoji and every long dash is a word
  bool wide_context = false;        // sentence ends depend on more words around (cut_features.hpp)
  bool paragraphs = false;          // sentence ends depend on where in a paragraph they are

  // How far behind a cut the model looks, in characters: at the next words and the spaces around them.
  size_t look_ahead() const { return (wide_context ? WIDE_WORDS : 2) * (LONGEST_WORD + 1) + 1; }
  bool knows(uint64_t word_hash) const;
};

// The candidate sets of the decision: {word, sentence} before white space that ends a word, all three
// elsewhere.
SoftmaxTask tokenizer_task();

// From `start` on, where a sentence starts; what stands before it is looked at.
std::vector<TextToken> tokenizer_decode(const TokenizerModel& model, const SqueezedText& text,
                                        size_t start = 0);

// Learning from a text whose tokens are known, in order: all of a model but its weights; the decisions that
// the weights are learned from, in the order of the text; and both with the weights.
TokenizerModel tokenizer_tables(const SqueezedText& text, const std::vector<TextToken>& tokens);
SoftmaxItems tokenizer_items(TokenizerModel model, const SqueezedText& text,
                             const std::vector<TextToken>& tokens);
TokenizerModel tokenizer_train(const SqueezedText& text, const std::vector<TextToken>& tokens,
                               const TrainingOptions& options, bool wide_context = false);
// Fills `never_ends`: the classes around a single space at which less than this share of sentences end.
void tokenizer_learn_ends(TokenizerModel& model, const SqueezedText& text,
                          const std::vector<TextToken>& tokens, double rare_end);

}  // namespace arcwise
