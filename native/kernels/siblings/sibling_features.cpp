#include "kernels/siblings/sibling_features.hpp"

namespace arcwise {

SiblingWords::Word SiblingWords::word_of(uint64_t tag, uint64_t form) {
  Word word;
  for (uint64_t role = 0; role < SIBLING_ROLES; ++role) {
    word.tag[role] = hash_of(tag, 2 * role);
    word.form[role] = hash_of(form, 2 * role + 1);
  }
  return word;
}

void SiblingWords::set(const ArcTable& table, const ArcData& data, size_t sentence,
                       const std::vector<uint8_t>& keep_word) {
  const size_t first = data.first(sentence);
  const int n = data.length(sentence), atom = table.templates.word_atom;
  words_.assign(1, word_of(table.root_tag(), table.root_tag()));
  for (int i = 0; i < n; ++i) {
    uint64_t form = UNKNOWN;
    if (atom >= 0) {
      const uint64_t word = data.atoms[(first + i) * data.atom_count + atom];
      const bool kept = keep_word.empty() ? table.vocabulary.count(word) > 0 : keep_word[i] != 0;
      if (kept) form = word;
    }
    words_.push_back(word_of(static_cast<uint64_t>(data.tags[first + i]), form));
  }
}

void SiblingScorer::score(const SiblingTable& table, const float* weights, const SiblingWords& words,
                          SiblingRows& rows) {
  const int n = words.n();
  const size_t side = n + 1;
  const uint32_t mask = table.mask();
  auto sum_of = [&](auto each) {
    float total = 0;
    each([&](uint32_t hash) { total += weights[hash & mask]; });
    return total;
  };
  // The first dependents of a side have none before them, whatever the head is.
  pairs_.resize(side * side + 2 * side);
  float* first = pairs_.data() + side * side;
  for (int m = 1; m <= n; ++m) {
    for (int s = 1; s <= n; ++s)
      if (s != m)  // the head is beyond s
        pairs_[s * side + m] =
            sum_of([&](auto visit) { words.each_of_pair(s < m ? s - 1 : s + 1, s, m, visit); });
    first[m] = sum_of([&](auto visit) { words.each_of_pair(m - 1, m - 1, m, visit); });
    first[side + m] = sum_of([&](auto visit) { words.each_of_pair(m + 1, m + 1, m, visit); });
  }
  for (int h = 0; h <= n; ++h)
    for (int m = 1; m <= n; ++m) {
      if (m == h || rows.arcs[rows.cell(h, m)] == MINUS_INFINITY) continue;
      auto with_head = [&](int s) {
        return sum_of([&](auto visit) { words.each_with_head(h, s, m, visit); });
      };
      rows.first[rows.cell(h, m)] = first[(h < m ? 0 : side) + m] + with_head(h);
      double* inner = rows.inner(h, m);
      for (int s = std::min(h, m) + 1; s < std::max(h, m); ++s)
        inner[s] = pairs_[s * side + m] + with_head(s);
    }
}

void write_dense(SiblingRows& rows, std::vector<double>& siblings) {
  const int n = rows.n;
  const int64_t side = n + 1;
  siblings.assign(side * side * side, MINUS_INFINITY);
  for (int h = 0; h <= n; ++h)
    for (int m = 1; m <= n; ++m) {
      if (m == h || rows.arcs[rows.cell(h, m)] == MINUS_INFINITY) continue;
      siblings[(h * side + h) * side + m] = rows.first[rows.cell(h, m)];
      const double* inner = rows.inner(h, m);
      for (int s = std::min(h, m) + 1; s < std::max(h, m); ++s)
        siblings[(h * side + s) * side + m] = inner[s];
    }
}

}  // namespace arcwise
