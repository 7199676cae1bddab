#include <map>
#include <set>
#include <unordered_map>

#include "kernels/text/tagger.hpp"

namespace arcwise {
namespace {

constexpr double RARE_STATE_OF_AN_ENDING = 0.1;
constexpr uint32_t RARE_FORM = 5;            // forms seen no more often tell what endings mean
constexpr uint32_t ENOUGH_OF_AN_ENDING = 4;  // words with an ending, for it to tell anything

using StateCounts = std::map<uint16_t, uint32_t>;

uint32_t total_of(const StateCounts& counts) {
  uint32_t total = 0;
  for (const auto& [state, count] : counts) total += count;
  return total;
}

// Builds the dictionary. In training, each word is looked up as if it had not been seen here ("leave one
// out"), so that words seen once teach the model what unknown words are like.
class DictionaryBuilder {
 public:
  DictionaryBuilder(const std::vector<uint64_t>& atoms, const int32_t* state, uint32_t trusted_count,
                    double rare_state)
      : atoms_(atoms), state_(state), trusted_count_(trusted_count), rare_state_(rare_state) {
    size_t words = atoms.size() / TAGGER_ATOMS;
    for (size_t word = 0; word < words; ++word) count(word, 0, FORM_KEYS);
    for (size_t word = 0; word < words; ++word)
      if (total_of(counts_[keys(word)[0]]) <= RARE_FORM) count(word, FORM_KEYS, WORD_KEYS);
    find_open_states();
  }

  uint32_t set_without(size_t word, TagDictionary& dictionary) {
    auto gold = static_cast<uint16_t>(state_[word]);
    bool rare = total_of(counts_[keys(word)[0]]) <= RARE_FORM;
    for (size_t kind = 0; kind < WORD_KEYS; ++kind) {
      StateCounts others = counts_[keys(word)[kind]];
      if (kind < FORM_KEYS || rare)
        if (--others[gold] == 0) others.erase(gold);
      if (is_enough(others, kind)) return set_of(others, kind, dictionary);
    }
    return 0;
  }

  void finish(TagDictionary& dictionary) {
    std::unordered_map<uint32_t, uint32_t> set_of_key;
    for (size_t word = 0; word < atoms_.size() / TAGGER_ATOMS; ++word)
      for (size_t kind = 0; kind < WORD_KEYS; ++kind) {
        uint32_t key = keys(word)[kind];
        if (!set_of_key.count(key) && is_enough(counts_[key], kind))
          set_of_key[key] = set_of(counts_[key], kind, dictionary);
      }
    dictionary.set_of_key = KeyTable(set_of_key);
  }

  void add_open_set(TagDictionary& dictionary) const {
    for (uint16_t state : open_) dictionary.sets.add(state);
    dictionary.sets.close();
  }

 private:
  std::array<uint32_t, WORD_KEYS> keys(size_t word) const {
    return word_keys(atoms_.data() + word * TAGGER_ATOMS);
  }
  void count(size_t word, size_t first_kind, size_t last_kind) {
    for (size_t kind = first_kind; kind < last_kind; ++kind)
      ++counts_[keys(word)[kind]][static_cast<uint16_t>(state_[word])];
  }
  static bool is_enough(const StateCounts& counts, size_t kind) {
    return kind < FORM_KEYS ? !counts.empty() : total_of(counts) >= ENOUGH_OF_AN_ENDING;
  }

  // A state is open to new words if a form that was seen once has it: that one was new.
  void find_open_states() {
    std::set<uint16_t> all;
    for (size_t word = 0; word < atoms_.size() / TAGGER_ATOMS; ++word) {
      const auto state = static_cast<uint16_t>(state_[word]);
      if (total_of(counts_[keys(word)[0]]) == 1) open_.insert(state);
      all.insert(state);
    }
    if (open_.empty()) open_ = all;
  }

  // Sets are numbered by what was seen; candidates are these states, and the open ones where that is little.
  uint32_t set_of(const StateCounts& counts, size_t kind, TagDictionary& dictionary) {
    uint32_t total = total_of(counts);
    bool is_form = kind < FORM_KEYS, trusted = is_form && total >= trusted_count_;
    std::vector<uint16_t> kept{static_cast<uint16_t>(is_form ? 2 * kind + trusted : 4)};
    for (const auto& [state, count] : counts)
      if (count >= (is_form ? rare_state_ : RARE_STATE_OF_AN_ENDING) * total) kept.push_back(state);
    auto [place, is_new] = numbers_.emplace(kept, static_cast<uint32_t>(dictionary.sets.size()));
    if (is_new) {
      std::set<uint16_t> states(kept.begin() + 1, kept.end());
      if (!trusted) states.insert(open_.begin(), open_.end());
      for (uint16_t state : states) dictionary.sets.add(state);
      dictionary.sets.close();
    }
    return place->second;
  }

  const std::vector<uint64_t>& atoms_;
  const int32_t* state_;
  uint32_t trusted_count_;
  double rare_state_;
  std::unordered_map<uint32_t, StateCounts> counts_;
  std::map<std::vector<uint16_t>, uint32_t> numbers_;
  std::set<uint16_t> open_;
};

}  // namespace

std::vector<uint32_t> tagger_learn_dictionary(const std::vector<uint64_t>& atoms, const int32_t* state,
                                              uint32_t trusted_count, double rare_state,
                                              TagDictionary& dictionary) {
  DictionaryBuilder builder(atoms, state, trusted_count, rare_state);
  builder.add_open_set(dictionary);
  std::vector<uint32_t> sets;
  for (size_t word = 0; word < atoms.size() / TAGGER_ATOMS; ++word)
    sets.push_back(builder.set_without(word, dictionary));
  builder.finish(dictionary);
  return sets;
}

}  // namespace arcwise
