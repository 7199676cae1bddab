// Maximum spanning arborescences: the best non-projective trees.
//
// Edmonds (1967) by growing one path of best incoming arcs and contracting each cycle it closes (Tarjan 1977,
// Gabow et al. 1986), on dense rows: a contracted cycle gets a separate row, so contraction only merges rows
// and the whole costs O(n²).
//
// Single root is exact and costs nothing extra. Order trees lexicographically by (fewer root arcs, higher
// score): the algorithm is correct for any ordered group of weights, and cycles never contain a root arc, so
// in this order a vertex takes its root arc only when no other arc enters it. The optimum is that of Gabow &
// Tarjan (1984) and Zmigrod, Vieira & Cotterell (2020), without a search over root arcs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace arcwise {

// The contraction of one sentence. Vertices 1..n are the words, n+1.. the contracted cycles in order of
// creation.
class SpanningTreeWorkspace {
 public:
  // The arc of the best tree that is cheapest to give up, and its cost; infinite if there is only one tree.
  struct Swap {
    int head = -1, modifier = -1;
    double loss = std::numeric_limits<double>::infinity();
  };

  // Loads the scores as rows of incoming arcs.
  void load(const double* scores, int n, bool single_root);
  void forbid(int head, int modifier);
  void require(int head, int modifier);
  // Chooses an incoming arc for every vertex, contracting cycles; returns false if there is no tree.
  // words_have_arcs: take_greedy_arcs() has already chosen for the words.
  bool contract(bool words_have_arcs);
  // Writes the best tree, after contract().
  void expand(int32_t* heads);
  // After expand(heads): the best tree without the returned arc is the second best tree (Camerini et al.
  // 1980).
  Swap cheapest_swap(const int32_t* heads);
  // Chooses the best arc into each word on its own; returns true if they form a tree of the class, which is
  // then the best one.
  bool greedy(const double* scores, int n, bool single_root, int32_t* heads);
  void take_greedy_arcs(const double* scores);

 private:
  enum class State : uint8_t { unseen, on_path, done, contracted };

  double* row(int v) { return &rows_[static_cast<size_t>(v) * stride_]; }
  int first_child(int cycle) const { return first_child_[cycle - n_ - 1]; }
  int last_child(int cycle) const { return first_child_[cycle - n_]; }
  void begin();
  void choose_arc(int v);
  bool grow_path(int start);
  int contract_cycle(size_t start);
  void merge_rows(int cycle);
  double second_in_column(int v, int head);
  double best_replacement(int v, int word);
  void number_subtrees(const int32_t* heads);

  int n_ = 0;
  size_t stride_ = 0;
  bool single_root_ = false, root_arc_taken_ = false, words_have_arcs_ = false;
  int vertices_ = 0;                  // 1 + words + cycles so far
  std::vector<double> rows_;          // row(v)[h]: reduced score of the best arc from word h (0: root) into v
  std::vector<double> best_;          // the reduced score of the arc chosen for v
  std::vector<int32_t> head_;         // tail of the arc chosen for v
  std::vector<int64_t> outermost_;    // the outermost vertex that contains each word
  std::vector<int32_t> children_;     // the members of the cycles, concatenated
  std::vector<int32_t> first_child_;  // where each cycle's members start in it
  std::vector<int32_t> entry_;        // the word by which the best tree enters v
  std::vector<uint8_t> is_entry_;     // whether the best tree enters v's cycle through v
  std::vector<int32_t> path_;
  std::vector<State> state_;
  std::vector<int32_t> enter_,
      leave_;  // word d is below word m in the best tree if enter[m] <= enter[d] < leave[m]
  std::vector<int32_t> first_free_;
  std::vector<double> greedy_best_;
  std::vector<int64_t> greedy_head_;
};

// The best tree and its score; -inf if there is none (heads are then undefined). O(n²).
double spanning_tree_decode(const double* scores, int n, bool single_root, int32_t* heads,
                            SpanningTreeWorkspace& workspace);

// Writes the k best distinct trees, best first: heads has space for k rows of n+1, values for k scores.
// Returns their number, at most k. Camerini, Fratta & Maffioli 1980; Zmigrod, Vieira & Cotterell 2021. O(k
// n²).
int spanning_tree_k_best(const double* scores, int n, bool single_root, int k, int32_t* heads, double* values,
                         SpanningTreeWorkspace& workspace);

}  // namespace arcwise
