// Combines the scores of several scorers of the same sentences and states into one distribution.
#pragma once
#include <vector>

#include "kernels/inference/score_batch.hpp"

namespace arcwise {

// The log weight of an arc (summed over its states) is the mean over the batches, and so are the
// log-probabilities of its states given the arc, up to normalisation: P(tree) is the normalised geometric
// mean of the P(tree). Throws std::invalid_argument unless all batches have the same sentences, states and
// arcs. temperature: divides the resulting log weights of arcs; label_temperature: divides those of states
// given the arc.
ScoreBatch mean_scores(const std::vector<const ScoreBatch*>& batches, double temperature = 1.0,
                       double label_temperature = 1.0);

}  // namespace arcwise
