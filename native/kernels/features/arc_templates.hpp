// Compiled feature templates of arcs: which properties to read on the head's side, on the modifier's side and
// between.
//
// A feature of an arc is a cell of a weight table. Its place is the XOR of a hash of the head's side, a hash
// of the modifier's side (both computed once per word) and a salt for direction and distance: two loads and
// an XOR per feature of an arc. Templates come in two kinds:
//   arc templates    one cell: a weight for the arc, whatever its label;
//   label templates  a row of cells: a weight for the arc, then one for each label that the pair of
//                    tags allows.
// One-sided templates are summed once per word and direction.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/features/token_atoms.hpp"

namespace arcwise {

// The word a part reads: the side's word moved by `offset`, or the nearest frequent word, or the one after
// that ("in" before "in the house").
enum class Place : uint8_t {
  offset,
  left_frequent,
  right_frequent,
  second_left_frequent,
  second_right_frequent
};

struct TemplatePart {
  Place place = Place::offset;
  int offset = 0;
  int atom = 0;  // index in ArcTemplates::atoms
};

// What to read of the words between head and modifier: nothing; each distinct tag, one feature each; each tag
// with its count (1, 2, 3 or more); the set of tags as a whole; each very frequent word (comma, "and",
// "that"). Or, from a column with several values per word: each pair of a value of the head and a value of
// the modifier; one feature if a value of the modifier is the head's number (0 for the root).
enum class Between : uint8_t { none, each, count, set, words, pairs, proposed };
constexpr int BETWEEN_WORDS = 64;

// The two ends of an arc.
enum Role { HEAD_ROLE, MODIFIER_ROLE, ROLES };

// The context that a feature is conjoined with.
enum class Context : uint8_t { nothing, direction, distance };  // distance includes direction
constexpr int CONTEXTS = 3;

struct ArcTemplate {
  std::vector<TemplatePart> head, modifier;
  Between between = Between::none;
  int list = 0;  // Between::pairs: index of the list
  Context context = Context::direction;
  bool label = false;  // label template or arc template
};

// Directions: 0 if the modifier is left of its head, 1 if right. Distances 1..5, 6-10, more: bins 0..6.
constexpr int DISTANCE_BINS = 7;
inline int direction_of(int head, int modifier) { return modifier > head; }
inline int distance_bin(int distance) { return distance <= 5 ? distance - 1 : distance <= 10 ? 5 : 6; }

struct ArcTemplates {
  std::vector<AtomSpec> atoms, lists;
  int word_atom = -1;  // the atom replaced by UNKNOWN_WORD for words not seen in training; -1 for none
  int frequent = 150;  // number of most frequent words that count as frequent

  // Pairs of side hashes, shared by templates that differ only in context.
  struct Pair {
    std::vector<TemplatePart> head, modifier;
  };
  std::vector<Pair> pairs;
  std::vector<uint16_t> arc_pairs[CONTEXTS], row_pairs[CONTEXTS];  // indices in `pairs`
  struct BetweenPair {
    uint16_t pair;
    Between between;
    int list;
    Context context;
  };
  std::vector<BetweenPair> arc_between, row_between;
  // One-sided templates: summed once per word and direction.
  struct OneSide {
    std::vector<TemplatePart> parts;
    bool directed;
    uint64_t salt;
  };
  std::vector<OneSide> arc_sides[ROLES], row_sides[ROLES];

  ArcTemplates() = default;
  // `rows`: every template is a label template (latent clusters).
  ArcTemplates(std::vector<AtomSpec> atoms, std::vector<AtomSpec> lists, int word_atom, int frequent,
               const std::vector<ArcTemplate>& templates, bool rows);
};

// Hashes that stand for anything but a word of the sentence.
constexpr uint64_t UNKNOWN_WORD = 0x756E6B6E6F776EULL;
constexpr uint64_t ROOT_ATOM = 0x77616C6CULL;
constexpr uint64_t OUTSIDE_ATOM = 0x6F757473696465ULL;

// The side hashes of one sentence: head side H[word][pair], modifier side M[word][pair], words 0..n (0 is the
// root), and the cells of one-sided templates.
class SentenceHashes {
 public:
  // atoms: templates.atoms.size() for each of the n words. keep_word(i): whether word i (from 0) keeps its
  // word atom or becomes UNKNOWN_WORD (word dropout in training). Does not set lists; see set_lists.
  void set(const ArcTemplates& templates, const uint64_t* atoms, int n, const Vocabulary& vocabulary,
           const std::vector<uint8_t>& keep_word);
  // lists: templates.lists.size() of them; the sentence's words are first..first+n-1.
  void set_lists(const std::vector<AtomLists>& lists, size_t first);

  int n() const { return n_; }
  // The rank of a word among the BETWEEN_WORDS most frequent ones, -1 if it is not among them.
  int frequent_rank(int word) const { return frequent_rank_[word]; }
  const uint32_t* head(int word) const { return &head_[word * pairs_]; }
  const uint32_t* modifier(int word) const { return &modifier_[word * pairs_]; }
  // Calls visit(hash) for each pair of a value of the head and a value of the modifier; the root has none.
  template <typename Visit>
  void value_pairs(int list, int head, int modifier, Visit visit) const {
    const Values& v = values_[list];
    for (uint32_t a = v.starts[head]; a < v.starts[head + 1]; ++a)
      for (uint32_t b = v.starts[modifier]; b < v.starts[modifier + 1]; ++b) visit(v.head[a] ^ v.modifier[b]);
  }
  // Whether a value of the modifier is the number of the head.
  bool proposes(int list, int head, int modifier) const {
    const Values& v = values_[list];
    for (uint32_t b = v.starts[modifier]; b < v.starts[modifier + 1]; ++b)
      if (v.plain[b] == v.numbers[head]) return true;
    return false;
  }
  // One-sided hashes of a word in a role, in the order of ArcTemplates::arc_sides[role] (row_sides[role]).
  const uint32_t* arc_sides(Role role, int word, int direction) const {
    return arc_sides_[role].of(word, direction);
  }
  const uint32_t* row_sides(Role role, int word, int direction) const {
    return row_sides_[role].of(word, direction);
  }

 private:
  void place_atoms(const ArcTemplates& templates, const uint64_t* atoms, const Vocabulary& vocabulary,
                   const std::vector<uint8_t>& keep_word);
  void find_frequent(const ArcTemplates& templates, const Vocabulary& vocabulary);
  int place_of(const TemplatePart& part, int word) const;
  uint64_t side(const std::vector<TemplatePart>& parts, int word, uint64_t salt) const;

  struct OneSided {
    size_t count = 0;
    std::vector<uint32_t> hashes;  // [word][direction][template]
    const uint32_t* of(int word, int direction) const {
      return hashes.data() + (word * 2 + direction) * count;
    }
  };
  void set_one_sided(const std::vector<ArcTemplates::OneSide>& sides, OneSided& out) const;

  int n_ = 0;
  size_t pairs_ = 0, atom_count_ = 0;
  std::vector<uint64_t> atoms_;  // words 0..n, 0 the root
  std::vector<int32_t> left_frequent_, right_frequent_;
  std::vector<int8_t> frequent_rank_;
  std::vector<uint32_t> head_, modifier_;
  OneSided arc_sides_[ROLES], row_sides_[ROLES];
  struct Values {
    std::vector<uint32_t> starts;          // of words 0..n+1
    std::vector<uint32_t> head, modifier;  // the values, hashed for either side
    std::vector<uint64_t> plain;           // the value's own hash
    std::vector<uint64_t> numbers;         // by word: the hash of its number, as a value
  };
  std::vector<Values> values_;
};

// Salts that encode the context in a hash; fixed numbers.
struct ContextSalts {
  uint32_t direction[2], distance[2][DISTANCE_BINS], tag[64], tag_count[64][3], word[BETWEEN_WORDS];
  ContextSalts();
  uint32_t of(Context context, int direction_of_arc, int bin) const {
    return context == Context::nothing     ? 0
           : context == Context::direction ? direction[direction_of_arc]
                                           : distance[direction_of_arc][bin];
  }
};

// The tags and very frequent words between the head and the next word, updated while moving away from the
// head.
struct BetweenTags {
  uint64_t set = 0, word_set = 0;
  uint8_t counts[64];
  uint8_t present[64], words[BETWEEN_WORDS];
  int distinct = 0, distinct_words = 0;

  void clear() {
    set = word_set = 0;
    distinct = distinct_words = 0;
  }
  // rank: rank of a very frequent word, below BETWEEN_WORDS; -1 for others.
  void add(int tag, int rank) {
    tag &= 63;
    if (!(set >> tag & 1)) {
      set |= uint64_t{1} << tag;
      counts[tag] = 0;
      present[distinct++] = static_cast<uint8_t>(tag);
    }
    if (counts[tag] < 3) ++counts[tag];
    if (rank >= 0 && !(word_set >> rank & 1)) {
      word_set |= uint64_t{1} << rank;
      words[distinct_words++] = static_cast<uint8_t>(rank);
    }
  }
};

// Calls visit(hash) for each feature of a between-template on arc (h, m), whose side hashes and context XOR
// to `base`.
template <typename Visit>
inline void between_features(const ArcTemplates::BetweenPair& of, uint32_t base, const SentenceHashes& hashes,
                             int h, int m, const BetweenTags& tags, const ContextSalts& salts, Visit visit) {
  switch (of.between) {
    case Between::each:
      for (int i = 0; i < tags.distinct; ++i) visit(base ^ salts.tag[tags.present[i]]);
      break;
    case Between::count:
      for (int i = 0; i < tags.distinct; ++i)
        visit(base ^ salts.tag_count[tags.present[i]][tags.counts[tags.present[i]] - 1]);
      break;
    case Between::set:
      visit(base ^ static_cast<uint32_t>((tags.set * 0x9E3779B97F4A7C15ULL) >> 32));
      break;
    case Between::words:
      for (int i = 0; i < tags.distinct_words; ++i) visit(base ^ salts.word[tags.words[i]]);
      break;
    case Between::pairs:
      hashes.value_pairs(of.list, h, m, [&](uint32_t pair) { visit(base ^ pair); });
      break;
    case Between::proposed:
      if (hashes.proposes(of.list, h, m)) visit(base);
      break;
    case Between::none:
      visit(base);
  }
}

}  // namespace arcwise
