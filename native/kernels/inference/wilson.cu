// Exact samples of non-projective trees on a GPU: wilson.hpp explains the algorithm and why a walk that takes
// too long can be replaced by another method. Walks use one thread per draw, elimination one block.
#include "kernels/base/cuda_random.cuh"
#include "kernels/inference/tree_elimination.cuh"

namespace arcwise {

struct WilsonArguments {
  const void* scores;  // (sentences, side, side)
  const int32_t* lengths;
  const void *log_partition, *marginals;  // in the scores' type; marginals only with a single root
  int64_t* heads;                         // (count, sentences, side)
  int32_t* unfinished;  // (count, sentences): 0, or 1 + the word under the root (1: several roots)
  char* workspace;      // one slice per block, or null if everything is in shared memory
  int64_t slice;
  uint64_t seed;
  int32_t sentences, side, count;
  int32_t single_root, in_double;
};

struct Reading {
  const WilsonArguments& arguments;
  DEVICE double at(const void* from, int64_t place) const {
    return arguments.in_double ? static_cast<const double*>(from)[place]
                               : static_cast<const float*>(from)[place];
  }
  DEVICE double arc(const void* from, int sentence, int head, int modifier) const {
    return at(from, (static_cast<int64_t>(sentence) * arguments.side + head) * arguments.side + modifier);
  }
  DEVICE bool has_tree(int sentence) const {
    return at(arguments.log_partition, sentence) > minus_infinity();
  }
  DEVICE int64_t draw_place(int draw, int sentence) const {
    return static_cast<int64_t>(draw) * arguments.sentences + sentence;
  }
};

// As many draws of one sentence as the block has threads.
struct Walks {
  const WilsonArguments& arguments;
  Reading read;
  int sentence, first_draw, n, stride;
  bool single;
  short* next;  // next[word * threads + thread]: the head of a word in a thread's walk
  // Row m: prefix sums of the weights of word m's heads 0..n; row 0: of the words under a single root.
  double* sums;
  static constexpr int IN_TREE = 1 << 14;

  DEVICE Walks(const WilsonArguments& arguments, int sentence, int first_draw)
      : arguments(arguments),
        read{arguments},
        sentence(sentence),
        first_draw(first_draw),
        n(arguments.lengths[sentence]),
        stride(arguments.side | 1),
        single(arguments.single_root) {
    char* memory = shared_memory();
    next = reinterpret_cast<short*>(memory);
    memory += (static_cast<int64_t>(arguments.side) * thread_count() * 2 + 15) / 16 * 16;
    sums = arguments.workspace
               ? reinterpret_cast<double*>(arguments.workspace + block_index() * arguments.slice)
               : reinterpret_cast<double*>(memory);
  }

  DEVICE short& next_of(int word) const { return next[word * thread_count() + thread_index()]; }

  DEVICE void run() {
    const bool has_tree = read.has_tree(sentence) && n > 0;
    if (has_tree) sum_weights();
    sync_block();
    const int draw = first_draw + thread_index();
    if (draw < arguments.count) {
      CounterRandom random(arguments.seed, sentence, draw, 0);
      const int root = has_tree && single ? choose(sums, random) : 0;
      const bool finished = !has_tree || walk(root, random);
      arguments.unfinished[read.draw_place(draw, sentence)] = finished ? 0 : 1 + root;
    }
    sync_block();
    const int draws =
        arguments.count - first_draw < thread_count() ? arguments.count - first_draw : thread_count();
    for (int i = thread_index(); i < draws * arguments.side; i += thread_count()) {
      const int d = i / arguments.side, m = i % arguments.side;
      const bool is_word = has_tree && m > 0 && m <= n;
      arguments.heads[read.draw_place(first_draw + d, sentence) * arguments.side + m] =
          is_word ? next[m * thread_count() + d] & ~IN_TREE : -1;
    }
    sync_block();
  }

  // Computes prefix sums of w(h->m) over h, relative to the largest.
  DEVICE void sum_weights() const {
    for (int m = thread_index(); m <= n; m += thread_count()) {
      double largest = minus_infinity(), sum = 0;
      double* to = sums + static_cast<int64_t>(m) * stride;
      if (m == 0) {
        for (int word = 0; word <= n; ++word)
          to[word] = sum += single && word > 0 ? read.arc(arguments.marginals, sentence, 0, word) : 0;
        continue;
      }
      for (int h = single; h <= n; ++h) {
        const double score = h == m ? minus_infinity() : read.arc(arguments.scores, sentence, h, m);
        largest = score > largest ? score : largest;
      }
      for (int h = 0; h <= n; ++h) {
        const bool usable = h != m && !(single && h == 0) && largest != minus_infinity();
        to[h] = sum += usable ? exp(read.arc(arguments.scores, sentence, h, m) - largest) : 0;
      }
    }
  }

  // Draws an index 0..n with probability proportional to the increment of the sums there: the first whose sum
  // exceeds a random fraction of the total or, if rounding makes that the total itself, the first that
  // reaches it.
  DEVICE int choose(const double* row, CounterRandom& random) const {
    const double at = random.uniform() * row[n];
    const bool is_end = !(row[n] > at);
    int low = 0, high = n;
    while (low < high) {
      const int middle = (low + high) / 2;
      if (is_end ? row[middle] >= row[n] : row[middle] > at)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

  // Wilson's algorithm; returns false if it takes more steps than an elimination is worth.
  DEVICE bool walk(int root, CounterRandom& random) const {
    int64_t steps_left = 64 + static_cast<int64_t>(n) * n;
    for (int m = 0; m <= n; ++m) next_of(m) = 0;
    next_of(root) = next_of(0) = IN_TREE;
    for (int start = 1; start <= n; ++start) {
      // A loop is erased when its first word gets a new head.
      for (int at = start; !(next_of(at) & IN_TREE); at = next_of(at)) {
        if (--steps_left < 0) return false;
        next_of(at) = static_cast<short>(choose(sums + static_cast<int64_t>(at) * stride, random));
      }
      for (int at = start, above; !(next_of(at) & IN_TREE); at = above) {
        above = next_of(at);
        next_of(at) = static_cast<short>(above | IN_TREE);
      }
    }
    return true;
  }
};

// Draws a tree word by word, as TreeDraw of wilson.cpp does. States 0..n-1 are words and halves of them are
// ranges, so what a level keeps and what it eliminates are two ranges. `root`: the word that takes the place
// of word 0, or 0.
struct TreeDraw {
  using Number = WideNumber;
  using Team = Lanes<8>;
  struct Part {
    int first, kept, other_first, other;
    DEVICE int row(int state) const {
      return state >= first && state < first + kept ? state - first : kept + state - other_first;
    }
    DEVICE int state(int row) const { return row < kept ? first + row : other_first + row - kept; }
    DEVICE int states() const { return kept + other; }
  };

  const WilsonArguments& arguments;
  Reading read;
  int sentence, draw, root, n;
  Watch* watch;
  double* shifts;
  Number *escapes, *scratch, *matrices;  // escapes[1 + state]; one scratch row per team
  int* heads;                            // heads[state]: 0, or 1 + a state

  DEVICE TreeDraw(const WilsonArguments& arguments, int sentence, int draw, int root)
      : arguments(arguments), read{arguments}, sentence(sentence), draw(draw), root(root) {
    n = arguments.lengths[sentence] - (root > 0);
    char* memory = shared_memory();
    watch = reinterpret_cast<Watch*>(memory);
    escapes = reinterpret_cast<Number*>(memory + 32);
    shifts = reinterpret_cast<double*>(escapes + arguments.side);
    heads = reinterpret_cast<int*>(shifts + arguments.side);
    scratch = reinterpret_cast<Number*>(arguments.workspace + block_index() * arguments.slice);
    matrices = scratch + static_cast<int64_t>(arguments.side) * Team::groups();
  }

  DEVICE int word(int place) const {  // of heads and of 1 + states
    return root == 0 ? place : place == 0 ? root : place < root ? place : place + 1;
  }
  DEVICE double score(int head, int state) const {
    return head == 1 + state ? minus_infinity()
                             : read.arc(arguments.scores, sentence, word(head), word(1 + state));
  }
  DEVICE Number weight(int head, int state) const {
    const double left = score(head, state) - shifts[state];
    return as<Number>::exp(left > LOWEST_SCORE || left == minus_infinity() ? left : LOWEST_SCORE);
  }

  // The states that a level keeps and eliminates on the way to one state; level 0 keeps all.
  DEVICE Part part(int level, int state) const {
    Part part{0, n, 0, 0};
    for (int l = 0; l < level; ++l) {
      const int half = (part.kept + 1) / 2, middle = part.first + half, end = part.first + part.kept;
      part = state >= middle ? Part{middle, end - middle, part.first, half}
                             : Part{part.first, half, middle, end - middle};
    }
    return part;
  }
  DEVICE Number* matrix(int level) const {
    int64_t place = 0;
    for (int l = 0; l < level; ++l) place += static_cast<int64_t>(most(l)) * (1 + most(l));
    return matrices + place;
  }
  DEVICE int most(int level) const {  // rows of a level
    int rows = n;
    for (int l = 1; l < level; ++l) rows = (rows + 1) / 2;
    return rows;
  }
  DEVICE Number* row(int level, int row) const {
    return matrix(level) + static_cast<int64_t>(row) * (1 + most(level));
  }

  DEVICE void run() {
    CounterRandom random(arguments.seed, sentence, draw, 1);
    fill();
    for (int state = 0; state < n; ++state) {
      int level = 1;  // first level where this state's path differs from its predecessor's
      while (state > 0 && part(level, state).first == part(level, state - 1).first) ++level;
      if (state > 0) write_decided(level - 1, state);
      for (; part(level - 1, state).kept > 1; ++level) eliminate(level, state);
      draw_head(level - 1, state, random.uniform());
    }
    int64_t* to = arguments.heads + read.draw_place(draw, sentence) * arguments.side;
    if (root > 0 && thread_index() == 0) to[root] = 0;
    for (int state = thread_index(); state < n; state += thread_count())
      to[word(1 + state)] = word(heads[state]);
    sync_block();
  }

  DEVICE void fill() const {
    for (int state = thread_index(); state < n; state += thread_count()) {
      double highest = minus_infinity();
      for (int h = 0; h <= n; ++h) highest = score(h, state) > highest ? score(h, state) : highest;
      shifts[state] = highest;
    }
    sync_block();
    for (int i = thread_index(); i < n * (n + 1); i += thread_count())
      row(0, i / (n + 1))[i % (n + 1)] = weight(i % (n + 1), i / (n + 1));
    sync_block();
  }

  // Builds the system of a level from the level above, with the kept states in front and without the others.
  DEVICE void eliminate(int level, int state) const {
    const Part own = part(level, state), above = part(level - 1, state);
    for (int i = Team::group(); i < own.states(); i += Team::groups()) {
      const Number* from = row(level - 1, above.row(own.state(i)));
      Number* to = row(level, i);
      for (int c = Team::lane(); c <= own.states(); c += Team::COUNT)
        to[c] = from[c == 0 ? 0 : 1 + above.row(own.state(c - 1))];
    }
    sync_block();
    const int team = Team::group(), teams = Team::groups();
    Panel<Number, 1, Team> panel;
    panel.rows = matrix(level);
    panel.stride = 1 + most(level);
    for (int step = 0; step < own.other; ++step) {
      if (step > 0 && team == (step - 1) % teams) panel.write_rows();
      sync_warp();
      panel.top = own.states() - 1 - step;
      panel.count = 1;
      panel.find(*watch, nullptr);
      panel.update<1>(own.states(), team, teams, 0);
      sync_block();
    }
    if (own.other > 0 && team == (own.other - 1) % teams) panel.write_rows();
    sync_block();
  }

  // At a leaf, all words except one are eliminated: u_m = 0, u_e = root_e + Σ_a row_e[a] u_a over kept states
  // a, level by level. p(head of m = h) ∝ w(h->m) u_h, and w(0->m) for the root.
  DEVICE void draw_head(int deepest, int state, double left) const {
    if (thread_index() == 0) escapes[0] = {1, 0}, escapes[1 + state] = {};
    sync_block();
    for (int level = deepest; level > 0; --level) {
      const Part own = part(level, state);
      // Equally often for every team of a warp.
      for (int first = 0; first < own.other; first += Team::groups()) {
        const int e = first + Team::group();
        Number sum{};
        if (e < own.other) {
          const Number* from = row(level, own.kept + e);
          for (int a = Team::lane(); a < own.kept; a += Team::COUNT)
            sum += from[1 + a] * escapes[1 + own.first + a];
          if (Team::lane() == 0) sum += from[0];
        }
        sum = Team::sum(sum);
        if (e < own.other && Team::lane() == 0) escapes[1 + own.other_first + e] = sum;
      }
      sync_block();
    }
    for (int h = thread_index(); h <= n; h += thread_count()) escapes[h] *= weight(h, state);
    sync_block();
    if (thread_index() == 0) {
      Number total{};
      for (int h = 0; h <= n; ++h) total += escapes[h];
      int last = 0;
      for (int h = 0; h <= n && left >= 0; ++h) {
        const double probability = share_of(escapes[h], total);
        if (probability == 0) continue;
        last = h;
        left -= probability;
      }
      heads[state] = last;
    }
    sync_block();
  }

  // Writes the rows of the decided words before `end` in the system of a level: their heads with certainty,
  // or where those lead if eliminated.
  DEVICE void write_decided(int level, int end) const {
    const Part own = part(level, end);
    // Exit distribution of the word: index 0 is the root.
    Number* to = scratch + static_cast<int64_t>(Team::group()) * arguments.side;
    // Equally often for every team of a warp.
    for (int first = own.first; first < end; first += Team::groups()) {
      const int state = first + Team::group();
      const bool busy = state < end;
      for (int h = Team::lane(); busy && h <= n; h += Team::COUNT)
        to[h] = h == heads[state] ? Number{1, 0} : Number{};
      sync_warp();
      for (int l = 1; l <= level; ++l) {
        const Part above = part(l, end);
        for (int a = Team::lane(); busy && a <= above.kept; a += Team::COUNT) {
          Number sum = to[a == 0 ? 0 : above.first + a];
          for (int e = 0; e < above.other; ++e) {
            const Number share = to[1 + above.other_first + e];
            if (!is_zero(share)) sum += share * row(l, above.kept + e)[a];
          }
          to[a == 0 ? 0 : above.first + a] = sum;
        }
        sync_warp();
      }
      for (int a = Team::lane(); busy && a <= own.kept; a += Team::COUNT)
        row(level, own.row(state))[a] = to[a == 0 ? 0 : own.first + a];
      sync_warp();
    }
    sync_block();
  }
};

}  // namespace arcwise

using namespace arcwise;

KERNEL wilson_walk(WilsonArguments arguments) {
  const int rounds = (arguments.count + thread_count() - 1) / thread_count();
  for (int i = block_index(); i < arguments.sentences * rounds; i += block_count())
    Walks(arguments, i / rounds, i % rounds * thread_count()).run();
}

KERNEL BOUNDS(256, 1) wilson_eliminate(WilsonArguments arguments) {
  for (int i = block_index(); i < arguments.sentences * arguments.count; i += block_count()) {
    const int root = arguments.unfinished[i];
    if (root > 0) TreeDraw(arguments, i % arguments.sentences, i / arguments.sentences, root - 1).run();
  }
}
