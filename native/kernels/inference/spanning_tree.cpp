#include "kernels/inference/spanning_tree.hpp"

#include <algorithm>
#include <queue>
#include <utility>

#include "kernels/base/lanes.hpp"
#include "kernels/base/minus_infinity.hpp"

namespace arcwise {

namespace {

// The largest of `count` numbers (a multiple of LANES).
double largest(const double* values, size_t count) {
  Lanes most = load(values);
  for (size_t i = LANES; i < count; i += LANES) most = larger(most, load(values + i));
  return largest_of(most);
}

// to[h] = max(to[h], from[h] - shift)
void raise_to(double* __restrict to, const double* __restrict from, double shift, size_t count) {
  for (size_t h = 0; h < count; h += LANES) store(to + h, larger(load(from + h) - shift, load(to + h)));
}

// Transfers the contents of child to cycle and removes arcs that start there.
void take_over(int64_t* __restrict outermost, double* __restrict in, int64_t child, int64_t cycle,
               size_t count) {
  for (size_t h = 0; h < count; ++h) {
    const bool inside = outermost[h] == child;
    outermost[h] = inside ? cycle : outermost[h];
    in[h] = inside ? MINUS_INFINITY : in[h];
  }
}

double tree_score(const double* scores, int n, const int32_t* heads) {
  double total = 0;
  for (int m = 1; m <= n; ++m) total += scores[static_cast<size_t>(heads[m]) * (n + 1) + m];
  return total;
}

// Whether every word reaches the root. O(n): the walk visits each word once.
bool is_tree(const int32_t* heads, int n, std::vector<int32_t>& walk) {
  walk.assign(static_cast<size_t>(n) + 1, 0);
  for (int start = 1; start <= n; ++start) {
    int at = start;
    for (; at != 0 && walk[at] == 0; at = heads[at]) walk[at] = start;
    if (at != 0 && walk[at] == start) return false;
  }
  return true;
}

}  // namespace

void SpanningTreeWorkspace::load(const double* scores, int n, bool single_root) {
  n_ = n;
  single_root_ = single_root;
  const int width = n + 1;
  stride_ = static_cast<size_t>(n + LANES) / LANES * LANES;
  const size_t vertices = 2 * static_cast<size_t>(n) + 1;
  if (rows_.size() < vertices * stride_) rows_.resize(vertices * stride_);
  constexpr int TILE = 8;  // transpose in tiles, so that both sides stay in the cache
  for (int h0 = 0; h0 < width; h0 += TILE)
    for (int m = 1; m < width; ++m) {
      const int end = std::min(h0 + TILE, width);
      const double* from = scores + static_cast<size_t>(h0) * width + m;
      double* to = row(m);
      for (int h = h0; h < end; ++h, from += width) to[h] = *from;
    }
  for (int m = 1; m < width; ++m) {
    forbid(m, m);
    std::fill(row(m) + width, row(m) + stride_, MINUS_INFINITY);
  }
}

void SpanningTreeWorkspace::forbid(int head, int modifier) { row(modifier)[head] = MINUS_INFINITY; }

void SpanningTreeWorkspace::require(int head, int modifier) {
  const double kept = row(modifier)[head];
  std::fill_n(row(modifier), stride_, MINUS_INFINITY);
  row(modifier)[head] = kept;
}

void SpanningTreeWorkspace::begin() {
  const size_t vertices = 2 * static_cast<size_t>(n_) + 1;
  vertices_ = n_ + 1;
  root_arc_taken_ = false;
  best_.resize(vertices);
  head_.resize(vertices);
  state_.assign(vertices, State::unseen);
  outermost_.resize(stride_);
  for (size_t h = 0; h < stride_; ++h) outermost_[h] = static_cast<int64_t>(h);
  children_.clear();
  first_child_.assign(1, 0);
  path_.clear();
}

bool SpanningTreeWorkspace::contract(bool words_have_arcs) {
  begin();
  words_have_arcs_ = words_have_arcs;
  for (int word = 1; word <= n_; ++word)
    if (state_[outermost_[word]] == State::unseen && !grow_path(word)) return false;
  return true;
}

// Follows chosen heads from start until the path meets a finished vertex or itself.
bool SpanningTreeWorkspace::grow_path(int start) {
  for (int v = start;;) {
    path_.push_back(v);
    state_[v] = State::on_path;
    if (v > n_ || !words_have_arcs_) choose_arc(v);
    if (best_[v] == MINUS_INFINITY) return false;
    const int above = static_cast<int>(outermost_[head_[v]]);
    if (above == 0 && single_root_ && std::exchange(root_arc_taken_, true)) return false;
    if (above == 0 || state_[above] == State::done) break;
    if (state_[above] == State::unseen) {
      v = above;
    } else {
      v = contract_cycle(std::find(path_.begin(), path_.end(), above) - path_.begin());
    }
  }
  for (int v : path_) state_[v] = State::done;
  path_.clear();
  return true;
}

// Chooses the best arc into v; with a single root the arc from 0 only if there is no other.
void SpanningTreeWorkspace::choose_arc(int v) {
  double* in = row(v);
  const double from_root = in[0];
  if (single_root_) in[0] = MINUS_INFINITY;
  best_[v] = largest(in, stride_);
  head_[v] = static_cast<int32_t>(std::find(in, in + n_, best_[v]) - in);
  in[0] = from_root;
  if (best_[v] == MINUS_INFINITY) {
    best_[v] = from_root;
    head_[v] = 0;
  }
}

// Contracts the vertices path_[start..] into one and removes them from the path.
int SpanningTreeWorkspace::contract_cycle(size_t start) {
  const int cycle = vertices_++;
  for (size_t i = start; i < path_.size(); ++i) {
    children_.push_back(path_[i]);
    state_[path_[i]] = State::contracted;
  }
  path_.resize(start);
  first_child_.push_back(static_cast<int32_t>(children_.size()));
  merge_rows(cycle);
  return cycle;
}

// row(cycle)[h] = max over members c of row(c)[h] - best(c): the gain of entering the cycle at c over staying
// in it.
void SpanningTreeWorkspace::merge_rows(int cycle) {
  double* merged = row(cycle);
  std::fill_n(merged, stride_, MINUS_INFINITY);
  for (int i = first_child(cycle); i < last_child(cycle); ++i) {
    raise_to(merged, row(children_[i]), best_[children_[i]], stride_);
  }
  for (int i = first_child(cycle); i < last_child(cycle); ++i)
    take_over(outermost_.data(), merged, children_[i], cycle, stride_);
}

// Expands outermost cycles first: the arc chosen for a cycle replaces that of the member where it enters.
void SpanningTreeWorkspace::expand(int32_t* heads) {
  is_entry_.assign(vertices_, 0);
  entry_.resize(vertices_);
  for (int cycle = vertices_ - 1; cycle > n_; --cycle) {
    const int head = head_[cycle];
    int entry = children_[first_child(cycle)];
    for (int i = first_child(cycle) + 1; i < last_child(cycle); ++i) {
      const int child = children_[i];
      if (row(child)[head] - best_[child] > row(entry)[head] - best_[entry]) entry = child;
    }
    entry_[cycle] = entry;
    is_entry_[entry] = 1;
    head_[entry] = head;
  }
  heads[0] = -1;
  for (int m = 1; m <= n_; ++m) heads[m] = head_[m];
}

// Every arc of the best tree is the chosen arc of exactly one vertex v through which no cycle is entered. The
// second best tree replaces the arc of one such v by its next best arc from outside the subtree below v.
SpanningTreeWorkspace::Swap SpanningTreeWorkspace::cheapest_swap(const int32_t* heads) {
  number_subtrees(heads);
  Swap cheapest;
  for (int v = 1; v < vertices_; ++v) {
    const int word = entry_[v] = v <= n_ ? v : entry_[entry_[v]];
    if (is_entry_[v]) continue;
    const double loss = best_[v] - best_replacement(v, word);
    if (loss < cheapest.loss) cheapest = {head_[v], word, loss};
  }
  return cheapest;
}

double SpanningTreeWorkspace::best_replacement(int v, int word) {
  const double* in = row(v);
  double best = v <= n_ ? MINUS_INFINITY : second_in_column(v, head_[v]);
  for (int h = single_root_; h <= n_; ++h) {
    const bool below = enter_[word] <= enter_[h] && enter_[h] < leave_[word];
    if (!below && h != head_[v]) best = std::max(best, in[h]);
  }
  return best;
}

// The best arc from head into v, excluding the overall best arc, which enters v elsewhere.
double SpanningTreeWorkspace::second_in_column(int v, int head) {
  double second = MINUS_INFINITY, shift = 0;
  while (v > n_) {
    int entry = -1;
    double first = MINUS_INFINITY, next = MINUS_INFINITY;
    for (int i = first_child(v); i < last_child(v); ++i) {
      const int child = children_[i];
      const double gain = row(child)[head] - best_[child];
      next = std::max(next, std::min(gain, first));
      if (gain > first) first = gain, entry = child;
    }
    second = std::max(second, next + shift);
    shift -= best_[entry];
    v = entry;
  }
  return second;
}

// enter = preorder position in the tree, leave = position after its subtree.
void SpanningTreeWorkspace::number_subtrees(const int32_t* heads) {
  enter_.assign(stride_, 0);
  leave_.assign(stride_, 1);  // temporarily the size of the subtree
  path_.clear();
  // Words ordered so that heads come first.
  for (int word = 1; word <= n_; ++word) {
    size_t end = path_.size();
    for (int at = word; at != 0 && enter_[at] == 0; at = heads[at]) {
      enter_[at] = 1;
      path_.push_back(at);
    }
    std::reverse(path_.begin() + end, path_.end());
  }
  for (size_t i = path_.size(); i-- > 0;) leave_[heads[path_[i]]] += leave_[path_[i]];
  // Each word gets its place in the interval of its head, whose free part starts at first_free_.
  enter_[0] = 0;
  first_free_.assign(stride_, 1);
  for (int word : path_) {
    const int head = heads[word];
    enter_[word] = first_free_[head];
    first_free_[head] += leave_[word];
    first_free_[word] = enter_[word] + 1;
  }
  for (int word : path_) leave_[word] += enter_[word];
  path_.clear();
}

bool SpanningTreeWorkspace::greedy(const double* scores, int n, bool single_root, int32_t* heads) {
  const size_t width = static_cast<size_t>(n) + 1;
  greedy_best_.assign(width, MINUS_INFINITY);
  greedy_head_.assign(width, 0);
  double* __restrict best = greedy_best_.data();
  int64_t* __restrict head = greedy_head_.data();
  for (int h = 1; h <= n; ++h) {
    const double* __restrict row = scores + h * width;
    const double own_best = best[h];
    const int64_t own_head = head[h];
    for (size_t m = 1; m < width; ++m) {
      const bool better = row[m] > best[m];
      best[m] = better ? row[m] : best[m];
      head[m] = better ? h : head[m];
    }
    best[h] = own_best;  // exclude the vertex itself
    head[h] = own_head;
  }
  heads[0] = -1;
  int roots = 0;
  for (int m = 1; m <= n; ++m) {
    heads[m] = scores[m] >= best[m] ? 0 : static_cast<int32_t>(head[m]);
    roots += heads[m] == 0;
    if (heads[m] == 0 && scores[m] == MINUS_INFINITY) return false;
  }
  return roots > 0 && !(single_root && roots > 1) && is_tree(heads, n, enter_);
}

// Takes over the arcs found by greedy(), which are those that contract() would choose for the words.
void SpanningTreeWorkspace::take_greedy_arcs(const double* scores) {
  best_.resize(2 * static_cast<size_t>(n_) + 1);
  head_.resize(best_.size());
  for (int m = 1; m <= n_; ++m) {
    const bool from_root = single_root_ ? greedy_best_[m] == MINUS_INFINITY : scores[m] >= greedy_best_[m];
    best_[m] = from_root ? scores[m] : greedy_best_[m];
    head_[m] = from_root ? 0 : static_cast<int32_t>(greedy_head_[m]);
  }
}

double spanning_tree_decode(const double* scores, int n, bool single_root, int32_t* heads,
                            SpanningTreeWorkspace& workspace) {
  if (!workspace.greedy(scores, n, single_root, heads)) {
    workspace.load(scores, n, single_root);
    workspace.take_greedy_arcs(scores);
    if (!workspace.contract(true)) return MINUS_INFINITY;
    workspace.expand(heads);
  }
  return tree_score(scores, n, heads);
}

namespace {

// Lawler's partition: a set of trees is its parent with one arc required or forbidden. One best tree of the
// set has already been kept; `swap` is the arc of that tree that the next tree to keep lacks.
struct TreeSet {
  int parent;
  int head, modifier;
  bool required;
  size_t kept = 0;
  SpanningTreeWorkspace::Swap swap = {};
};

class KBestSearch {
 public:
  KBestSearch(const double* scores, int n, bool single_root, SpanningTreeWorkspace& workspace)
      : scores_(scores), n_(n), single_root_(single_root), workspace_(workspace), tree_(n + 1) {}

  // Keeps the k best trees and returns how many there are.
  int run(int k) {
    split_off({-1, 0, 0, false});
    while (static_cast<int>(values_.size()) < k && !queue_.empty()) {
      const int parent = queue_.top().second;
      queue_.pop();
      const TreeSet set = sets_[parent];
      narrow({parent, set.swap.head, set.swap.modifier, true, set.kept});
      split_off({parent, set.swap.head, set.swap.modifier, false});
    }
    return static_cast<int>(values_.size());
  }

  // Ranking uses differences of reduced scores; the final order uses the scores of the trees themselves.
  void write(int32_t* heads, double* values) const {
    std::vector<int> order(values_.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return values_[a] > values_[b]; });
    for (int i : order) {
      heads = std::copy_n(&trees_[static_cast<size_t>(i) * tree_.size()], tree_.size(), heads);
      *values++ = values_[i];
    }
  }

 private:
  // Handles a set without a kept tree: keeps its best tree.
  void split_off(TreeSet set) {
    if (!find_best(set)) return;
    set.kept = values_.size();
    keep();
    rank(set, workspace_.cheapest_swap(tree_.data()));
  }

  // Handles a set whose kept tree is a best one. If trees tie, the search may find another one: that one
  // comes next, and any arc in which they differ separates it from the kept tree.
  void narrow(TreeSet set) {
    find_best(set);
    const int32_t* kept = &trees_[set.kept * tree_.size()];
    const int word = static_cast<int>(std::mismatch(tree_.begin(), tree_.end(), kept).first - tree_.begin());
    rank(set, word <= n_ ? SpanningTreeWorkspace::Swap{kept[word], word, 0} : workspace_.cheapest_swap(kept));
  }

  bool find_best(const TreeSet& set) {
    workspace_.load(scores_, n_, single_root_);
    restrict_to(set);
    for (int above = set.parent; above >= 0; above = sets_[above].parent) restrict_to(sets_[above]);
    if (!workspace_.contract(false)) return false;
    workspace_.expand(tree_.data());
    return true;
  }

  // Queues the set under the score of its next tree, if there is one.
  void rank(TreeSet set, SpanningTreeWorkspace::Swap swap) {
    if (swap.head < 0) return;
    set.swap = swap;
    queue_.emplace(tree_score(scores_, n_, tree_.data()) - swap.loss, static_cast<int>(sets_.size()));
    sets_.push_back(set);
  }

  void restrict_to(const TreeSet& set) {
    if (set.modifier == 0) return;  // the set of all trees
    if (set.required) {
      workspace_.require(set.head, set.modifier);
    } else {
      workspace_.forbid(set.head, set.modifier);
    }
  }

  void keep() {
    trees_.insert(trees_.end(), tree_.begin(), tree_.end());
    values_.push_back(tree_score(scores_, n_, tree_.data()));
  }

  const double* scores_;
  int n_;
  bool single_root_;
  SpanningTreeWorkspace& workspace_;
  std::vector<int32_t> tree_;
  std::vector<TreeSet> sets_;
  std::priority_queue<std::pair<double, int>> queue_;
  std::vector<int32_t> trees_;
  std::vector<double> values_;
};

}  // namespace

int spanning_tree_k_best(const double* scores, int n, bool single_root, int k, int32_t* heads, double* values,
                         SpanningTreeWorkspace& workspace) {
  KBestSearch search(scores, n, single_root, workspace);
  const int found = search.run(k);
  search.write(heads, values);
  return found;
}

}  // namespace arcwise
