// The best non-projective tree, and the k best; the contraction is in spanning_tree.cuh.
#include "kernels/inference/spanning_tree.cuh"

namespace arcwise {

DEVICE void write_value(const SpanningTreeArguments& arguments, int64_t at, double value) {
  if (arguments.in_double)
    static_cast<double*>(arguments.values)[at] = value;
  else
    static_cast<float*>(arguments.values)[at] = static_cast<float>(value);
}

// Writes the heads of the words and -1 elsewhere; heads null: -1 everywhere. Run by all threads.
DEVICE void write_tree(const SpanningTreeArguments& arguments, int sentence, int rank, const int* heads,
                       int n) {
  int64_t* to = arguments.heads + (static_cast<int64_t>(sentence) * arguments.k + rank) * arguments.side;
  for (int m = thread_index(); m < arguments.side; m += thread_count())
    to[m] = heads && m > 0 && m <= n ? heads[m] : -1;
}

DEVICE void decode(const SpanningTreeArguments& arguments, int sentence) {
  Contraction contraction(arguments, sentence);
  double value = not_a_number();
  bool found = false;
  if (contraction.load()) {
    found = contraction.greedy();
    if (!found && (found = contraction.contract())) contraction.expand();
    if (thread_index() == 0) value = found ? contraction.tree_score(contraction.tree) : minus_infinity();
  }
  write_tree(arguments, sentence, 0, found ? contraction.tree : nullptr, contraction.n);
  if (thread_index() == 0) write_value(arguments, sentence, value);
  sync_block();
}

// Lawler's partition: a set of trees is its parent with one arc required or forbidden. One best tree of the
// set has already been kept; `swap` is the arc of that tree that the next tree to keep lacks.
struct TreeSet {
  int parent, head, modifier, required, kept;
  Swap swap;
  double value;  // of the next tree
  int waiting;
};

// The search of spanning_tree.cpp. All threads run it together; one of them writes shared state.
struct KBestSearch {
  const SpanningTreeArguments& arguments;
  Contraction contraction;
  TreeSet* sets;   // at most 2 k
  double* values;  // k
  int* trees;      // k trees
  int* counts;     // sets; trees kept
  int n;

  DEVICE KBestSearch(const SpanningTreeArguments& arguments, int sentence)
      : arguments(arguments), contraction(arguments, sentence), n(contraction.n) {
    const int few = Contraction::few_bytes(arguments.side), k = arguments.k;
    char* memory = shared_memory() + few;
    if (!arguments.workspace) {
      const int64_t rows = (2ll * arguments.side * arguments.side * 8 + 15) / 16 * 16;
      memory += rows;
    }
    sets = reinterpret_cast<TreeSet*>(memory);
    values = reinterpret_cast<double*>(sets + 2 * k);
    counts = reinterpret_cast<int*>(values + k);
    trees = counts + 4;
  }

  DEVICE int* kept_tree(int number) const { return trees + number * arguments.side; }

  DEVICE void run() {
    if (thread_index() == 0) counts[0] = counts[1] = 0;
    sync_block();
    split_off({-1, 0, 0, 0, 0, {}, 0, 0});
    for (;;) {
      const int parent = take_best();
      if (parent < 0 || counts[1] >= arguments.k) break;
      sync_block();
      const TreeSet set = sets[parent];
      narrow({parent, set.swap.head, set.swap.modifier, 1, set.kept, {}, 0, 0});
      split_off({parent, set.swap.head, set.swap.modifier, 0, 0, {}, 0, 0});
    }
  }

  // Removes the set with the best next tree from the queue; ties go to the latest. Each thread finds it; one
  // removes it.
  DEVICE int take_best() const {
    int found = -1;
    for (int i = 0; i < counts[0]; ++i)
      if (sets[i].waiting && (found < 0 || sets[i].value >= sets[found].value)) found = i;
    sync_block();
    if (found >= 0 && thread_index() == 0) sets[found].waiting = 0;
    sync_block();
    return found;
  }

  // Handles a set without a kept tree: keeps its best tree.
  DEVICE void split_off(TreeSet set) {
    if (!find_best(set)) return;
    set.kept = counts[1];
    sync_block();
    for (int m = thread_index(); m <= n; m += thread_count()) kept_tree(set.kept)[m] = contraction.tree[m];
    if (thread_index() == 0) {
      values[set.kept] = contraction.tree_score(contraction.tree);
      counts[1] = set.kept + 1;
    }
    rank(set, contraction.cheapest_swap(contraction.tree));
  }

  // Handles a set whose kept tree is a best one. If trees tie, the search may find another one: that one
  // comes next, and any arc in which they differ separates it from the kept tree.
  DEVICE void narrow(const TreeSet& set) {
    find_best(set);
    const int* kept = kept_tree(set.kept);
    int word = 1;
    while (word <= n && contraction.tree[word] == kept[word]) ++word;
    rank(set, word <= n ? Swap{0, kept[word], word} : contraction.cheapest_swap(kept));
  }

  DEVICE bool find_best(const TreeSet& set) {
    contraction.load();
    restrict_to(set);
    for (int above = set.parent; above >= 0; above = sets[above].parent) restrict_to(sets[above]);
    if (!contraction.contract()) return false;
    contraction.expand();
    return true;
  }

  // Queues the set under the score of its next tree, if there is one.
  DEVICE void rank(TreeSet set, const Swap& swap) {
    if (swap.head < 0 || counts[0] >= 2 * arguments.k) return;
    sync_block();
    if (thread_index() == 0) {
      set.swap = swap;
      set.value = contraction.tree_score(contraction.tree) - swap.loss;
      set.waiting = 1;
      sets[counts[0]++] = set;
    }
    sync_block();
  }

  DEVICE void restrict_to(const TreeSet& set) const {
    double* in = contraction.row(set.modifier);
    if (set.modifier > 0) {
      for (int h = thread_index(); h <= n; h += thread_count())
        if ((h == set.head) != (set.required != 0)) in[h] = minus_infinity();
    }
    sync_block();
  }

  // Ranking uses differences of reduced scores; the final order uses the scores of the trees themselves.
  DEVICE void write(int sentence) const {
    const int found = counts[1];
    for (int i = 0; i < arguments.k; ++i) {
      int rank = i;
      if (i < found) {
        rank = 0;
        for (int j = 0; j < found; ++j) rank += values[j] > values[i] || (values[j] == values[i] && j < i);
      }
      write_tree(arguments, sentence, rank, i < found ? kept_tree(i) : nullptr, n);
      if (thread_index() == 0)
        write_value(arguments, static_cast<int64_t>(sentence) * arguments.k + rank,
                    i < found ? values[i] : minus_infinity());
    }
  }
};

DEVICE void k_best(const SpanningTreeArguments& arguments, int sentence) {
  KBestSearch search(arguments, sentence);
  if (search.contraction.load()) {
    search.run();
    search.write(sentence);
  } else {
    for (int rank = 0; rank < arguments.k; ++rank) {
      write_tree(arguments, sentence, rank, nullptr, 0);
      if (thread_index() == 0)
        write_value(arguments, static_cast<int64_t>(sentence) * arguments.k + rank, not_a_number());
    }
  }
  sync_block();
}

}  // namespace arcwise

using namespace arcwise;

KERNEL spanning_tree_decode(SpanningTreeArguments arguments) {
  for (int s = block_index(); s < arguments.sentences; s += block_count()) decode(arguments, s);
}
KERNEL spanning_tree_k_best(SpanningTreeArguments arguments) {
  for (int s = block_index(); s < arguments.sentences; s += block_count()) k_best(arguments, s);
}
