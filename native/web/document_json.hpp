// A parsed text as JSON.
#pragma once
#include <string>
#include <vector>

#include "kernels/inference/tree_decoder.hpp"
#include "kernels/treebanks/treebank_layout.hpp"

namespace arcwise::web {

// The contents of a document: a treebank with all columns except HEAD and DEPREL, and its trees.
struct WebDocument {
  const TreebankLayout& layout;
  const char* data;
  const ParseResult& trees;
  const std::vector<std::string>& labels;
  const std::vector<float>& upos_probability;
};

std::string document_json(const WebDocument& document);

}  // namespace arcwise::web
