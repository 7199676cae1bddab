// The gold tree of a sentence as the trainers use it: heads, labels, what a wrong arc costs, word dropout.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/graph/arc_scores.hpp"
#include "kernels/base/hashing.hpp"

namespace arcwise {

struct ArcGold {
  std::vector<int32_t> heads, labels;  // 0..n; -1 where unknown, and for the wall
  bool complete = true;                // every head is known

  void set(const ArcData& data, size_t sentence) {
    size_t first = data.first(sentence);
    int n = data.length(sentence);
    heads.assign(1, -1);
    labels.assign(1, -1);
    heads.insert(heads.end(), data.heads.begin() + first, data.heads.begin() + first + n);
    labels.insert(labels.end(), data.labels.begin() + first, data.labels.begin() + first + n);
    complete = true;
    for (int m = 1; m <= n; ++m) complete &= heads[m] >= 0;
  }

  // Whether a state of an arc into word m agrees with the gold label (an unknown one agrees with all).
  bool agrees(int label, int m) const { return label < 0 || labels[m] < 0 || labels[m] == label; }

  // What it costs to give word m this head and label: 1 for a wrong head, 1 more for a wrong label.
  double cost(int head, int label, int m) const {
    if (heads[m] < 0) return 0;
    return (head != heads[m]) + (label >= 0 && labels[m] >= 0 && label != labels[m]);
  }
};

// Word dropout: in training a word of frequency f is taken for an unknown one with probability a / (a + f),
// so that unknown words have weights too. The draw depends on seed, epoch, sentence and word alone.
struct WordDropout {
  double rate = 0;  // a; 0 for none
  uint64_t seed = 0;

  void draw(const ArcSpace& space, const ArcData& data, size_t sentence, uint64_t epoch,
            std::vector<uint8_t>& keep) const {
    keep.clear();
    if (rate <= 0 || space.templates.word_atom < 0) return;
    uint64_t stream = hash_pair(hash_pair(seed, epoch), sentence);
    size_t first = data.first(sentence);
    for (int i = 0; i < data.length(sentence); ++i) {
      double f =
          space.vocabulary.count(data.atoms[(first + i) * data.atom_count + space.templates.word_atom]);
      double uniform = static_cast<double>(hash_pair(stream, i) >> 11) * 0x1.0p-53;
      keep.push_back(uniform >= rate / (rate + f));
    }
  }
};

// Calls visit(h, m, class, states, count) for every arc that has scores.
template <typename Real, typename Visit>
void for_each_arc(ArcScores<Real>& scores, const ArcSpace& space, const ArcSentence& sentence, Visit visit) {
  for (int h = 0; h <= scores.n; ++h)
    for (int m = 1; m <= scores.n; ++m) {
      if (!scores.has(h, m)) continue;
      int arc_class = sentence.class_of(space, h, m);
      visit(h, m, arc_class, scores.of(h, m), space.states(arc_class));
    }
}

}  // namespace arcwise
