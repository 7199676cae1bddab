// Hashed features of adjacent siblings (McDonald & Pereira 2006): the tags and words of head, sibling and modifier, in direction of the
// modifier and by the distance between the siblings.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "kernels/base/hashing.hpp"
#include "kernels/base/minus_infinity.hpp"
#include "kernels/factors/eisner_siblings.hpp"
#include "kernels/graph/arc_table.hpp"

namespace arcwise {

// Where the weights of siblings lie: 2^bits cells after those of the arcs.
struct SiblingTable {
  int bits = 20;

  size_t cells() const { return size_t{1} << bits; }
  uint32_t mask() const { return static_cast<uint32_t>(cells() - 1); }
};

// The words of a sentence as hashes of their tag and form, one for each role that a word may have.
class SiblingWords {
 public:
  // keep_word: as for ArcSentence::set.
  void set(const ArcTable& table, const ArcData& data, size_t sentence,
           const std::vector<uint8_t>& keep_word);
  int n() const { return static_cast<int>(words_.size()) - 1; }

  // visit(hash) for every feature of dependent m of h next to s, or s = h for the first one.
  template <typename Visit>
  void each(int h, int s, int m, Visit visit) const {
    each_of_pair(h, s, m, visit);
    each_with_head(h, s, m, visit);
  }
  // Those that do not depend on the head but for its side.
  template <typename Visit>
  void each_of_pair(int h, int s, int m, Visit visit) const {
    const Word &sibling = s == h ? none_ : words_[s], &modifier = words_[m];
    const uint32_t side = side_of(h, m), near = side ^ distance_of(h, s, m);
    visit(sibling.tag[SIBLING] ^ modifier.tag[MODIFIER] ^ side ^ salt(0));
    visit(sibling.tag[SIBLING] ^ modifier.tag[MODIFIER] ^ near ^ salt(1));
    visit(sibling.form[SIBLING] ^ modifier.tag[MODIFIER] ^ side ^ salt(2));
    visit(sibling.tag[SIBLING] ^ modifier.form[MODIFIER] ^ side ^ salt(3));
    visit(sibling.form[SIBLING] ^ modifier.form[MODIFIER] ^ side ^ salt(4));
  }
  template <typename Visit>
  void each_with_head(int h, int s, int m, Visit visit) const {
    const Word &head = words_[h], &sibling = s == h ? none_ : words_[s], &modifier = words_[m];
    const uint32_t side = side_of(h, m), tags = sibling.tag[SIBLING] ^ modifier.tag[MODIFIER] ^ side;
    visit(head.tag[HEAD] ^ tags ^ salt(5));
    visit(head.tag[HEAD] ^ tags ^ distance_of(h, s, m) ^ salt(6));
    visit(head.form[HEAD] ^ tags ^ salt(7));
    visit(head.tag[HEAD] ^ sibling.form[SIBLING] ^ modifier.tag[MODIFIER] ^ side ^ salt(8));
    visit(head.tag[HEAD] ^ sibling.tag[SIBLING] ^ modifier.form[MODIFIER] ^ side ^ salt(9));
  }

 private:
  enum Role { HEAD, SIBLING, MODIFIER, SIBLING_ROLES };
  struct Word {
    uint32_t tag[SIBLING_ROLES], form[SIBLING_ROLES];
  };

  static uint32_t hash_of(uint64_t a, uint64_t b) { return static_cast<uint32_t>(hash_pair(a, b) >> 32); }
  static uint32_t salt(uint32_t number) { return (number + 1) * 0x9E3779B1u; }
  static uint32_t side_of(int h, int m) { return h < m ? 0x85EBCA6Bu : 0; }
  // In bins of 1, 2, 3, 4, 5 to 10 and more; 0 for the first dependent.
  static uint32_t distance_of(int h, int s, int m) {
    const int distance = s == h ? 0 : std::abs(s - m);
    return static_cast<uint32_t>(distance <= 4 ? distance : distance <= 10 ? 5 : 6) * 0xC2B2AE35u;
  }
  static Word word_of(uint64_t tag, uint64_t form);

  std::vector<Word> words_;  // 0..n
  Word none_ = word_of(NO_SIBLING, NO_SIBLING);
  static constexpr uint64_t NO_SIBLING = ~uint64_t{0}, UNKNOWN = ~uint64_t{1};
};

// Scores of all siblings of a sentence by the sum of their features' weights, into rows whose arcs stand there already.
class SiblingScorer {
 public:
  void score(const SiblingTable& table, const float* weights, const SiblingWords& words, SiblingRows& rows);

 private:
  std::vector<float> pairs_;  // by sibling and modifier: their features without the head
};

// siblings[h,s,m] from the rows, (n+1)³; -inf where the arc is forbidden or no tree has such a pair.
void write_dense(SiblingRows& rows, std::vector<double>& siblings);

// Calls visit(h, s, m) for every adjacent pair of a tree, outward, with s = h for the first dependent of a side.
template <typename Visit>
void each_sibling(const int32_t* heads, int n, Visit visit) {
  for (int h = 0; h <= n; ++h)
    for (int step = h == 0 ? 1 : -1; step <= 1; step += 2)
      for (int m = h + step, s = h; m >= 1 && m <= n; m += step)
        if (heads[m] == h) {
          visit(h, s, m);
          s = m;
        }
}

}  // namespace arcwise
