// The states of an arc: it has a label, a latent cluster, or both. Each such pair is a state.
#pragma once
#include <cstdint>
#include <vector>

namespace arcwise {

// The labels allowed for an arc form its set; sets are numbered, and each arc of ArcScores refers to one. The
// states of a set are its labels in order, each with all clusters: state = index of the label in the set *
// clusters + cluster.
struct ArcStates {
  int labels = 0;                    // 0: arcs have no labels
  int clusters = 1;                  // latent clusters of every label
  std::vector<uint32_t> set_starts;  // sets + 1
  std::vector<uint16_t> set_labels;  // labels of set c: set_labels[set_starts[c]] .. [set_starts[c+1]-1]

  // Every arc may have every label.
  static ArcStates all_of(int labels, int clusters = 1) {
    ArcStates states{labels, clusters, {0, static_cast<uint32_t>(labels)}, {}};
    for (int label = 0; label < labels; ++label) states.set_labels.push_back(static_cast<uint16_t>(label));
    return states;
  }

  // One label belongs to arcs from the root (set 1) and to no other arcs (set 0).
  static ArcStates with_root_label(int labels, int root_label, int clusters = 1) {
    ArcStates states{
        labels, clusters, {0, static_cast<uint32_t>(labels - 1), static_cast<uint32_t>(labels)}, {}};
    for (int label = 0; label < labels; ++label)
      if (label != root_label) states.set_labels.push_back(static_cast<uint16_t>(label));
    states.set_labels.push_back(static_cast<uint16_t>(root_label));
    return states;
  }

  int count(int set) const {
    return labels == 0 ? clusters : static_cast<int>(set_starts[set + 1] - set_starts[set]) * clusters;
  }
  // The label of a state, or -1 if arcs have no labels.
  int label_of(int set, int state) const {
    return labels == 0 ? -1 : set_labels[set_starts[set] + state / clusters];
  }
};

}  // namespace arcwise
