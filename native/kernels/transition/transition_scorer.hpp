// The linear model of a transition-based parser: rows of weights, addressed by the hashes of templates.
//
//   score(move, label) = sum over move templates   of moves[hash][transition]
//                      + sum over label templates  of labels[hash, transition][label]
//
// All transitions of a pair of tokens are adjacent in memory, and so are all labels of an arc: a pair costs
// one pass over its rows.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/base/huge_pages.hpp"
#include "kernels/inference/taught_tree.hpp"
#include "kernels/learning/averaged_weights.hpp"
#include "kernels/transition/transition_features.hpp"
#include "kernels/transition/transition_state.hpp"

namespace arcwise {

// One of the two tables during training.
using AveragedTable = Averaged<Table<float>&, float>;

struct TransitionScorer {
  TransitionSystem system;
  std::vector<std::string> atom_names;
  std::vector<AtomSpec> atoms;
  int word_atom = 0;  // the atom that identifies a word: decides which words are unknown
  int tag_atom = 1;   // the atom whose values make up `between`
  Vocabulary vocabulary;
  TransitionTemplates move_templates, label_templates;
  int labels = 1;
  int root_label = -1;  // label of all arcs from the root and of no others; -1: no such label
  int move_bits = 20, label_bits = 16;
  bool distance_in_labels = false;  // D > 1: label templates also include the distance between the two places
  Table<float> moves, label_rows;

  int move_stride() const { return (static_cast<int>(system.transitions.size()) + 3) / 4 * 4; }
  int label_stride() const { return (labels + 7) / 8 * 8; }
  size_t move_row(uint64_t hash) const { return (hash >> (64 - move_bits)) * move_stride(); }
  size_t label_row(uint64_t hash, int transition) const {
    return ((hash * (2 * transition + 0x9E3779B97F4A7C15ULL)) >> (64 - label_bits)) * label_stride();
  }
};

// The atoms of a batch of sentences, computed once; gold heads and labels where known.
struct TransitionData {
  size_t atom_count = 0;
  std::vector<uint64_t> atoms;  // atom_count for each word
  std::vector<uint32_t> starts;
  std::vector<int32_t> heads;
  std::vector<int16_t> labels;
  std::vector<uint8_t> tags;
  std::vector<std::vector<GraphArc>> graphs;  // of DAG systems: gold arcs of each sentence
  TaughtArcs taught;                          // a teacher's targets, if any

  size_t sentences() const { return starts.empty() ? 0 : starts.size() - 1; }
  int words(size_t sentence) const { return static_cast<int>(starts[sentence + 1] - starts[sentence]); }
};

TransitionData transition_data(const TransitionScorer& scorer, const TreebankLayout& layout,
                               const char* data);

struct ScoredMove {
  Move move;
  float score;
};

// Scores the moves of one sentence at a time; one per thread. Caches the scores of pairs, because the states
// of a beam share most of them.
class MoveScorer {
 public:
  explicit MoveScorer(const TransitionScorer& scorer);

  // dropped[w] != 0: word w (from 0) counts as unknown; null: only words missing from the vocabulary do.
  void begin(const TransitionData& data, size_t sentence, const uint8_t* dropped);
  void forget();  // call after changing weights

  // Scores all legal moves; arcs with every label (`all_labels`) or only the best one.
  void score(const TransitionState& state, bool all_labels, std::vector<ScoredMove>& moves);
  float score(const TransitionState& state, const Move& move);
  // Scores the arcs of one pair with their best labels (easy-first).
  void score_pair(const TransitionState& state, int32_t a, int32_t b, int distance,
                  std::vector<ScoredMove>& moves);

  // Adds `step` to the weights of a move in a state; `moves` and `labels` average the scorer's weights.
  void update(const TransitionState& state, const Move& move, float step, AveragedTable& moves,
              AveragedTable& labels);
  // The places of a move's weights in the table of moves and in the table of labels.
  std::pair<std::vector<size_t>, std::vector<size_t>> weight_places(const TransitionState& state,
                                                                    const Move& move);

  const SentenceAtoms& sentence() const { return sentence_; }

 private:
  struct Entry {
    uint64_t signature = 0;
    uint32_t block = 0, labelled = 0;
  };
  struct Pair {
    int32_t a, b;
    int distance;
  };

  static Pair pair_of(const TransitionState& state, const Move& move);
  static std::optional<Pair> pushed_out(const TransitionState& state, const Move& move);
  float score_pushed_out(const TransitionState& state, const Move& move);
  Entry& entry(const TransitionState& state, const Pair& pair);
  const float* label_scores(Entry& entry, int transition);
  float* block(const Entry& e) { return blocks_.data() + e.block; }
  static void conjoin_distance(const PairContext& context, uint64_t* hashes, int count);
  void extract_moves(const PairContext& context);
  void extract_labels(const PairContext& context);
  template <typename OfMove, typename OfLabel>
  void for_each_weight(const TransitionState& state, const Move& move, OfMove of_move, OfLabel of_label);
  bool is_root_arc(const Move& move) const {
    const bool left = scorer_.system.transitions[move.transition].kind == MoveKind::left_arc;
    return (left ? move.right : move.left) == 0;
  }
  int best_label(const Move& move, const float* labels) const;
  void add_candidates(Entry& e, const Move& move, bool all_labels, std::vector<ScoredMove>& moves);
  void grow();

  const TransitionScorer& scorer_;
  std::vector<int> arc_index_;  // transition → index among arcs
  int arcs_ = 0, block_size_ = 0;
  bool conjoin_distance_, conjoin_in_labels_;
  SentenceAtoms sentence_{};
  std::vector<uint64_t> atoms_;
  std::vector<uint8_t> tags_;
  std::vector<uint64_t> move_hashes_, label_hashes_;
  int move_count_ = 0, label_count_ = 0;
  uint64_t labels_of_ = 0;  // signature that label_hashes_ belong to
  PairContext context_;
  std::vector<Entry> table_;
  std::vector<uint32_t> used_;
  std::vector<float> blocks_;
};

}  // namespace arcwise
