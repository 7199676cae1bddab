// Tokenizer and tagger of a pipeline, read from its model file as by Tokenizer.unpack and Tagger.unpack of
// arcwise.text.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kernels/features/look_alikes.hpp"
#include "kernels/text/multiword.hpp"
#include "kernels/text/tagger.hpp"
#include "kernels/text/tokenizer.hpp"
#include "kernels/treebanks/lemma_scripts.hpp"
#include "web/model_file.hpp"

namespace arcwise::web {

struct WebTokenizer {
  TokenizerModel model;
  MultiwordModel multiword;
};

struct WebTagger {
  TaggerModel model;
  LookAlikes look_alikes;
  std::vector<LemmaScript> scripts;
  // The strings of UPOS, and XPOS and FEATS of every bundle.
  std::shared_ptr<const StringTable> upos, xpos, feats;
};

WebTokenizer read_tokenizer(const ModelFile& file);
WebTagger read_tagger(const ModelFile& file);

LookAlikes read_look_alikes(const Json& header);
LemmaScript read_lemma_script(const Json& script);
std::shared_ptr<const StringTable> string_table(const std::vector<std::string>& strings);
// The treebank with other FORMs.
TreebankLayout with_forms(const TreebankLayout& layout, const char* data, const StringColumn& forms);
// The lemma of every word, from its FORM in `layout` and the number of its script.
StringColumn lemma_column(const std::vector<LemmaScript>& scripts, const TreebankLayout& layout,
                          const char* data, const std::vector<int32_t>& script_of_word);

}  // namespace arcwise::web
