// Soft targets: a teacher's probabilities for the head and label of each word, which a student is trained on
// in place of a gold tree.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace arcwise {

// The targets of one sentence of n words: the arcs into word m are first[m - 1] .. first[m] - 1 of heads,
// labels (-1: none) and shares, with arcs of the same head adjacent. The shares of a word sum to 1. Empty:
// the teacher has no targets for the sentence.
struct TaughtTree {
  const int64_t* first;
  const int32_t *heads, *labels;
  const double* shares;
  int n;

  bool empty() const { return first[0] == first[n]; }

  // Calls visit(head, label, share) for every arc into word m.
  template <typename Visit>
  void for_each_arc_into(int m, Visit visit) const {
    for (int64_t at = first[m - 1]; at < first[m]; ++at) visit(heads[at], labels[at], shares[at]);
  }

  // The expected cost of giving word m this head and label: the mean of KnownTree::cost over the teacher's
  // trees.
  double cost(int head, int label, int m) const {
    double sum = 0;
    for_each_arc_into(m, [&](int h, int l, double share) {
      sum += share * ((head != h) + (label >= 0 && l >= 0 && label != l));
    });
    return sum;
  }
};

// The targets of all sentences, flat over words, and the weight of each sentence. Empty: there is no teacher.
struct TaughtArcs {
  std::vector<int64_t> starts;  // words + 1
  std::vector<int32_t> heads, labels;
  std::vector<double> shares;
  std::vector<double> weights;  // of sentences

  bool empty() const { return starts.empty(); }
  double weight(size_t sentence) const { return empty() ? 1 : weights[sentence]; }
  TaughtTree of(size_t first_word, int n) const {
    return {starts.data() + first_word, heads.data(), labels.data(), shares.data(), n};
  }
};

}  // namespace arcwise
