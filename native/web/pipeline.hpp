// From raw text to trees with confidences: tokenizer, tagger and parser of one model file, as in
// arcwise.pipeline.
#pragma once
#include <string>
#include <string_view>

#include "web/model_file.hpp"
#include "web/neural_parser.hpp"
#include "web/text_models.hpp"

namespace arcwise::web {

class WebPipeline {
 public:
  // The bytes of a model file, which the pipeline keeps.
  explicit WebPipeline(std::string bytes);
  WebPipeline(const WebPipeline&) = delete;  // the network refers to the bytes

  // The sentences of a text in UTF-8 as JSON, with the field names of Document.to_json: see arcwise.js.
  std::string parse(std::string_view text) const;

 private:
  // The treebank with the tagger's columns; upos_probability: of every word.
  TreebankLayout tagged(const TreebankLayout& layout, const char* data,
                        std::vector<float>& upos_probability) const;

  std::string bytes_;
  ModelFile file_;
  WebTokenizer tokenizer_;
  WebTagger tagger_;
  WebNeuralParser parser_;
};

}  // namespace arcwise::web
