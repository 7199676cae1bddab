// The neural parser of a pipeline, read from its model file as by NeuralModel.unpack of arcwise.neural.
#pragma once
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "kernels/neural/neural_parse.hpp"
#include "web/text_models.hpp"

namespace arcwise::web {

// Trees and the tags that the network writes, of a tagged treebank.
struct WebParses {
  ParseResult trees;
  std::vector<float> upos_probability;  // empty where the network writes no UPOS
  Annotation tags;
};

class WebNeuralParser {
 public:
  explicit WebNeuralParser(const ModelFile& file);

  const std::vector<std::string>& labels() const { return labels_; }
  WebParses parse(const TreebankLayout& layout, const char* data) const;

 private:
  // A predicted tag: its column, the attribute of FEATS, and its values.
  struct Tag {
    int column;
    std::string attribute;
    std::vector<std::string> values;
  };

  void read_tags(const Json& header);
  void read_network(const ModelFile& file, const Json& header);
  StringColumn feats_column(const std::vector<TagResult>& results, size_t words) const;

  std::vector<std::string> labels_;
  std::vector<Tag> tags_;
  std::vector<bool> writes_ = std::vector<bool>(COLUMNS);  // by column
  std::vector<LemmaScript> scripts_;
  LookAlikes look_alikes_;
  DecodeSettings settings_;
  std::deque<std::vector<float>> numbers_;  // what the network's tables refer to
  std::unique_ptr<NeuralNetwork> network_;
};

}  // namespace arcwise::web
