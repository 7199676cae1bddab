// The weight table of the graph-based parser: training data, the table's layout, and the places of an arc's
// features in it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/features/arc_templates.hpp"
#include "kernels/inference/arc_states.hpp"
#include "kernels/inference/known_tree.hpp"
#include "kernels/inference/taught_tree.hpp"

namespace arcwise {

// A treebank in the form used by the trainers and the parser: atoms, tags, heads and labels of all words,
// flat.
struct ArcData {
  size_t atom_count = 0;
  std::vector<uint64_t> atoms;           // words × atom_count
  std::vector<AtomLists> lists;          // of ArcTemplates::lists
  std::vector<int32_t> tags;             // of each word; `ArcTable::tags` if the tag is unknown
  std::vector<int32_t> heads;            // -1 where unknown
  std::vector<int32_t> labels;           // -1 where unknown
  std::vector<uint32_t> sentence_words;  // S+1
  TaughtArcs taught;                     // targets of a teacher, if any; losses then use them

  size_t sentences() const { return sentence_words.size() - 1; }
  size_t first(size_t sentence) const { return sentence_words[sentence]; }
  int length(size_t sentence) const {
    return static_cast<int>(sentence_words[sentence + 1] - sentence_words[sentence]);
  }
  // Collects the known heads and labels of a sentence.
  void known_tree(size_t sentence, KnownTree& tree) const {
    tree.set(heads.data() + first(sentence), labels.data() + first(sentence), length(sentence));
  }
  TaughtTree taught_tree(size_t sentence) const { return taught.of(first(sentence), length(sentence)); }
  // Whether the loss of a sentence uses a teacher's targets instead of its tree.
  bool is_taught(size_t sentence) const { return !taught.empty() && !taught_tree(sentence).empty(); }
};

// Everything of an arc-factored model except the weights: templates, vocabulary, salts, tags. The states of
// an arc depend on its class (the tags of its ends and its direction); the sets of `states` are the classes.
struct ArcTable {
  ArcTemplates templates;
  Vocabulary vocabulary;  // of the word atom
  ContextSalts salts;
  int tags = 0;  // known tags are 0..tags-1, unknown is `tags`, the root is tags+1
  int arc_bits = 22, row_bits = 22;
  ArcStates states;  // one label set per class; then, per class, a set of all legal labels, its own first
  // The label of all arcs from the root and of no other arc, or -1: the only label in the sets of root
  // classes, and absent from all other sets.
  int root_label = -1;
  std::vector<uint16_t> reach;  // by class: longest distance at which its arcs are scored by their features
  std::vector<float> novelty;   // by class: estimated P(a label is not in its set); 1 if the class is unseen
  double unseen = UNTOLD;       // estimated P(the head of a word is beyond reach)

  static constexpr uint16_t ANY_DISTANCE = 65535;
  static constexpr double UNTOLD = 0.002;  // default for models saved before these estimates existed

  int root_tag() const { return tags + 1; }
  int classes() const { return (tags + 2) * (tags + 2) * 2; }
  int class_of(int head_tag, int modifier_tag, int direction) const {
    return (head_tag * (tags + 2) + modifier_tag) * 2 + direction;
  }
  uint32_t class_salt(int arc_class) const { return static_cast<uint32_t>(arc_class + 1) * 0x9E3779B1u; }

  // Without latent clusters, cell 0 of a row belongs to the arc; with clusters, every cell belongs to one.
  bool shared_cell() const { return states.clusters == 1; }
  // The cell of a state in a row of a word pair, and in a row of one word; -1 if it has no separate cell.
  int row_cell(int state) const { return !shared_cell() ? state : states.labels == 0 ? -1 : 1 + state; }
  int side_cell(int arc_class, int state) const {
    if (states.labels == 0) return shared_cell() ? -1 : state;
    int label = states.label_of(arc_class, state);
    return shared_cell() ? 1 + label : label * states.clusters + state % states.clusters;
  }
  int side_width() const {
    return shared_cell() ? 1 + states.labels : (states.labels == 0 ? 1 : states.labels) * states.clusters;
  }
  int row_width(int arc_class) const {
    return shared_cell() ? (states.labels == 0 ? 1 : 1 + states.count(arc_class)) : states.count(arc_class);
  }

  // Layout: 2^arc_bits cells of arc templates, then 2^row_bits cells of rows, then space for the last row.
  uint32_t arc_mask() const { return (uint32_t{1} << arc_bits) - 1; }
  uint32_t row_mask() const {
    uint32_t mask = (uint32_t{1} << row_bits) - 1;
    return side_width() == 1 ? mask : mask & ~7u;  // rows start at multiples of 8
  }
  size_t row_start() const { return size_t{1} << arc_bits; }
  size_t cells() const { return row_start() + (size_t{1} << row_bits) + padded(side_width()); }
  static size_t padded(size_t width) { return (width + 7) / 8 * 8; }

  // Whether an arc is scored by its features.
  bool reaches(int arc_class, int head, int distance) const {
    return reach[arc_class] >= length_of(head, distance);
  }
  // The length of an arc for `reach`: all arcs of the root have length 1.
  static int length_of(int head, int distance) {
    return head == 0 ? 1 : std::min<int>(distance, ANY_DISTANCE);
  }

  // Learns from the gold arcs which labels and lengths each class has. restricted: a class has the labels
  // seen with it; an unseen class has those of its modifier's tag, or else all. Otherwise every class has all
  // labels. The reach of a class is the length of its longest gold arc if the words with known heads had at
  // least `enough` longer candidate arcs of the class; otherwise it is unlimited.
  void learn_classes(const ArcData& data, bool restricted, int64_t enough, int only_root_label);
  // Sets the classes from a model file. novelty may be empty.
  void set_classes(std::vector<uint32_t> label_starts, std::vector<uint16_t> label_ids,
                   std::vector<uint16_t> reached, std::vector<float> label_novelty, double unseen_share,
                   int only_root_label);
  bool never_seen(int arc_class) const { return novelty[arc_class] >= 1; }
  // The set of all legal labels, those of the class first; and the number of labels outside its own set.
  int all_labels(int arc_class) const { return classes() + arc_class; }
  int unseen_labels(int arc_class) const {
    return states.labels == 0
               ? 0
               : (states.count(all_labels(arc_class)) - states.count(arc_class)) / states.clusters;
  }
  bool is_root_class(int arc_class) const { return arc_class / 2 / (tags + 2) == root_tag(); }
  // Whether arcs of a class may have a label.
  bool is_legal(int arc_class, int label) const {
    return root_label < 0 || (label == root_label) == is_root_class(arc_class);
  }

 private:
  void learn_labels(const ArcData& data, bool restricted);
  void learn_reach(const ArcData& data, int64_t enough);
  void add_all_labels();
};

// One sentence, prepared for scoring.
struct ArcSentence {
  SentenceHashes hashes;
  std::vector<int32_t> tags;  // 0..n; tags[0] is the root's

  int n() const { return hashes.n(); }
  int class_of(const ArcTable& table, int head, int modifier) const {
    return table.class_of(tags[head], tags[modifier], direction_of(head, modifier));
  }
  void set(const ArcTable& table, const ArcData& data, size_t sentence,
           const std::vector<uint8_t>& keep_word);
  BetweenTags between(int head, int modifier) const;
};

// Visits the table places of two-sided features: visit_cell(place) for a label-independent cell,
// visit_row(place) for the first cell of a row over the states.
template <typename VisitCell, typename VisitRow>
void pair_places(const ArcTable& table, const ArcSentence& sentence, int h, int m, VisitCell visit_cell,
                 VisitRow visit_row) {
  const ArcTemplates& templates = table.templates;
  const SentenceHashes& hashes = sentence.hashes;
  const uint32_t *head = hashes.head(h), *modifier = hashes.modifier(m);
  int direction = direction_of(h, m), bin = distance_bin(h < m ? m - h : h - m);
  uint32_t class_salt = table.class_salt(sentence.class_of(table, h, m));
  uint32_t rows = static_cast<uint32_t>(table.row_start());
  auto cell = [&](uint32_t hash) { visit_cell(hash & table.arc_mask()); };
  auto row = [&](uint32_t hash) { visit_row(rows + ((hash ^ class_salt) & table.row_mask())); };
  for (int c = 0; c < CONTEXTS; ++c) {
    uint32_t salt = table.salts.of(static_cast<Context>(c), direction, bin);
    for (uint16_t p : templates.arc_pairs[c]) cell(head[p] ^ modifier[p] ^ salt);
    for (uint16_t p : templates.row_pairs[c]) row(head[p] ^ modifier[p] ^ salt);
  }
  if (!templates.arc_between.empty() || !templates.row_between.empty()) {
    BetweenTags tags = sentence.between(h, m);
    for (const auto& b : templates.arc_between)
      between_features(b, head[b.pair] ^ modifier[b.pair] ^ table.salts.of(b.context, direction, bin), hashes,
                       h, m, tags, table.salts, cell);
    for (const auto& b : templates.row_between)
      between_features(b, head[b.pair] ^ modifier[b.pair] ^ table.salts.of(b.context, direction, bin), hashes,
                       h, m, tags, table.salts, row);
  }
}

// Visits the table places of one-sided features, shared by all arcs of the word in that role and direction:
// visit_cell(place) for a label-independent cell, visit_side(place) for a row over all labels.
template <typename VisitCell, typename VisitSide>
void side_places(const ArcTable& table, const ArcSentence& sentence, Role role, int word, int direction,
                 VisitCell visit_cell, VisitSide visit_side) {
  const ArcTemplates& templates = table.templates;
  const uint32_t* cells = sentence.hashes.arc_sides(role, word, direction);
  for (size_t t = 0; t < templates.arc_sides[role].size(); ++t) visit_cell(cells[t] & table.arc_mask());
  const uint32_t* sides = sentence.hashes.row_sides(role, word, direction);
  uint32_t rows = static_cast<uint32_t>(table.row_start());
  for (size_t t = 0; t < templates.row_sides[role].size(); ++t)
    visit_side(rows + (sides[t] & table.row_mask()));
}

// Visits the table places of all features of an arc.
template <typename VisitCell, typename VisitRow, typename VisitSide>
void arc_places(const ArcTable& table, const ArcSentence& sentence, int h, int m, VisitCell visit_cell,
                VisitRow visit_row, VisitSide visit_side) {
  pair_places(table, sentence, h, m, visit_cell, visit_row);
  int direction = direction_of(h, m);
  side_places(table, sentence, HEAD_ROLE, h, direction, visit_cell, visit_side);
  side_places(table, sentence, MODIFIER_ROLE, m, direction, visit_cell, visit_side);
}

// The number of distinct features of the gold arcs and of distinct places they occupy; the difference is lost
// to collisions. Features are distinguished by 28 bits of their hash.
struct FeatureCount {
  size_t features, places;
};
FeatureCount count_features(const ArcTable& table, const ArcData& data, int threads = 1);

// Calls visit(place) for every cell that contributes to arc (h, m) in the given state.
template <typename Visit>
void state_places(const ArcTable& table, const ArcSentence& sentence, int h, int m, int state, Visit visit) {
  int arc_class = sentence.class_of(table, h, m);
  int row_cell = table.row_cell(state), side_cell = table.side_cell(arc_class, state);
  bool shared = table.shared_cell();
  arc_places(
      table, sentence, h, m, visit,
      [&](uint32_t row) {
        if (shared) visit(row);
        if (row_cell >= 0) visit(row + row_cell);
      },
      [&](uint32_t row) {
        if (shared) visit(row);
        if (side_cell >= 0) visit(row + side_cell);
      });
}

}  // namespace arcwise
