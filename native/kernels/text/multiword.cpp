#include "kernels/text/multiword.hpp"

#include <algorithm>

#include "kernels/base/hashing.hpp"
#include "kernels/base/unicode.hpp"

namespace arcwise {
namespace {

std::vector<uint32_t> code_points(std::string_view text) {
  std::vector<uint32_t> out;
  for (size_t at = 0; at < text.size();) out.push_back(utf8_next(text, at));
  return out;
}

bool is_upper(uint32_t code_point) { return lower_case(code_point) != code_point; }

// Upper case by search: the rules of unicode.hpp go the other way. Only recipe texts are written so, which
// are short.
uint32_t upper_case(uint32_t code_point) {
  if (code_point < 128) return code_point - 'a' < 26u ? code_point - 32 : code_point;
  for (uint32_t other = code_point - 300 * (code_point > 300); other < code_point; ++other)
    if (lower_case(other) == code_point) return other;
  return code_point;
}

enum class Casing { as_is, first_upper, all_upper };

Casing casing_of(const std::vector<uint32_t>& token) {
  size_t upper = static_cast<size_t>(std::count_if(token.begin(), token.end(), is_upper));
  if (token.size() > 1 && upper == token.size()) return Casing::all_upper;
  return !token.empty() && is_upper(token[0]) ? Casing::first_upper : Casing::as_is;
}

void append_cased(std::string& out, std::string_view text, Casing casing, bool at_start) {
  for (size_t at = 0; at < text.size(); at_start = false) {
    uint32_t code_point = utf8_next(text, at);
    bool upper = casing == Casing::all_upper || (casing == Casing::first_upper && at_start);
    utf8_append(out, upper ? upper_case(code_point) : code_point);
  }
}

}  // namespace

std::vector<std::string> split_apply(const SplitScript& script, std::string_view token) {
  std::vector<uint32_t> characters = code_points(token);
  int size = static_cast<int>(characters.size());
  Casing casing = casing_of(characters);
  std::vector<std::string> words;
  for (const WordRecipe& recipe : script) {
    int first = recipe.first < 0 ? size + recipe.first : recipe.first;
    int last = recipe.to_end ? size : recipe.last < 0 ? size + recipe.last : recipe.last;
    if (first < 0 || last < first || last > size || (recipe.last < 0 && last == first)) return {};
    std::string word;
    for (int i = first; i < last; ++i) utf8_append(word, characters[i]);
    append_cased(word, recipe.text, casing, words.empty() && word.empty());
    if (word.empty()) return {};
    words.push_back(std::move(word));
  }
  return words;
}

uint32_t token_key(std::string_view token_in_lower_case) {
  return feature_key(hash_bytes(token_in_lower_case, 77));
}

uint32_t known_stems(const TokenizerModel& tokenizer, std::string_view token) {
  uint32_t known = 0;
  for (size_t length = 1; length <= LONGEST_ENDING; ++length) {
    std::string_view stem = token.substr(0, token.size() - utf8_suffix(token, length).size());
    if (!stem.empty() && tokenizer.knows(word_hash(stem))) known |= uint32_t{1} << length;
  }
  return known;
}

void multiword_features(const TokenContext& context, std::vector<uint32_t>& keys) {
  keys.clear();
  uint64_t number = 0;
  auto feature = [&](uint64_t value) { keys.push_back(feature_key(hash_pair(value, ++number))); };
  feature(0);
  feature(hash_bytes(context.token));
  for (size_t length = 1; length <= LONGEST_ENDING; ++length) {
    std::string_view ending = utf8_suffix(context.token, length);
    feature(hash_bytes(ending));
    feature(hash_bytes(ending, 1 + (context.known_stems >> length & 1)));
  }
  for (size_t length = 1; length <= 4; ++length) feature(hash_bytes(utf8_prefix(context.token, length)));
  feature(hash_bytes(context.before));
  feature(hash_bytes(context.after));
  feature(hash_bytes(context.before, hash_bytes(context.token)));
  feature(hash_bytes(context.after, hash_bytes(context.token)));
  feature(hash_bytes(utf8_suffix(context.before, 2), hash_bytes(context.token)));
  feature(hash_bytes(utf8_suffix(context.after, 2), hash_bytes(context.token)));
  feature(hash_bytes(utf8_suffix(context.after, 3), hash_bytes(utf8_suffix(context.token, 3))));
}

size_t multiword_decode(const MultiwordModel& model, const TokenContext& context, bool seen_whole,
                        SoftmaxWorkspace& workspace) {
  if (model.empty()) return 0;
  const uint32_t* known = model.set_of_token.find(token_key(context.token));
  if (!known && seen_whole) return 0;
  size_t set = known ? *known : 0;
  const uint32_t* candidates = model.task.candidates_of_set.begin(set);
  if (model.task.choices(set) == 1) return candidates[0];
  std::vector<uint32_t> keys;
  multiword_features(context, keys);
  workspace.output_scores.assign(model.task.output_count, 0.0f);
  for (uint32_t key : keys) model.weights.add(key, workspace.output_scores.data());
  return candidates[softmax_probabilities(model.task, set, workspace)];
}

}  // namespace arcwise
