#include "kernels/graph/arc_scorer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/base/interruption.hpp"

namespace arcwise {
namespace {

// Eight cells, held in registers by the compiler.
template <typename Real>
struct EightCells {
  typedef Real Values __attribute__((vector_size(8 * sizeof(Real))));

  static Values at(const Real* cells) {
    Values values;
    std::memcpy(&values, cells, sizeof values);
    return values;
  }
};

template <typename Real>
struct alignas(32) ZeroBlock {
  Real cells[8] = {};
};

// The rows of one kind of arc features: their base address and the hashes of the arc's two words.
template <typename Real>
struct Rows {
  const Real* cells;
  const KnownZeros* zeros;
  uint32_t mask, salt;
  const uint32_t *head, *modifier;
  const std::vector<uint16_t>& pairs;
};

// sum[0..8*BLOCKS) += the row at each place, from block `first` on. All sums stay in registers, so that the
// cache misses of the rows overlap. Groups that are all zero are read from one fixed cached place instead.
template <int BLOCKS, bool SPARSE, typename Real>
void add_rows(const Rows<Real>& rows, int first, Real* sum) {
  using Eight = EightCells<Real>;
  static const ZeroBlock<Real> zero;
  typename Eight::Values kept[BLOCKS];
  std::memcpy(kept, sum, sizeof kept);
  for (uint16_t p : rows.pairs) {
    const uint32_t at = ((rows.head[p] ^ rows.modifier[p] ^ rows.salt) & rows.mask) + 8 * first;
    for (int b = 0; b < BLOCKS; ++b) {
      const Real* row = rows.cells + at + 8 * b;
      if constexpr (SPARSE) {
        const uint32_t group = at / 8 + b;
        row = rows.zeros->groups[group / 64] >> (group % 64) & 1 ? row : zero.cells;
      }
      kept[b] += Eight::at(row);
    }
  }
  std::memcpy(sum, kept, sizeof kept);
}

constexpr int MOST_BLOCKS = 8;

// The same for any number of blocks, in chunks of at most MOST_BLOCKS.
template <bool SPARSE, typename Real>
void add_all_rows(const Rows<Real>& rows, int blocks, Real* sum) {
  using Add = void (*)(const Rows<Real>&, int, Real*);
  static constexpr Add ADD[MOST_BLOCKS] = {&add_rows<1, SPARSE, Real>, &add_rows<2, SPARSE, Real>,
                                           &add_rows<3, SPARSE, Real>, &add_rows<4, SPARSE, Real>,
                                           &add_rows<5, SPARSE, Real>, &add_rows<6, SPARSE, Real>,
                                           &add_rows<7, SPARSE, Real>, &add_rows<8, SPARSE, Real>};
  for (int first = 0; first < blocks; first += MOST_BLOCKS)
    ADD[std::min(blocks - first, MOST_BLOCKS) - 1](rows, first, sum + 8 * first);
}

// Sums the cells of label-independent features. Cells known to be zero are redirected to one fixed cached
// cell, which avoids a branch.
template <bool SPARSE, typename Real>
struct ArcCells {
  const Real* cells;
  const KnownZeros* zeros;
  uint32_t mask;

  Real at(uint32_t hash) const {
    uint32_t place = hash & mask;
    if constexpr (SPARSE) {
      const bool occupied = zeros->cells[place / 64] >> (place % 64) & 1;
      place ^= (place ^ zeros->zero_cell) & (static_cast<uint32_t>(occupied) - 1);
    }
    return cells[place];
  }

  Real sum(const uint32_t* head, const uint32_t* modifier, const std::vector<uint16_t>& pairs,
           uint32_t salt) const {
    Real even = 0, odd = 0;
    size_t i = 0;
    for (; i + 2 <= pairs.size(); i += 2) {
      even += at(head[pairs[i]] ^ modifier[pairs[i]] ^ salt);
      odd += at(head[pairs[i + 1]] ^ modifier[pairs[i + 1]] ^ salt);
    }
    if (i < pairs.size()) even += at(head[pairs[i]] ^ modifier[pairs[i]] ^ salt);
    return even + odd;
  }
};

}  // namespace

UnseenScores::UnseenScores(const ArcTable& table, double heads_temperature, double labels_temperature,
                           bool trained_by_margins)
    : temperature(heads_temperature),
      // At temperatures below 1 unseen arcs keep their distance in score: a very low temperature (fitted on
      // data without errors) would otherwise move them next to the best arc and change the best tree.
      arc(std::max(heads_temperature, 1.0) * std::log(table.unseen)),
      labels(table.classes(), 0),
      margins(trained_by_margins) {
  for (int c = 0; c < table.classes(); ++c)
    if (int others = table.unseen_labels(c) * table.states.clusters; others > 0)
      labels[c] = std::max(heads_temperature, labels_temperature) *
                  std::log(std::clamp<double>(table.novelty[c], LEAST, MOST) / others);
}

template <typename Real>
void ArcScorer<Real>::sum_sides(const ArcTable& table, const Real* weights, const ArcSentence& sentence) {
  size_t width = ArcTable::padded(table.side_width());
  const Real* rows = weights + table.row_start();
  for (int role = 0; role < ROLES; ++role) {
    side_rows[role].assign((sentence.n() + 1) * 2 * width, 0);
    side_cells[role].assign((sentence.n() + 1) * 2, 0);
    for (int word = 0; word <= sentence.n(); ++word)
      for (int direction = 0; direction < 2; ++direction) {
        Real* into = &side_rows[role][(word * 2 + direction) * width];
        const uint32_t* places = sentence.hashes.row_sides(static_cast<Role>(role), word, direction);
        for (size_t t = 0; t < table.templates.row_sides[role].size(); ++t) {
          const Real* row = rows + (places[t] & table.row_mask());
          for (size_t i = 0; i < width; ++i) into[i] += row[i];
        }
        const uint32_t* cells = sentence.hashes.arc_sides(static_cast<Role>(role), word, direction);
        for (size_t t = 0; t < table.templates.arc_sides[role].size(); ++t)
          side_cells[role][word * 2 + direction] += weights[cells[t] & table.arc_mask()];
      }
  }
}

// The contribution of the two-sided features of an arc, except for its labels.
template <typename Real>
template <bool SPARSE>
Real ArcScorer<Real>::arc_alone(const ArcTable& table, const Real* weights, const ArcSentence& sentence,
                                int h, int m, const BetweenTags& between) const {
  const ArcTemplates& templates = table.templates;
  const ArcCells<SPARSE, Real> cells{weights, zeros, table.arc_mask()};
  const uint32_t *head = sentence.hashes.head(h), *modifier = sentence.hashes.modifier(m);
  const int direction = direction_of(h, m), bin = distance_bin(std::abs(h - m));
  Real arc = 0;
  for (int c = 0; c < CONTEXTS; ++c)
    arc += cells.sum(head, modifier, templates.arc_pairs[c],
                     table.salts.of(static_cast<Context>(c), direction, bin));
  for (const auto& b : templates.arc_between)
    between_features(b, head[b.pair] ^ modifier[b.pair] ^ table.salts.of(b.context, direction, bin),
                     sentence.hashes, h, m, between, table.salts,
                     [&](uint32_t hash) { arc += cells.at(hash); });
  return arc;
}

template <typename Real>
void ArcScorer<Real>::score_arc(const ArcTable& table, const Real* weights, const ArcSentence& sentence,
                                int h, int m, int arc_class, const BetweenTags& between, Real* values) {
  const ArcTemplates& templates = table.templates;
  const uint32_t *head = sentence.hashes.head(h), *modifier = sentence.hashes.modifier(m);
  int direction = direction_of(h, m), bin = distance_bin(std::abs(h - m));
  const Real* rows = weights + table.row_start();
  uint32_t class_salt = table.class_salt(arc_class), row_mask = table.row_mask();
  int width = table.row_width(arc_class), blocks = (width + 7) / 8;
  std::fill(sum.begin(), sum.begin() + blocks * 8, Real{0});

  const bool sparse_cells = zeros && !zeros->cells.empty(), sparse_rows = zeros && !zeros->groups.empty();
  Real arc = sparse_cells ? arc_alone<true>(table, weights, sentence, h, m, between)
                          : arc_alone<false>(table, weights, sentence, h, m, between);
  for (int c = 0; c < CONTEXTS; ++c) {
    const uint32_t salt = table.salts.of(static_cast<Context>(c), direction, bin) ^ class_salt;
    const Rows<Real> own{rows, zeros, row_mask, salt, head, modifier, templates.row_pairs[c]};
    sparse_rows ? add_all_rows<true>(own, blocks, sum.data()) : add_all_rows<false>(own, blocks, sum.data());
  }
  for (const auto& b : templates.row_between)
    between_features(b, head[b.pair] ^ modifier[b.pair] ^ table.salts.of(b.context, direction, bin),
                     sentence.hashes, h, m, between, table.salts, [&](uint32_t hash) {
                       const Real* row = rows + ((hash ^ class_salt) & row_mask);
                       for (int i = 0; i < blocks * 8; ++i) sum[i] += row[i];
                     });

  size_t side_width = ArcTable::padded(table.side_width());
  const Real* head_side = &side_rows[HEAD_ROLE][(h * 2 + direction) * side_width];
  const Real* modifier_side = &side_rows[MODIFIER_ROLE][(m * 2 + direction) * side_width];
  arc += side_cells[HEAD_ROLE][h * 2 + direction] + side_cells[MODIFIER_ROLE][m * 2 + direction];
  int count = table.states.count(arc_class);
  if (!table.shared_cell()) {
    for (int s = 0; s < count; ++s) {
      int side = table.side_cell(arc_class, s);
      values[s] = arc + sum[s] + head_side[side] + modifier_side[side];
    }
    return;
  }
  arc += sum[0] + head_side[0] + modifier_side[0];
  if (table.states.labels == 0) {
    values[0] = arc;
    return;
  }
  const uint16_t* labels = &table.states.set_labels[table.states.set_starts[arc_class]];
  for (int s = 0; s < count; ++s)
    values[s] = arc + sum[1 + s] + head_side[1 + labels[s]] + modifier_side[1 + labels[s]];
}

// The contribution of the one-sided features to the labels of an arc.
template <typename Real>
void ArcScorer<Real>::score_labels(const ArcTable& table, int h, int m, int arc_class, Real* values) const {
  const int direction = direction_of(h, m), count = table.states.count(arc_class);
  const size_t width = ArcTable::padded(table.side_width());
  const Real* head_side = &side_rows[HEAD_ROLE][(h * 2 + direction) * width];
  const Real* modifier_side = &side_rows[MODIFIER_ROLE][(m * 2 + direction) * width];
  for (int s = 0; s < count; ++s) {
    const int cell = table.side_cell(arc_class, s);
    values[s] = cell < 0 ? 0 : head_side[cell] + modifier_side[cell];
  }
}

template <typename Real>
void ArcScorer<Real>::lower_labels(const ArcTable& table, int arc_class, const UnseenScores& unseen,
                                   Real* values) const {
  const int count = table.states.count(arc_class), clusters = table.states.clusters;
  if (!unseen.margins || table.states.labels == 0 || count == clusters) return;
  const int best_label = static_cast<int>(std::max_element(values, values + count) - values) / clusters;
  const auto by = static_cast<Real>(unseen.lowered(count / clusters));
  for (int s = 0; s < count; ++s)
    if (s / clusters != best_label) values[s] += by;
}

// Adds an arc; score(values) fills in the states of its class. With every_label, labels never seen with the
// class are scored relative to the best one.
template <typename Real>
template <typename Score>
void ArcScorer<Real>::add_arc(const ArcTable& table, int h, int m, int arc_class, const ArcMask& mask,
                              ArcScores<Real>& out, Score score) {
  if (!mask.every_label) return score(out.add(h, m, arc_class));
  add_every_label(table, h, m, arc_class, *mask.unseen, out, score);
}

template <typename Real>
template <typename Score>
void ArcScorer<Real>::add_every_label(const ArcTable& table, int h, int m, int arc_class,
                                      const UnseenScores& unseen, ArcScores<Real>& out, Score score) const {
  if (table.unseen_labels(arc_class) == 0) return score(out.add(h, m, arc_class));
  const int full = table.all_labels(arc_class), own = table.states.count(arc_class),
            all = table.states.count(full);
  Real* values = out.add(h, m, full);
  out.arcs[h * (out.n + 1) + m].tied = all - own;
  score(values);
  const Real other = *std::max_element(values, values + own) + static_cast<Real>(unseen.labels[arc_class]);
  std::fill(values + own, values + all, other);
}

template <typename Real>
void ArcScorer<Real>::add_every_label(const ArcTable& table, const UnseenScores& unseen,
                                      const ArcScores<Real>& scores, int h, int m,
                                      ArcScores<Real>& out) const {
  const Real* values = scores.of(h, m);
  const int arc_class = scores.arc(h, m).set;
  add_every_label(table, h, m, arc_class, unseen, out,
                  [&](Real* to) { std::copy_n(values, table.states.count(arc_class), to); });
}

// The largest gap between the best arc of a word and another of its arcs, over the arcs scored so far.
template <typename Real>
Real ArcScorer<Real>::widest_choice(const ArcScores<Real>& scored) const {
  Real widest = 0;
  for_each_arc(scored, [&](int, int m, int, const Real* values, int count) {
    widest = std::max(widest, best[m] - *std::max_element(values, values + count));
  });
  return widest;
}

// Scores the arcs beyond reach, each below the best arc of its word. For a word without other arcs, all are
// scored by their features.
template <typename Real>
void ArcScorer<Real>::add_beyond(const ArcTable& table, const Real* weights, const ArcSentence& sentence,
                                 const ArcMask& mask, ArcScores<Real>& out) {
  constexpr Real none = -std::numeric_limits<Real>::infinity();
  below.assign(best.size(), none);
  const Real widest = mask.unseen->margins ? widest_choice(out) : 0;
  for (size_t m = 1; m < best.size(); ++m)
    if (beyond_count[m] > 0)
      below[m] = best[m] + std::min(static_cast<Real>(mask.unseen->one_arc_of(beyond_count[m])), -widest);
  for (const auto& [h, m, arc_class] : beyond) {
    const int head = h, modifier = m, own_class = arc_class;
    add_arc(table, h, m, arc_class, mask, out, [&](Real* values) {
      if (best[modifier] == none) {
        score_arc(table, weights, sentence, head, modifier, own_class, sentence.between(head, modifier),
                  values);
        if (table.never_seen(own_class)) lower_labels(table, own_class, *mask.unseen, values);
        return;
      }
      score_labels(table, head, modifier, own_class, values);
      const int count = table.states.count(own_class);
      const Real shift = below[modifier] - *std::max_element(values, values + count);
      for (int s = 0; s < count; ++s) values[s] += shift;
      lower_labels(table, own_class, *mask.unseen, values);
    });
  }
}

template <typename Real>
void ArcScorer<Real>::score(const ArcTable& table, const Real* weights, const ArcSentence& sentence,
                            const ArcMask& mask, ArcScores<Real>& out) {
  int n = sentence.n();
  out.start(table.states, n);
  sum.resize(ArcTable::padded(table.side_width()) + 8);
  sum_sides(table, weights, sentence);
  best.assign(n + 1, -std::numeric_limits<Real>::infinity());
  beyond.clear();
  beyond_count.assign(n + 1, 0);
  BetweenTags between;
  for (int h = 0; h <= n; ++h) {
    check_work_limit(h);
    for (int step = h == 0 ? 1 : -1; step <= 1; step += 2) {
      between.clear();
      for (int m = h + step; m >= 1 && m <= n; m += step) {
        if (m - step != h) between.add(sentence.tags[m - step], sentence.hashes.frequent_rank(m - step));
        int arc_class = sentence.class_of(table, h, m);
        if (mask.required && mask.required[m] >= 0) {
          if (mask.required[m] != h) continue;
        } else if (mask.filtered && !table.reaches(arc_class, h, std::abs(h - m))) {
          beyond.push_back({h, m, arc_class});
          ++beyond_count[m];
          continue;
        }
        add_arc(table, h, m, arc_class, mask, out, [&](Real* values) {
          score_arc(table, weights, sentence, h, m, arc_class, between, values);
          if (mask.unseen && table.never_seen(arc_class))
            lower_labels(table, arc_class, *mask.unseen, values);
          best[m] = std::max(best[m], *std::max_element(values, values + table.states.count(arc_class)));
        });
      }
    }
  }
  if (mask.unseen) add_beyond(table, weights, sentence, mask, out);
}

namespace {

// One bit per 8 cells of rows; 0 if all are zero.
std::vector<uint64_t> occupied_groups(const ArcTable& table, const float* weights) {
  size_t groups = (table.cells() - table.row_start()) / 8;
  std::vector<uint64_t> bits(groups / 64 + 2, 0);
  for (size_t group = 0; group < groups; ++group) {
    const float* cells = weights + table.row_start() + 8 * group;
    if (std::any_of(cells, cells + 8, [](float w) { return w != 0; }))
      bits[group / 64] |= uint64_t{1} << group % 64;
  }
  return bits;
}

// One bit per cell of label-independent features; 0 if it is zero.
std::vector<uint64_t> occupied_cells(const ArcTable& table, const float* weights) {
  std::vector<uint64_t> bits(table.row_start() / 64 + 1, 0);
  for (size_t cell = 0; cell < table.row_start(); ++cell)
    if (weights[cell] != 0) bits[cell / 64] |= uint64_t{1} << cell % 64;
  return bits;
}

double share_of_ones(const std::vector<uint64_t>& bits) {
  size_t ones = 0;
  for (uint64_t own : bits) ones += static_cast<size_t>(std::popcount(own));
  return static_cast<double>(ones) / (64.0 * static_cast<double>(bits.size()));
}

}  // namespace

KnownZeros::KnownZeros(const ArcTable& table, const float* weights)
    : groups(occupied_groups(table, weights)), cells(occupied_cells(table, weights)) {
  constexpr double MOST_GROUPS = 0.9, MOST_CELLS = 0.5;
  if (share_of_ones(groups) > MOST_GROUPS) groups.clear();
  if (share_of_ones(cells) > MOST_CELLS) cells.clear();
  zero_cell = static_cast<uint32_t>(std::find(weights, weights + table.row_start(), 0.0f) - weights);
}

template struct ArcScorer<float>;
template struct ArcScorer<double>;

}  // namespace arcwise
