// A gold tree with known heads and labels for all or some words.
#pragma once
#include <cstdint>
#include <vector>

namespace arcwise {

struct KnownTree {
  std::vector<int32_t> heads, labels;  // 0..n; -1 where unknown, and for the root
  bool complete = true;                // every head is known

  // Sets the heads and labels of words 1..n.
  void set(const int32_t* word_heads, const int32_t* word_labels, int n) {
    heads.assign(1, -1);
    labels.assign(1, -1);
    heads.insert(heads.end(), word_heads, word_heads + n);
    labels.insert(labels.end(), word_labels, word_labels + n);
    complete = true;
    for (int m = 1; m <= n; ++m) complete &= heads[m] >= 0;
  }

  // Whether an arc, and a label on it, agree with the gold tree (an unknown head or label agrees with all).
  bool agrees_with_head(int head, int m) const { return heads[m] < 0 || heads[m] == head; }
  bool agrees(int label, int m) const { return label < 0 || labels[m] < 0 || labels[m] == label; }

  // The cost of giving word m this head and label: 1 for a wrong head, 1 more for a wrong label.
  double cost(int head, int label, int m) const {
    if (heads[m] < 0) return 0;
    return (head != heads[m]) + (label >= 0 && labels[m] >= 0 && label != labels[m]);
  }
};

}  // namespace arcwise
