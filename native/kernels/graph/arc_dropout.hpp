// Word dropout of the graph-based parser.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/graph/arc_table.hpp"
#include "kernels/learning/word_dropout.hpp"

namespace arcwise {

// The words of a sentence that keep their form (learning/word_dropout.hpp).
struct WordDropout {
  double rate = 0;  // 0 disables it
  uint64_t seed = 0;

  void draw(const ArcTable& table, const ArcData& data, size_t sentence, uint64_t epoch,
            std::vector<uint8_t>& keep) const {
    keep.clear();
    if (rate <= 0 || table.templates.word_atom < 0) return;
    size_t first = data.first(sentence);
    for (int i = 0; i < data.length(sentence); ++i) {
      double f =
          table.vocabulary.count(data.atoms[(first + i) * data.atom_count + table.templates.word_atom]);
      keep.push_back(!drops_word(word_dropout_draw(seed, epoch, sentence, i), rate, f));
    }
  }
};

}  // namespace arcwise
