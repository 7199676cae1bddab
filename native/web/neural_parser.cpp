#include "web/neural_parser.hpp"

#include <algorithm>

namespace arcwise::web {
namespace {

constexpr std::string_view MEMBER = "parser.member.0.";

Decoder decoder_of(const std::string& name) {
  if (name == "map") return Decoder::map;
  if (name == "mbr") return Decoder::minimum_risk;
  if (name == "mbr-labelled") return Decoder::minimum_labelled_risk;
  if (name == "max-z") return Decoder::max_z;
  if (name == "greedy") return Decoder::greedy;
  fail("the model asks for the unknown decoder " + name);
}

int column_of(const std::string& name) {
  if (name == "upos") return UPOS;
  if (name == "xpos") return XPOS;
  if (name == "lemma") return LEMMA;
  return name.starts_with("feats") ? FEATS : COLUMNS;
}

}  // namespace

WebNeuralParser::WebNeuralParser(const ModelFile& file) {
  const Json& header = file.header()["parser"]["header"];
  if (header.find("transformer")) fail("a network over a transformer does not run here");
  if (header["members"].integer() != 1) fail("the parser has several networks; only one runs here");
  const Json* order = header["config"].find("order");
  if (order && order->integer() != 1) fail("the parser is of second order; only first order runs here");
  labels_ = header["labels"].texts();
  look_alikes_ = read_look_alikes(header);
  const Json& decoding = header["decoding"];
  settings_.decoder = decoder_of(decoding["decode"].text());
  settings_.trees = {decoding["projective"].boolean(), decoding["single_root"].boolean()};
  settings_.temperatures.smoothing = header["temperatures"]["smoothing"].number();
  settings_.probabilities = true;
  read_tags(header);
  read_network(file, header);
}

void WebNeuralParser::read_tags(const Json& header) {
  const Json& alphabets = header["tags"];
  const std::vector<std::string> names = alphabets["names"].texts();
  for (size_t t = 0; t < names.size(); ++t) {
    const std::string attribute = names[t].starts_with("feats.") ? names[t].substr(6) : "";
    tags_.push_back({column_of(names[t]), attribute, alphabets["values"][t].texts()});
    if (names[t] == "lemma")
      for (const std::string& script : tags_.back().values)
        scripts_.push_back(read_lemma_script(Json::read(script)));
  }
  for (const std::string& column : header["writes"].texts()) writes_[column_of(column)] = true;
}

void WebNeuralParser::read_network(const ModelFile& file, const Json& header) {
  NetworkPlan plan;
  plan.atoms = header["atoms"].texts();
  for (size_t atom = 0; atom < plan.atoms.size(); ++atom) {
    std::vector<uint64_t> hashes = file.numbers<uint64_t>("parser.values." + std::to_string(atom));
    std::vector<uint32_t> counts(hashes.size(), 1);  // only their order matters
    plan.vocabularies.emplace_back(std::move(hashes), std::move(counts));
  }
  plan.layers = header["config"]["layers"].integer();
  plan.labels = static_cast<int>(labels_.size());
  plan.clusters = header["config"]["clusters"].integer();
  plan.tags = static_cast<int>(tags_.size());
  if (const Json* root_label = header.find("root_label")) plan.root_label = root_label->integer();
  const auto heads = static_cast<float>(header["temperatures"]["heads"].number()),
             labels = static_cast<float>(header["temperatures"]["labels"].number());
  GivenArrays arrays;
  for (const auto& [full_name, stored] : file.arrays()) {
    if (!full_name.starts_with(MEMBER)) continue;
    const std::string name = full_name.substr(MEMBER.size());
    GivenArray& array = arrays[name];
    array.shape = stored.shape;
    if (stored.type == "I8") {
      array.bytes = reinterpret_cast<const int8_t*>(stored.data);
      plan.precision = NetworkPrecision::int8;
      continue;
    }
    std::vector<float>& numbers = numbers_.emplace_back(ModelFile::numbers<float>(stored));
    const float temperature = name.starts_with("arc.") ? heads : name.starts_with("label.") ? labels : 1.0f;
    if (temperature != 1)
      for (float& number : numbers) number /= temperature;
    array.numbers = numbers.data();
  }
  network_ = std::make_unique<NeuralNetwork>(plan, arrays);
}

// The Key=Value pairs of the attributes' tags, in their order.
StringColumn WebNeuralParser::feats_column(const std::vector<TagResult>& results, size_t words) const {
  StringColumn column;
  auto table = std::make_shared<StringTable>();
  for (size_t word = 0; word < words; ++word) {
    bool any = false;
    for (size_t t = 0; t < tags_.size(); ++t) {
      if (tags_[t].column != FEATS) continue;
      const std::string& value = tags_[t].values[results[t].codes[word]];
      if (value.empty()) continue;
      if (any) table->text() += '|';
      ((table->text() += tags_[t].attribute) += '=') += value;
      any = true;
    }
    const int32_t code = table->close();
    column.codes.push_back(any ? code : -1);
  }
  column.table = std::move(table);
  return column;
}

WebParses WebNeuralParser::parse(const TreebankLayout& layout, const char* data) const {
  const auto forms = look_alike_forms(look_alikes_, layout, data);
  const TreebankLayout& read = forms ? with_forms(layout, data, *forms) : layout;
  WebParses out;
  std::vector<TagResult> results;
  out.trees = neural_parse(*network_, {read, data}, nullptr, settings_, {}, 1, &results);
  const auto write = [&](int column, StringColumn values) {
    if (writes_[column]) out.tags.columns.emplace_back(column, std::move(values));
  };
  for (size_t t = 0; t < tags_.size(); ++t) {
    const int column = tags_[t].column;
    if (column == LEMMA)
      write(LEMMA, lemma_column(scripts_, read, data, results[t].codes));
    else if (column != FEATS)
      write(column, {results[t].codes, string_table(tags_[t].values)});
    if (column == UPOS && writes_[UPOS]) out.upos_probability = results[t].probabilities;
  }
  if (writes_[FEATS]) write(FEATS, feats_column(results, layout.words()));
  return out;
}

}  // namespace arcwise::web
