#include "kernels/features/token_atoms.hpp"

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

#include "kernels/base/hashing.hpp"
#include "kernels/base/unicode.hpp"

namespace arcwise {
namespace {

struct AtomName {
  std::string_view name;
  AtomKind kind;
};
constexpr AtomName PLAIN[] = {
    {"form", AtomKind::form},   {"lower", AtomKind::lower},     {"shape", AtomKind::shape},
    {"lemma", AtomKind::lemma}, {"upos", AtomKind::upos},       {"xpos", AtomKind::xpos},
    {"feats", AtomKind::feats}, {"earlier", AtomKind::earlier}, {"later", AtomKind::later}};
constexpr AtomName WITH_LENGTH[] = {{"prefix", AtomKind::prefix}, {"suffix", AtomKind::suffix}};
constexpr AtomName WITH_KEY[] = {{"feats.", AtomKind::feat}, {"misc.", AtomKind::misc}};

int column_of(AtomKind kind) {
  switch (kind) {
    case AtomKind::lemma:
      return LEMMA;
    case AtomKind::upos:
    case AtomKind::earlier:
    case AtomKind::later:
      return UPOS;
    case AtomKind::xpos:
      return XPOS;
    case AtomKind::feats:
    case AtomKind::feat:
      return FEATS;
    case AtomKind::misc:
      return MISC;
    default:
      return FORM;
  }
}

// The value of `key` in "Key=Value|Key=Value"; empty if absent.
std::string_view value_of(std::string_view pairs, std::string_view key) {
  while (!pairs.empty()) {
    size_t bar = std::min(pairs.find('|'), pairs.size());
    std::string_view pair = pairs.substr(0, bar);
    if (pair.size() > key.size() && pair[key.size()] == '=' && pair.substr(0, key.size()) == key)
      return pair.substr(key.size() + 1);
    pairs.remove_prefix(std::min(bar + 1, pairs.size()));
  }
  return {};
}

char character_class(uint32_t code_point) {
  if (code_point - '0' < 10u) return 'd';
  if (code_point < 0x80) {
    if (code_point - 'A' < 26u) return 'X';
    return code_point - 'a' < 26u ? 'x' : static_cast<char>(code_point);
  }
  return lower_case(code_point) != code_point ? 'X' : 'x';
}

void append_shape(std::string& out, std::string_view form) {
  for (size_t at = 0; at < form.size();) {
    char kind = character_class(utf8_next(form, at));
    if (out.empty() || out.back() != kind) out.push_back(kind);
  }
}

// Computes the atoms of one word at a time with a reusable buffer.
class WordAtoms {
 public:
  WordAtoms(const TreebankLayout& layout, const char* data) : layout_(layout), data_(data) {}

  void start(size_t word) {
    word_ = word;
    lower_.clear();
    if (word < first_ || word >= last_) {  // the word is in another sentence
      auto after = std::upper_bound(layout_.sentence_words.begin(), layout_.sentence_words.end(), word);
      first_ = after[-1];
      last_ = after[0];
    }
  }

  uint64_t atom(const AtomSpec& spec) {
    uint64_t seed = static_cast<uint64_t>(spec.kind) * 64 + static_cast<uint64_t>(spec.length) + 1;
    std::string_view field = layout_.field(data_, word_, column_of(spec.kind));
    switch (spec.kind) {
      case AtomKind::lower:
        return hash_bytes(lower(field), seed);
      case AtomKind::prefix:
        return hash_bytes(utf8_prefix(lower(field), spec.length), seed);
      case AtomKind::suffix:
        return hash_bytes(utf8_suffix(lower(field), spec.length), seed);
      case AtomKind::shape:
        shape_.clear();
        append_shape(shape_, field);
        return hash_bytes(shape_, seed);
      case AtomKind::form:
        return hash_bytes(field, seed);
      case AtomKind::feat:
      case AtomKind::misc: {
        std::string_view value = value_of(field, spec.key);
        return value.empty() ? ABSENT : hash_bytes(value, hash_bytes(spec.key, seed));
      }
      case AtomKind::earlier:
      case AtomKind::later:
        return field == "_" ? ABSENT : hash_pair(seed, same_tag(field, spec.kind == AtomKind::later));
      default:
        return field.empty() || field == "_" ? ABSENT : hash_bytes(field, seed);
    }
  }

 private:
  std::string_view lower(std::string_view form) {
    if (lower_.empty()) append_lower_case(lower_, form);
    return lower_;
  }

  // How many words with this UPOS come before (after) the word in its sentence, at most two.
  uint64_t same_tag(std::string_view tag, bool after) const {
    uint64_t found = 0;
    for (size_t at = word_; found < 2 && (after ? at + 1 < last_ : at > first_);) {
      at += after ? 1 : -1;
      found += layout_.field(data_, at, UPOS) == tag;
    }
    return found;
  }

  const TreebankLayout& layout_;
  const char* data_;
  size_t word_ = 0, first_ = 0, last_ = 0;  // the word, and its sentence
  std::string lower_, shape_;
};

}  // namespace

AtomSpec atom_spec(std::string_view name) {
  for (const AtomName& plain : PLAIN)
    if (name == plain.name) return {plain.kind, 0, {}};
  for (const AtomName& with : WITH_KEY)
    if (name.size() > with.name.size() && name.substr(0, with.name.size()) == with.name)
      return {with.kind, 0, std::string(name.substr(with.name.size()))};
  for (const AtomName& with : WITH_LENGTH)
    if (name.size() == with.name.size() + 1 && name.substr(0, with.name.size()) == with.name &&
        name.back() >= '1' && name.back() <= '9')
      return {with.kind, name.back() - '0', {}};
  throw std::invalid_argument(
      "found atom '" + std::string(name) +
      "', expected form, lower, prefix1 … prefix9, suffix1 … suffix9, shape, lemma, upos, "
      "xpos, feats, feats.KEY, misc.KEY, earlier or later");
}

std::vector<uint64_t> token_atoms(const TreebankLayout& layout, const char* data,
                                  const std::vector<AtomSpec>& specs, size_t first, size_t last) {
  std::vector<uint64_t> atoms;
  atoms.reserve((last - first) * specs.size());
  WordAtoms word_atoms(layout, data);
  for (size_t word = first; word < last; ++word) {
    word_atoms.start(word);
    for (const AtomSpec& spec : specs) atoms.push_back(word_atoms.atom(spec));
  }
  return atoms;
}

AtomSpec list_spec(std::string_view name) {
  if (name == "feats" || name.substr(0, 5) == "misc.") return atom_spec(name);
  throw std::invalid_argument("found list '" + std::string(name) + "', expected feats or misc.KEY");
}

AtomLists list_atoms(const TreebankLayout& layout, const char* data, const AtomSpec& spec) {
  AtomLists lists;
  lists.starts.push_back(0);
  const bool feats = spec.kind == AtomKind::feats;
  const uint64_t seed = hash_bytes(spec.key, static_cast<uint64_t>(spec.kind) * 64 + 1);
  lists.seed = seed;
  for (size_t word = 0; word < layout.words(); ++word) {
    std::string_view field = layout.field(data, word, column_of(spec.kind));
    if (field == "_") field = {};
    if (!feats) field = value_of(field, spec.key);
    while (!field.empty()) {
      size_t end = std::min(field.find(feats ? '|' : ','), field.size());
      if (end > 0) lists.values.push_back(hash_bytes(field.substr(0, end), seed));
      field.remove_prefix(std::min(end + 1, field.size()));
    }
    lists.starts.push_back(static_cast<uint32_t>(lists.values.size()));
  }
  return lists;
}

Vocabulary::Vocabulary(const std::vector<uint64_t>& values) {
  std::unordered_map<uint64_t, uint32_t> counts;
  for (uint64_t value : values)
    if (value != ABSENT) ++counts[value];
  std::vector<std::pair<uint64_t, uint32_t>> order(counts.begin(), counts.end());
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  for (const auto& [hash, count] : order) {
    hashes_.push_back(hash);
    counts_.push_back(count);
  }
  index();
}

Vocabulary::Vocabulary(std::vector<uint64_t> hashes, std::vector<uint32_t> counts)
    : hashes_(std::move(hashes)), counts_(std::move(counts)) {
  if (hashes_.size() != counts_.size()) throw std::invalid_argument("as many hashes as counts are needed");
  index();
}

void Vocabulary::index() {
  size_t size = 8;
  while (size < hashes_.size() * 2) size *= 2;
  slots_.assign(size, -1);
  for (size_t i = 0; i < hashes_.size(); ++i) {
    size_t slot = hashes_[i] & (size - 1);
    while (slots_[slot] >= 0) slot = (slot + 1) & (size - 1);
    slots_[slot] = static_cast<int32_t>(i);
  }
}

int64_t Vocabulary::rank(uint64_t hash) const {
  if (slots_.empty()) return -1;
  size_t mask = slots_.size() - 1;
  for (size_t slot = hash & mask; slots_[slot] >= 0; slot = (slot + 1) & mask)
    if (hashes_[slots_[slot]] == hash) return slots_[slot];
  return -1;
}

std::vector<int32_t> known_codes(const TreebankLayout& layout, const char* data, int column,
                                 const std::vector<std::string>& strings) {
  std::unordered_map<std::string_view, int32_t> places;
  for (size_t i = 0; i < strings.size(); ++i) places.emplace(strings[i], static_cast<int32_t>(i));
  std::vector<int32_t> codes(layout.words());
  for (size_t word = 0; word < codes.size(); ++word) {
    auto found = places.find(layout.field(data, word, column));
    codes[word] = found == places.end() ? -1 : found->second;
  }
  return codes;
}

}  // namespace arcwise
