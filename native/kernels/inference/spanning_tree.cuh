// Maximum spanning arborescences on a GPU: spanning_tree.cpp, which explains the algorithm, for a block of
// threads. Gives the same trees, also in ties.
//
// One warp grows paths and contracts cycles, its lanes in parallel over the heads of a vertex; all threads
// load scores and look for swaps.
#pragma once
#include "kernels/base/cuda_platform.cuh"

namespace arcwise {

struct SpanningTreeArguments {
  const void* scores;  // (sentences, side, side)
  const int32_t* lengths;
  int64_t* heads;   // (sentences, k, side)
  void* values;     // (sentences, k), of the scores' type
  char* workspace;  // rows, a slice per block, or null if they are in shared memory
  int64_t slice;
  int32_t sentences, side, k;
  int32_t single_root, in_double;
};

// The better of two choices: the higher value, and the lower number in a tie. Written as a sum for
// Lanes::sum.
struct Choice {
  double value;
  int number, unused = 0;
  friend DEVICE Choice operator+(const Choice& a, const Choice& b) {
    return b.value > a.value || (b.value == a.value && b.number < a.number) ? b : a;
  }
};

// The arc of the best tree that is cheapest to give up.
struct Swap {
  double loss;
  int head, modifier;
};

constexpr int MOST_WARPS = 32;

// The contraction of one sentence. Vertices 1..n are the words, n+1.. the contracted cycles in order of
// creation.
struct Contraction {
  enum State : int { unseen, on_path, done, contracted };
  using Warp = Lanes<32>;

  const SpanningTreeArguments& arguments;
  int sentence, n, stride;
  bool single;
  double *rows,
      *best;  // row(v)[h]: reduced score of the best arc from word h (0: root) into v; best: of v's chosen arc
  int *head, *state, *place, *path, *children, *first_child, *outermost, *entry, *is_entry, *tree, *enter,
      *leave, *first_free;
  int* shared;       // flags: whether there is a tree; whether a score is not a number
  Swap* swaps;       // one per warp
  int vertices = 0;  // 1 + words + cycles so far; known to the first warp, and to all after share()

  DEVICE static bool is_first_warp() { return thread_index() < WARP_LANES; }
  DEVICE double* row(int v) const { return rows + static_cast<int64_t>(v) * stride; }
  DEVICE static double lowest() { return minus_infinity(); }

  DEVICE Contraction(const SpanningTreeArguments& arguments, int sentence)
      : arguments(arguments),
        sentence(sentence),
        n(arguments.lengths[sentence]),
        stride(arguments.side),
        single(arguments.single_root) {
    char* memory = shared_memory();
    const int side = arguments.side, all = 2 * side;
    swaps = reinterpret_cast<Swap*>(memory);
    best = reinterpret_cast<double*>(memory + MOST_WARPS * sizeof(Swap));
    int* ints = reinterpret_cast<int*>(best + all);
    int** const of_vertices[] = {&head, &state, &place, &path, &children, &entry, &is_entry};
    for (int** array : of_vertices) *array = ints, ints += all;
    int** const of_words[] = {&first_child, &outermost, &tree, &enter, &leave, &first_free};
    for (int** array : of_words) *array = ints, ints += side;
    shared = ints;
    rows = arguments.workspace
               ? reinterpret_cast<double*>(arguments.workspace + block_index() * arguments.slice)
               : reinterpret_cast<double*>(shared_memory() + few_bytes(side));
  }
  // The memory of everything except the rows, as counted by spanning_tree.py.
  static DEVICE int few_bytes(int side) {
    return (MOST_WARPS * static_cast<int>(sizeof(Swap)) + 2 * side * 8 + (7 * 2 + 6) * side * 4 + 16 + 15) /
           16 * 16;
  }

  DEVICE double score(int from, int to) const {
    const int64_t at = (static_cast<int64_t>(sentence) * arguments.side + from) * arguments.side + to;
    return arguments.in_double ? static_cast<const double*>(arguments.scores)[at]
                               : static_cast<const float*>(arguments.scores)[at];
  }

  // Loads the rows of incoming arcs. Run by all threads. Returns false if nan or +inf is among the scores.
  DEVICE bool load() const {
    if (thread_index() == 0) shared[1] = 0;
    sync_block();
    for (int i = thread_index(); i < (n + 1) * n; i += thread_count()) {
      const int from = i / n, to = i % n + 1;
      const double value = from == to ? lowest() : score(from, to);
      if (!(value < -lowest())) shared[1] = 1;
      row(to)[from] = value;
    }
    sync_block();
    return !shared[1];
  }

  // The best arc into v; with a single root the arc from 0 only if there is no other. Run by one warp.
  DEVICE Choice best_arc(int v) const {
    Choice choice{lowest(), n + 1};
    for (int h = (single ? 1 : 0) + Warp::lane(); h <= n; h += Warp::COUNT)
      choice = choice + Choice{row(v)[h], h};
    choice = Warp::sum(choice);
    return choice.value == lowest() ? Choice{row(v)[0], 0} : choice;
  }

  // Chooses the best arc into each word on its own; returns true if they form a tree of the class, which is
  // then the best one. Run by all threads.
  DEVICE bool greedy() const {
    if (thread_index() == 0) shared[0] = 1;
    sync_block();
    for (int m = 1 + Warp::group(); m <= n; m += Warp::groups()) {
      Choice choice{lowest(), n + 1};
      for (int h = Warp::lane(); h <= n; h += Warp::COUNT) choice = choice + Choice{row(m)[h], h};
      choice = Warp::sum(choice);
      if (choice.value == lowest()) shared[0] = 0;
      if (Warp::lane() == 0) tree[m] = enter[m] = choice.value == lowest() ? 0 : choice.number;
    }
    if (thread_index() == 0) tree[0] = -1, enter[0] = leave[0] = 0;
    if (!agreed()) return false;
    // Pointer doubling: all words must reach the root.
    int *from = enter, *to = leave;
    for (int steps = 1; steps < n; steps *= 2) {
      for (int m = 1 + thread_index(); m <= n; m += thread_count()) to[m] = from[from[m]];
      sync_block();
      int* const swapped = from;
      from = to, to = swapped;
    }
    int roots = 0;
    for (int m = 1; m <= n; ++m) roots += tree[m] == 0;
    for (int m = 1 + thread_index(); m <= n; m += thread_count())
      if (from[m] != 0) shared[0] = 0;
    if (roots == 0 || (single && roots > 1)) shared[0] = 0;
    return agreed();
  }
  // Reads the flag after all threads have voted; a barrier keeps it unchanged until all have read it.
  DEVICE bool agreed() const {
    sync_block();
    const bool flag = shared[0];
    sync_block();
    return flag;
  }

  // Chooses an incoming arc for every vertex, contracting cycles; returns false if there is no tree. Run by
  // all threads; one warp works.
  DEVICE bool contract() {
    if (is_first_warp()) {
      const bool found = contract_by_warp();
      if (thread_index() == 0) shared[0] = found, shared[2] = vertices;
    }
    const bool found = agreed();
    vertices = shared[2];
    return found;
  }

  DEVICE bool contract_by_warp() {
    for (int v = Warp::lane(); v <= 2 * n; v += Warp::COUNT) state[v] = unseen, is_entry[v] = 0;
    for (int h = Warp::lane(); h <= n; h += Warp::COUNT) outermost[h] = h;
    if (Warp::lane() == 0) first_child[0] = 0;
    vertices = n + 1;
    bool root_arc_taken = false;
    sync_warp();
    for (int word = 1; word <= n; ++word)
      if (state[outermost[word]] == unseen && !grow_path(word, root_arc_taken)) return false;
    return true;
  }

  // Follows chosen heads from start until the path meets a finished vertex or itself.
  DEVICE bool grow_path(int start, bool& root_arc_taken) {
    int length = 0;
    for (int v = start;;) {
      const Choice arc = best_arc(v);
      if (Warp::lane() == 0) {
        path[length] = v, place[v] = length, state[v] = on_path;
        best[v] = arc.value, head[v] = arc.number;
      }
      ++length;
      sync_warp();
      if (arc.value == lowest()) return false;
      const int above = outermost[arc.number];
      if (above == 0) {
        if (single && root_arc_taken) return false;
        root_arc_taken = true;
      }
      if (above == 0 || state[above] == done) break;
      v = state[above] == unseen ? above : contract_cycle(place[above], length);
    }
    for (int i = Warp::lane(); i < length; i += Warp::COUNT) state[path[i]] = done;
    sync_warp();
    return true;
  }

  // Contracts the vertices path[start..] into one and removes them from the path.
  DEVICE int contract_cycle(int start, int& length) {
    const int cycle = vertices++, first = first_child[cycle - n - 1], count = length - start;
    sync_warp();
    for (int i = Warp::lane(); i < count; i += Warp::COUNT) {
      children[first + i] = path[start + i];
      state[path[start + i]] = contracted;
    }
    if (Warp::lane() == 0) first_child[cycle - n] = first + count;
    length = start;
    sync_warp();
    // row(cycle)[h] = max over members c of row(c)[h] - best(c): the gain of entering the cycle at c over
    // staying in it.
    for (int h = Warp::lane(); h <= n; h += Warp::COUNT) {
      double gain = lowest();
      bool inside = false;
      for (int i = first; i < first + count; ++i) {
        const double other = row(children[i])[h] - best[children[i]];
        gain = other > gain ? other : gain;
        inside = inside || outermost[h] == children[i];
      }
      row(cycle)[h] = inside ? lowest() : gain;
      if (inside) outermost[h] = cycle;
    }
    sync_warp();
    return cycle;
  }

  // Writes the best tree. Expands outermost cycles first: the arc chosen for a cycle replaces that of the
  // member where it enters. Run by all threads.
  DEVICE void expand() const {
    if (is_first_warp()) {
      for (int cycle = vertices - 1; cycle > n; --cycle) {
        const int from = head[cycle], first = first_child[cycle - n - 1], end = first_child[cycle - n];
        Choice choice{lowest(), end};
        for (int i = first + Warp::lane(); i < end; i += Warp::COUNT)
          choice = choice + Choice{row(children[i])[from] - best[children[i]], i};
        choice = Warp::sum(choice);
        sync_warp();
        if (Warp::lane() == 0) {
          const int member = children[choice.number];
          entry[cycle] = member, is_entry[member] = 1, head[member] = from;
        }
        sync_warp();
      }
      for (int m = Warp::lane(); m <= n; m += Warp::COUNT) tree[m] = m == 0 ? -1 : head[m];
    }
    sync_block();
  }

  // Sums in the order of the words. Run by any thread.
  DEVICE double tree_score(const int* heads) const {
    double total = 0;
    for (int m = 1; m <= n; ++m) total += score(heads[m], m);
    return total;
  }

  // After expand(), for its tree or an equally good one: every arc of the tree is the chosen arc of exactly
  // one vertex v through which no cycle is entered. The second best tree replaces the arc of one such v by
  // its next best arc from outside the subtree below v. Run by all threads.
  DEVICE Swap cheapest_swap(const int* heads) const {
    if (thread_index() == 0) {
      number_subtrees(heads);
      for (int v = 1; v < vertices; ++v) entry[v] = v <= n ? v : entry[entry[v]];
    }
    sync_block();
    Choice cheapest{lowest(), 0};  // value: minus the loss
    for (int v = 1 + Warp::group(); v < vertices; v += Warp::groups()) {
      if (is_entry[v]) continue;
      const double gain = best_replacement(v, entry[v]) - best[v];
      if (gain > lowest()) cheapest = cheapest.number ? cheapest + Choice{gain, v} : Choice{gain, v};
    }
    if (Warp::lane() == 0) swaps[Warp::group()] = {cheapest.value, cheapest.number, 0};
    sync_block();
    for (int w = 0; w < Warp::groups(); ++w) {
      const Choice other{swaps[w].loss, swaps[w].head};
      if (other.number) cheapest = cheapest.number ? cheapest + other : other;
    }
    sync_block();
    const int v = cheapest.number;
    return v ? Swap{-cheapest.value, head[v], entry[v]} : Swap{-lowest(), -1, -1};
  }

  DEVICE double best_replacement(int v, int word) const {
    Choice replacement{lowest(), 0};
    for (int h = (single ? 1 : 0) + Warp::lane(); h <= n; h += Warp::COUNT) {
      const bool below = enter[word] <= enter[h] && enter[h] < leave[word];
      if (!below && h != head[v] && row(v)[h] > replacement.value) replacement.value = row(v)[h];
    }
    replacement = Warp::sum(replacement);
    const double elsewhere = v <= n ? lowest() : second_in_column(v, head[v]);
    return elsewhere > replacement.value ? elsewhere : replacement.value;
  }

  // The best arc from one head into v, excluding the overall best arc, which enters v elsewhere.
  DEVICE double second_in_column(int v, int from) const {
    double second = lowest(), shift = 0;
    while (v > n) {
      int member = -1;
      double first = lowest(), next = lowest();
      for (int i = first_child[v - n - 1]; i < first_child[v - n]; ++i) {
        const int child = children[i];
        const double gain = row(child)[from] - best[child], lower = gain < first ? gain : first;
        next = lower > next ? lower : next;
        if (gain > first) first = gain, member = child;
      }
      second = next + shift > second ? next + shift : second;
      shift -= best[member];
      v = member;
    }
    return second;
  }

  // enter = preorder position in the tree, leave = position after its subtree: word d is below word m if
  // enter[m] <= enter[d] < leave[m]. Run by one thread.
  DEVICE void number_subtrees(const int* heads) const {
    for (int m = 0; m <= n; ++m) enter[m] = 0, leave[m] = 1;  // temporarily the size of the subtree
    int length = 0;
    for (int word = 1; word <= n; ++word) {  // path: words ordered so that heads come first
      const int begin = length;
      for (int at = word; at != 0 && enter[at] == 0; at = heads[at]) enter[at] = 1, path[length++] = at;
      for (int i = begin, j = length - 1; i < j; ++i, --j) {
        const int other = path[i];
        path[i] = path[j], path[j] = other;
      }
    }
    for (int i = length - 1; i >= 0; --i) leave[heads[path[i]]] += leave[path[i]];
    enter[0] = 0, first_free[0] = 1;
    for (int i = 0; i < length; ++i) {
      const int word = path[i], above = heads[word];
      enter[word] = first_free[above];
      first_free[above] += leave[word];
      first_free[word] = enter[word] + 1;
    }
    for (int i = 0; i < length; ++i) leave[path[i]] += enter[path[i]];
  }
};

}  // namespace arcwise
