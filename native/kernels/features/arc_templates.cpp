#include "kernels/features/arc_templates.hpp"

#include <algorithm>
#include <stdexcept>

#include "kernels/base/hashing.hpp"

namespace arcwise {
namespace {

bool same(const std::vector<TemplatePart>& a, const std::vector<TemplatePart>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const TemplatePart& x, const TemplatePart& y) {
    return x.place == y.place && x.offset == y.offset && x.atom == y.atom;
  });
}

}  // namespace

ArcTemplates::ArcTemplates(std::vector<AtomSpec> atom_specs, std::vector<AtomSpec> list_specs, int word,
                           int frequent_words, const std::vector<ArcTemplate>& templates, bool rows)
    : atoms(std::move(atom_specs)), lists(std::move(list_specs)), word_atom(word), frequent(frequent_words) {
  for (size_t t = 0; t < templates.size(); ++t) {
    const ArcTemplate& given = templates[t];
    bool row = given.label || rows;
    bool one_side = (given.head.empty() || given.modifier.empty()) && given.between == Between::none &&
                    given.context != Context::distance;
    if (one_side) {
      Role role = given.modifier.empty() ? HEAD_ROLE : MODIFIER_ROLE;
      OneSide side{role == HEAD_ROLE ? given.head : given.modifier, given.context == Context::direction,
                   mix(0x51DE0000 + t)};
      (row ? row_sides : arc_sides)[role].push_back(std::move(side));
      continue;
    }
    auto found = std::find_if(pairs.begin(), pairs.end(), [&](const Pair& pair) {
      return same(pair.head, given.head) && same(pair.modifier, given.modifier);
    });
    auto place = static_cast<uint16_t>(found - pairs.begin());
    if (found == pairs.end()) pairs.push_back({given.head, given.modifier});
    if (given.between == Between::none)
      (row ? row_pairs : arc_pairs)[static_cast<int>(given.context)].push_back(place);
    else
      (row ? row_between : arc_between).push_back({place, given.between, given.list, given.context});
  }
}

void SentenceHashes::place_atoms(const ArcTemplates& templates, const uint64_t* atoms,
                                 const Vocabulary& vocabulary, const std::vector<uint8_t>& keep_word) {
  atom_count_ = templates.atoms.size();
  atoms_.assign(atom_count_, ROOT_ATOM);
  atoms_.insert(atoms_.end(), atoms, atoms + n_ * atom_count_);
  if (templates.word_atom < 0) return;
  for (int word = 1; word <= n_; ++word) {
    uint64_t& atom = atoms_[word * atom_count_ + templates.word_atom];
    bool kept = keep_word.empty() || keep_word[word - 1];
    if (!kept || vocabulary.rank(atom) < 0) atom = UNKNOWN_WORD;
  }
}

// Finds the nearest frequent words to the left and right of each word, excluding the word itself; -1 and n+1
// if there are none.
void SentenceHashes::find_frequent(const ArcTemplates& templates, const Vocabulary& vocabulary) {
  left_frequent_.assign(n_ + 1, -1);
  right_frequent_.assign(n_ + 1, n_ + 1);
  frequent_rank_.assign(n_ + 1, -1);
  if (templates.word_atom < 0) return;
  std::vector<uint8_t> frequent(n_ + 2, 0);
  for (int word = 1; word <= n_; ++word) {
    int64_t rank = vocabulary.rank(atoms_[word * atom_count_ + templates.word_atom]);
    if (rank >= 0 && rank < BETWEEN_WORDS) frequent_rank_[word] = static_cast<int8_t>(rank);
    frequent[word] = rank >= 0 && rank < templates.frequent;
  }
  for (int word = 2; word <= n_; ++word)
    left_frequent_[word] = frequent[word - 1] ? word - 1 : left_frequent_[word - 1];
  for (int word = n_ - 1; word >= 0; --word)
    right_frequent_[word] = frequent[word + 1] ? word + 1 : right_frequent_[word + 1];
}

// The word that a part looks at; below 0 or above n if there is none.
int SentenceHashes::place_of(const TemplatePart& part, int word) const {
  auto left = [&](int w) { return w < 0 ? -1 : left_frequent_[w]; };
  auto right = [&](int w) { return w > n_ ? n_ + 1 : right_frequent_[w]; };
  switch (part.place) {
    case Place::left_frequent:
      return left(word);
    case Place::right_frequent:
      return right(word);
    case Place::second_left_frequent:
      return left(left(word));
    case Place::second_right_frequent:
      return right(right(word));
    default:
      return word + part.offset;
  }
}

uint64_t SentenceHashes::side(const std::vector<TemplatePart>& parts, int word, uint64_t salt) const {
  uint64_t hash = salt;
  for (const TemplatePart& part : parts) {
    int at = place_of(part, word);
    uint64_t atom = at < 0 || at > n_ ? OUTSIDE_ATOM + (at > n_) : atoms_[at * atom_count_ + part.atom];
    hash = hash_pair(hash, atom);
  }
  return hash;
}

void SentenceHashes::set_one_sided(const std::vector<ArcTemplates::OneSide>& sides, OneSided& out) const {
  out.count = sides.size();
  out.hashes.clear();
  for (int word = 0; word <= n_; ++word)
    for (int direction = 0; direction < 2; ++direction)
      for (const auto& one : sides) {
        uint64_t hash = side(one.parts, word, one.salt);
        out.hashes.push_back(static_cast<uint32_t>(one.directed ? hash_pair(hash, direction) : hash));
      }
}

void SentenceHashes::set(const ArcTemplates& templates, const uint64_t* atoms, int n,
                         const Vocabulary& vocabulary, const std::vector<uint8_t>& keep_word) {
  n_ = n;
  place_atoms(templates, atoms, vocabulary, keep_word);
  find_frequent(templates, vocabulary);
  pairs_ = templates.pairs.size();
  head_.resize((n + 1) * pairs_);
  modifier_.resize((n + 1) * pairs_);
  for (int word = 0; word <= n; ++word)
    for (size_t p = 0; p < pairs_; ++p) {
      // Different salts for the two sides distinguish the features (a, b) and (b, a).
      head_[word * pairs_ + p] = static_cast<uint32_t>(side(templates.pairs[p].head, word, mix(2 * p + 1)));
      modifier_[word * pairs_ + p] =
          static_cast<uint32_t>(side(templates.pairs[p].modifier, word, mix(2 * p + 2)));
    }
  for (int role = 0; role < ROLES; ++role) {
    set_one_sided(templates.arc_sides[role], arc_sides_[role]);
    set_one_sided(templates.row_sides[role], row_sides_[role]);
  }
}

void SentenceHashes::set_lists(const std::vector<AtomLists>& lists, size_t first) {
  values_.resize(lists.size());
  for (size_t l = 0; l < lists.size(); ++l) {
    Values& into = values_[l];
    into.starts.assign(2, 0);  // the root has no values
    into.head.clear();
    into.modifier.clear();
    into.plain.clear();
    into.numbers.clear();
    for (int word = 0; word <= n_; ++word)
      into.numbers.push_back(hash_bytes(std::to_string(word), lists[l].seed));
    for (int word = 0; word < n_; ++word) {
      for (uint32_t at = lists[l].starts[first + word]; at < lists[l].starts[first + word + 1]; ++at) {
        into.head.push_back(static_cast<uint32_t>(hash_pair(0x4EAD, lists[l].values[at])));
        into.modifier.push_back(static_cast<uint32_t>(hash_pair(0x30D1, lists[l].values[at])));
        into.plain.push_back(lists[l].values[at]);
      }
      into.starts.push_back(static_cast<uint32_t>(into.head.size()));
    }
  }
}

ContextSalts::ContextSalts() {
  uint64_t next = 0x5A17;
  auto salt = [&] { return static_cast<uint32_t>(mix(++next) >> 16); };
  for (uint32_t& s : direction) s = salt();
  for (auto& bins : distance)
    for (uint32_t& s : bins) s = salt();
  for (uint32_t& s : tag) s = salt();
  for (auto& counts : tag_count)
    for (uint32_t& s : counts) s = salt();
  for (uint32_t& s : word) s = salt();
}

}  // namespace arcwise
