// Scores of arcs that know their siblings, so that everything after arc scores works for a second-order model.
//
// By maximum: the score of an arc is that of the best projective tree with it. The best tree has the highest score at every word, so each
// decoder over these scores finds it. Where arcs may cross, the best tree of all (sibling_relaxation.hpp) gives its arcs its score. By
// sum: the logarithm of the arc's exact probability among projective trees.
#pragma once
#include "kernels/graph/arc_table.hpp"
#include "kernels/inference/score_batch.hpp"
#include "kernels/siblings/sibling_features.hpp"

namespace arcwise {

// The best tree with crossing arcs is looked for in sentences of so many words, by so many spanning trees.
constexpr int MOST_CROSSING_WORDS = 150, CROSSING_DECODES = 500;

// weights: of the siblings alone. `by_sum` or by maximum; the differences between the labels of an arc stay as they are.
ScoreBatch with_siblings(const ScoreBatch& arcs, const ArcTable& table, const SiblingTable& siblings,
                         const float* weights, const ArcData& data, TreeClass trees, bool by_sum,
                         int threads);

// Of one sentence: the best score of each arc, (n+1)², and the scores of siblings, (n+1)³.
struct SecondOrderScores {
  std::vector<double> arcs, siblings;
};
SecondOrderScores second_order_scores(const ScoreBatch& arcs, const ArcTable& table,
                                      const SiblingTable& siblings, const float* weights, const ArcData& data,
                                      size_t sentence);

}  // namespace arcwise
