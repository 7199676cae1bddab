// Raw text written as CoNLL-U: words and multiword tokens with blank columns, and in MISC everything that is
// needed to get the text back: SpaceAfter=No, SpacesAfter and SpacesBefore (as UDPipe writes them), and
// TokenRange=first:last, the place of the token in the text in code points.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/text/multiword.hpp"
#include "kernels/text/tokenizer.hpp"

namespace arcwise {

struct TokenizedText {
  std::string conllu;
  size_t bytes = 0;   // how much of the text the sentences written take up
  size_t places = 0;  // the same in code points
  size_t sentences = 0;
  size_t words = 0;
};

struct WritingOptions {
  uint64_t first_place = 0;     // place of the text in a longer one, in code points
  uint64_t first_sentence = 1;  // number of its first sentence (sent_id)
  bool complete = true;         // false: more text follows, so sentences that it may change are not written
  bool ranges = true;           // write TokenRange
  // So much of the text stands before what is to be cut, at the start of a sentence: it is looked at, and not written.
  size_t bytes_before = 0, places_before = 0;
};

TokenizedText tokenized_text(const TokenizerModel& tokenizer, const MultiwordModel& multiword,
                             std::string_view text, const WritingOptions& options);

}  // namespace arcwise
