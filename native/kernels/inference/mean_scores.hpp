// The scores of several scorers of the same sentences and states made into one: a distribution again, from which everything follows.
#pragma once
#include <vector>

#include "kernels/inference/score_batch.hpp"

namespace arcwise {

// The log weight of an arc (its states summed) is the mean of those of the batches, and so are the logs of the probabilities of its
// states given the arc, but for what makes their sum 1: P(tree) is the geometric mean of the P(tree), normalised.
// Throws std::invalid_argument unless all batches have the same sentences, states and arcs.
// temperature: by which log weights of arcs are divided then, label_temperature: by which those of states given the arc are.
ScoreBatch mean_scores(const std::vector<const ScoreBatch*>& batches, double temperature = 1.0,
                       double label_temperature = 1.0);

}  // namespace arcwise
