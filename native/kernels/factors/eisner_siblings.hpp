// Projective trees with scores of adjacent siblings (McDonald & Pereira 2006): Eisner's chart with one more kind of item. It gives the
// answers of HeadGrammar (grammars.hpp) without automata, with vectorised inner sums.
//
// arcs is (n+1)×(n+1), siblings (n+1)×(n+1)×(n+1): siblings[h,s,m] scores dependent m of h next to s, the dependent before it on the
// same side, or s = h for the first one. -inf forbids. Entries that no tree uses may hold anything. Where no tree exists the value is
// -inf, and NaN if a score that a tree can use is NaN or above LARGEST_SCORE. Every operation is O(n³).
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/inference/eisner.hpp"

namespace arcwise {

// Parsers leave siblings out of sentences of more words: they take n³/3 numbers.
constexpr int MOST_SIBLING_WORDS = 400;
// Logarithms of probabilities too small for a double.
constexpr double LEAST_LOG_PROBABILITY = -700;

struct SiblingSentence {
  const double *arcs, *siblings;
  int n;
  bool single_root;
  EisnerSpans spans;
};

// The scores of a sentence in the order in which the chart reads them: sibling scores by head and modifier, the inner siblings from left
// to right. The modifiers on each side of a head stand in blocks of LANES, whose rows are equally long, and the same place of all rows
// of a block is the same sibling; -inf where there is none. A row may be read up to LANES - 1 places beyond its siblings.
struct SiblingRows {
  int n = 0;
  int64_t length = 0;           // of all rows
  std::vector<int64_t> starts;  // (n+1)², where the row of head and modifier begins
  std::vector<int64_t> heads;   // n+2, where the rows of a head begin
  std::vector<double> arcs;     // (n+1)²
  std::vector<double> first;    // (n+1)², siblings[h,h,m]
  std::vector<double> rows;     // the siblings strictly between

  // Places for a sentence of so many words; arcs and first are -inf.
  void lay_out(int words);
  // The same, with -inf around the siblings.
  void start(int words);
  int64_t cell(int h, int m) const { return static_cast<int64_t>(h) * (n + 1) + m; }
  double* row(int h, int m) { return rows.data() + starts[cell(h, m)]; }
  const double* row(int h, int m) const { return rows.data() + starts[cell(h, m)]; }
  // By sibling: siblings[h,s,m] is inner(h,m)[s].
  double* inner(int h, int m) { return row(h, m) - (h < m ? h : m) - 1; }
  // The length of the rows of the block that begins with a modifier.
  int block_length(int h, int first) const;
};

// Memory that calls reuse; grows on demand. One per thread.
struct EisnerSiblingsWorkspace {
  SiblingRows rows, kept;
  std::vector<double> shifts, chart, adjoints;
  std::vector<int32_t> pending;
};

// The best tree and its score.
double eisner_siblings_decode(const SiblingSentence& sentence, int32_t* heads,
                              EisnerSiblingsWorkspace& workspace);

// log Z = log Σ_trees exp(score).
double eisner_siblings_log_partition(const SiblingSentence& sentence, EisnerSiblingsWorkspace& workspace);

// log Z, the probability of every arc, (n+1)×(n+1), and of every entry of siblings, shaped like them, or not if that is null. Where
// there is no tree all are 0.
double eisner_siblings_marginals(const SiblingSentence& sentence, double* arcs, double* siblings,
                                 EisnerSiblingsWorkspace& workspace);

// The same for scores that stand in the rows of the workspace; sums and max-marginals replace them, the probabilities of siblings by
// sums. Max-marginals: the score of the best tree with each arc.
double eisner_siblings_decode_rows(bool single_root, EisnerSpans spans, int32_t* heads,
                                   EisnerSiblingsWorkspace& workspace);
double eisner_siblings_marginals_rows(bool single_root, EisnerSpans spans, double* arcs,
                                      EisnerSiblingsWorkspace& workspace);
double eisner_siblings_max_marginals_rows(bool single_root, EisnerSpans spans, double* arcs,
                                          EisnerSiblingsWorkspace& workspace);
// The logarithm of the probability of every arc, at least LEAST_LOG_PROBABILITY; false, and nothing written, if there is no tree.
bool eisner_siblings_log_marginals_rows(bool single_root, double* arcs, EisnerSiblingsWorkspace& workspace);

// The first entry of siblings that a tree can use but that is NaN or above the limit, or -1.
int64_t first_bad_sibling(const double* siblings, int n, double limit);

}  // namespace arcwise
