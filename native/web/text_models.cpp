#include "web/text_models.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/base/unicode.hpp"

namespace arcwise::web {
namespace {

std::vector<uint32_t> read_keys(const ModelFile& file, const std::string& name) {
  if (!file.has(name + ".gaps")) return file.numbers<uint32_t>(name);
  const std::vector<uint16_t> gaps = file.numbers<uint16_t>(name + ".gaps");
  return keys_of_gaps(gaps.data(), gaps.size());
}

// unpack_linear of arcwise.text.linear: 8-bit weights are ± largest · (code / 127)².
SparseLinear read_linear(const ModelFile& file, const std::string& name) {
  const std::vector<uint32_t> lengths = file.numbers<uint32_t>(name + ".lengths");
  std::vector<uint32_t> starts{0};
  for (uint32_t length : lengths) starts.push_back(starts.back() + length);
  std::vector<float> weights;
  if (file.has(name + ".weights")) {
    weights = file.numbers<float>(name + ".weights");
  } else {
    const float largest = file.numbers<float>(name + ".largest").at(0);
    for (int8_t code : file.numbers<int8_t>(name + ".codes")) {
      const float level = static_cast<float>(code) / 127.0f, square = level * level;
      weights.push_back((code < 0 ? -square : square) * largest);
    }
  }
  return {read_keys(file, name + ".keys"), std::move(starts), file.numbers<uint16_t>(name + ".outputs"),
          std::move(weights)};
}

KeyTable read_table(const ModelFile& file, const std::string& keys, const std::string& values) {
  const std::vector<uint32_t> by = read_keys(file, keys), numbers = file.numbers<uint32_t>(values);
  if (by.size() != numbers.size()) fail("the model has not as many " + values + " as keys");
  return {by.data(), numbers.data(), by.size()};
}

Lists read_lists(const Json& lists) {
  Lists out;
  for (const Json& list : lists.list()) {
    for (const Json& value : list.list()) out.add(static_cast<uint32_t>(value.integer()));
    out.close();
  }
  return out;
}

// One output per candidate, the same number.
SoftmaxTask plain_task(size_t candidates, Lists sets) {
  SoftmaxTask task;
  task.output_count = candidates;
  for (uint32_t candidate = 0; candidate < candidates; ++candidate) {
    task.outputs_of_candidate.add(candidate);
    task.outputs_of_candidate.close();
  }
  task.candidates_of_set = std::move(sets);
  return task;
}

template <typename Pairs>
void read_pairs(const ModelFile& file, const std::string& name, Pairs& pairs) {
  const std::vector<uint8_t> values = file.numbers<uint8_t>(name);
  if (values.size() != pairs.size()) fail("the array " + name + " has another size than expected");
  std::copy(values.begin(), values.end(), pairs.begin());
}

MultiwordModel read_multiword(const ModelFile& file, const Json& header) {
  MultiwordModel model;
  for (const Json& script : header["scripts"].list()) {
    model.scripts.emplace_back();
    for (const Json& recipe : script.list())
      model.scripts.back().push_back(
          {recipe[size_t{0}].integer(), recipe[1].integer(), recipe[2].boolean(), recipe[3].text()});
  }
  model.task = plain_task(model.scripts.size(), read_lists(header["sets"]));
  std::vector<uint32_t> keys, sets;
  for (const auto& [token, set] : header["set_of_token"].object()) {
    keys.push_back(token_key(token));
    sets.push_back(static_cast<uint32_t>(set.integer()));
  }
  model.set_of_token = {keys.data(), sets.data(), keys.size()};
  model.weights = read_linear(file, "tokenizer.multiword");
  return model;
}

// TagAlphabet.bundle_outputs: a bundle is scored by each Key=Value of FEATS, FEATS as a whole, and XPOS.
SoftmaxTask bundle_task(const Json& bundles, Lists bundles_of_state) {
  SoftmaxTask task;
  std::map<std::string, uint32_t> numbers;
  for (const Json& bundle : bundles.list()) {
    const std::string &xpos = bundle[size_t{0}].text(), &feats = bundle[1].text();
    std::vector<std::string> parts;
    for (size_t first = 0, last = 0; last != std::string::npos; first = last + 1) {
      last = feats.find('|', first);
      parts.push_back(feats.substr(first, last - first));
    }
    parts.push_back("feats " + feats);
    parts.push_back("xpos " + xpos);
    std::vector<uint32_t> outputs;
    for (const std::string& part : parts)
      outputs.push_back(numbers.emplace(part, static_cast<uint32_t>(numbers.size())).first->second);
    std::sort(outputs.begin(), outputs.end());
    outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
    for (uint32_t output : outputs) task.outputs_of_candidate.add(output);
    task.outputs_of_candidate.close();
  }
  task.output_count = numbers.size();
  task.candidates_of_set = std::move(bundles_of_state);
  return task;
}

void read_alphabet(const Json& header, WebTagger& tagger) {
  TaggerModel& model = tagger.model;
  tagger.upos = string_table(header["upos"].texts());
  model.upos_count = static_cast<int>(tagger.upos->size());
  for (const Json& state : header["states"].list())
    model.upos_of_state.push_back(static_cast<uint16_t>(state[size_t{0}].integer()));
  std::vector<std::string> xpos, feats;
  for (const Json& bundle : header["bundles"].list()) {
    xpos.push_back(bundle[size_t{0}].text());
    feats.push_back(bundle[1].text());
  }
  tagger.xpos = string_table(xpos);
  tagger.feats = string_table(feats);
  model.bundle_task = bundle_task(header["bundles"], read_lists(header["bundles_of_state"]));
  for (const Json& script : header["scripts"].list()) tagger.scripts.push_back(read_lemma_script(script));
  model.lemma_task = plain_task(tagger.scripts.size(), read_lists(header["scripts_of_upos"]));
  if (const Json* fits = header.find("script_fits"))
    for (const Json& fit : fits->list())
      model.script_fits.push_back(
          {static_cast<uint16_t>(fit[size_t{0}].integer()), fit[1].texts(), fit[2].texts()});
  else
    model.script_fits.resize(tagger.scripts.size());  // models of 0.1: any form
}

}  // namespace

LookAlikes read_look_alikes(const Json& header) {
  std::vector<uint32_t> characters;
  std::vector<std::u32string> texts;
  if (const Json* stand_ins = header.find("look_alikes"))
    for (const auto& [character, text] : stand_ins->object()) {
      size_t at = 0;
      characters.push_back(utf8_next(character, at));
      texts.emplace_back();
      for (size_t next = 0; next < text.text().size();) texts.back().push_back(utf8_next(text.text(), next));
    }
  return {characters, texts};
}

LemmaScript read_lemma_script(const Json& script) {
  return {static_cast<LemmaCase>(script[size_t{0}].text().at(0)),
          script[1].integer(),
          script[2].integer(),
          script[3].text(),
          script[4].text(),
          script[5].boolean()};
}

std::shared_ptr<const StringTable> string_table(const std::vector<std::string>& strings) {
  auto table = std::make_shared<StringTable>();
  for (const std::string& string : strings) {
    table->text() += string;
    table->close();
  }
  return table;
}

TreebankLayout with_forms(const TreebankLayout& layout, const char* data, const StringColumn& forms) {
  Annotation annotation;
  annotation.columns.emplace_back(FORM, forms);
  return treebank_annotated(layout, data, annotation);
}

StringColumn lemma_column(const std::vector<LemmaScript>& scripts, const TreebankLayout& layout,
                          const char* data, const std::vector<int32_t>& script_of_word) {
  auto table = std::make_shared<StringTable>();
  StringColumn lemmas;
  for (size_t word = 0; word < layout.words(); ++word) {
    const std::string lemma = lemma_apply(scripts.at(script_of_word[word]), layout.field(data, word, FORM));
    table->text() += lemma.empty() ? "_" : lemma;
    lemmas.codes.push_back(table->close());
  }
  lemmas.table = std::move(table);
  return lemmas;
}

WebTokenizer read_tokenizer(const ModelFile& file) {
  const Json& header = file.header()["tokenizer"];
  WebTokenizer tokenizer;
  TokenizerModel& model = tokenizer.model;
  model.cuts = read_linear(file, "tokenizer.cuts");
  model.vocabulary = read_keys(file, "tokenizer.vocabulary");
  read_pairs(file, "tokenizer.may_cut", model.may_cut);
  read_pairs(file, "tokenizer.may_span", model.may_span);
  if (file.has("tokenizer.never_ends")) read_pairs(file, "tokenizer.never_ends", model.never_ends);
  if (const Json* bias = header.find("sentence_bias"))
    model.sentence_bias = static_cast<float>(bias->number());
  if (const Json* wide = header.find("wide_context")) model.wide_context = wide->boolean();
  if (const Json* paragraphs = header.find("paragraphs")) model.paragraphs = paragraphs->boolean();
  model.look_alikes = read_look_alikes(header);
  if (const Json* rules = header.find("rules")) {
    const auto rule = [&](const char* name, bool otherwise) {
      const Json* value = rules->find(name);
      return value ? value->boolean() : otherwise;
    };
    model.whole_addresses = rule("whole_addresses", false);
    model.cut_addresses_out = rule("cut_addresses_out", false);
    model.single_signs = rule("single_signs", false);
    model.cut_names_out =
        rule("cut_names_out", model.cut_addresses_out);  // earlier models: one rule for both
  }
  if (const Json* multiword = header.find("multiword"))
    tokenizer.multiword = read_multiword(file, *multiword);
  return tokenizer;
}

WebTagger read_tagger(const ModelFile& file) {
  const Json& header = file.header()["tagger"];
  WebTagger tagger;
  TaggerModel& model = tagger.model;
  read_alphabet(header, tagger);
  model.emissions = read_linear(file, "tagger.states");
  model.bundle_weights = read_linear(file, "tagger.bundles");
  model.lemma_weights = read_linear(file, "tagger.lemmas");
  model.transitions = Transitions(model.states());
  const std::vector<float> transitions = file.numbers<float>("tagger.transitions");
  if (transitions.size() != model.transitions.scores().size())
    fail("the tagger's transitions have another size than expected");
  for (size_t place = 0; place < transitions.size(); ++place)
    model.transitions.set(place, transitions[place]);
  model.dictionary.set_of_key = read_table(file, "tagger.dictionary.keys", "tagger.dictionary.sets");
  const std::vector<uint32_t> starts = file.numbers<uint32_t>("tagger.sets.starts");
  model.dictionary.sets.starts.assign(starts.begin(), starts.end());
  model.dictionary.sets.values = file.numbers<uint32_t>("tagger.sets.states");
  model.stems.upos_of_lemma = read_table(file, "tagger.stems.keys", "tagger.stems.upos");
  for (const Json& pair : header["alternations"].list())
    model.stems.alternations.emplace_back(pair[size_t{0}].integer(), pair[1].integer());
  std::sort(model.stems.alternations.begin(), model.stems.alternations.end());
  model.lemma_lexicon = read_table(file, "tagger.lexicon.keys", "tagger.lexicon.scripts");
  if (file.has("tagger.bundle_lexicon.bundles"))
    model.bundle_lexicon = read_table(file, "tagger.bundle_lexicon.keys", "tagger.bundle_lexicon.bundles");
  tagger.look_alikes = read_look_alikes(header);
  return tagger;
}

}  // namespace arcwise::web
