#include "web/pipeline.hpp"

#include <utility>

#include "kernels/text/tokenized_text.hpp"
#include "web/document_json.hpp"

namespace arcwise::web {
namespace {

const ModelFile& checked(const ModelFile& file) {
  const Json& header = file.header();
  if (header["kind"].text() != "pipeline") fail("the model is not a pipeline from raw text to trees");
  const std::string& parser = header["parser"]["kind"].text();
  if (parser != "neural") fail("only neural parsers run here, and this one is of the kind " + parser);
  return file;
}

}  // namespace

WebPipeline::WebPipeline(std::string bytes)
    : bytes_(std::move(bytes)),
      file_(bytes_),
      tokenizer_(read_tokenizer(checked(file_))),
      tagger_(read_tagger(file_)),
      parser_(file_) {}

TreebankLayout WebPipeline::tagged(const TreebankLayout& layout, const char* data,
                                   std::vector<float>& upos_probability) const {
  const auto forms = look_alike_forms(tagger_.look_alikes, layout, data);
  const TreebankLayout& read = forms ? with_forms(layout, data, *forms) : layout;
  std::vector<TaggedWord> words(layout.words());
  TaggerWorkspace workspace;
  for (size_t s = 0; s < layout.sentences(); ++s) {
    const size_t first = layout.sentence_words[s], count = layout.sentence_words[s + 1] - first;
    tagger_decode(tagger_.model, read, data, first, count, {}, words.data() + first, workspace);
  }
  std::vector<int32_t> scripts, upos, bundles;
  for (const TaggedWord& word : words) {
    scripts.push_back(word.script);
    upos.push_back(tagger_.model.upos_of_state[word.state]);
    bundles.push_back(word.bundle);
    upos_probability.push_back(word.upos_probability);
  }
  Annotation tags;
  tags.columns.emplace_back(LEMMA, lemma_column(tagger_.scripts, read, data, scripts));
  tags.columns.emplace_back(UPOS, StringColumn{upos, tagger_.upos});
  tags.columns.emplace_back(XPOS, StringColumn{bundles, tagger_.xpos});
  tags.columns.emplace_back(FEATS, StringColumn{bundles, tagger_.feats});
  return treebank_annotated(layout, data, tags);
}

std::string WebPipeline::parse(std::string_view text) const {
  const TokenizedText tokens = tokenized_text(tokenizer_.model, tokenizer_.multiword, text, {});
  const char* data = tokens.conllu.data();
  std::vector<float> upos_probability;
  const TreebankLayout layout = tagged(treebank_layout(tokens.conllu), data, upos_probability);
  WebParses parses = parser_.parse(layout, data);
  if (!parses.upos_probability.empty()) upos_probability = std::move(parses.upos_probability);
  const TreebankLayout written = treebank_annotated(layout, data, parses.tags);
  return document_json({written, data, parses.trees, parser_.labels(), upos_probability});
}

}  // namespace arcwise::web
