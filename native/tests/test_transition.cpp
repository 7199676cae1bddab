// The transition-based parser under the sanitizers: random walks through every system, oracles and coverage
// on the way, training by every rule, greedy and beam parsing; what comes out are trees.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>

#include "kernels/base/random.hpp"
#include "kernels/transition/transition_coverage.hpp"
#include "kernels/transition/transition_parser.hpp"
#include "kernels/transition/transition_trainer.hpp"
#include "kernels/treebanks/treebank_layout.hpp"

using namespace arcwise;

namespace {

void check(bool holds, const char* what, const std::string& where) {
  if (holds) return;
  std::fprintf(stderr, "test_transition: %s (%s)\n", what, where.c_str());
  std::exit(1);
}

struct Named {
  std::string name;
  TransitionSystem system;
};

constexpr auto L = MoveKind::left_arc, R = MoveKind::right_arc;
constexpr int ALL = TransitionSystem::UNBOUNDED;
const Transition SHIFT{MoveKind::shift}, REDUCE{MoveKind::reduce, true, false, Periphery::left};

std::vector<Named> systems() {
  std::vector<Named> out = {
      {"arc-standard", {2, 1, 2, false, false, {{L}, {R}, SHIFT}}},
      {"arc-eager", {2, 1, 2, true, false, {{L}, {R, false, true}, REDUCE, SHIFT}}},
      {"easy-first", {ALL, 1, ALL, true, false, {{L}, {R}}}},
      {"hybrid",
       {3,
        1,
        2,
        true,
        false,
        {{L, true, false, Periphery::right}, {R, true, false, Periphery::not_right}, SHIFT}}},
      {"attardi",
       {3,
        2,
        2,
        false,
        false,
        {{L, true, false, Periphery::right}, {R, true, false, Periphery::right}, SHIFT}}},
      {"non-projective", {ALL, 3, ALL, true, false, {{L}, {R}}}},
      {"arcs that keep their modifiers",
       {4, 2, 4, false, false, {{L, false}, {R, false, true}, {R}, {MoveKind::reduce}, SHIFT}}},
  };
  for (int k = 2; k <= 5; ++k)
    for (int d = 1; d <= 4; ++d)
      out.push_back({"K" + std::to_string(k) + "D" + std::to_string(d),
                     {k, d, k, d % 2 == 1, false, {{L}, {R}, SHIFT}}});
  return out;
}

void check_tree(const int32_t* heads, int words, bool single_root, const std::string& where) {
  int roots = 0;
  for (int m = 1; m <= words; ++m) {
    roots += heads[m] == 0;
    int32_t above = m;
    for (int steps = 0; above != 0; ++steps) {
      check(above > 0 && above <= words && steps <= words, "not a tree", where);
      above = heads[above];
    }
  }
  check(roots >= 1 && (!single_root || roots == 1), "wrong number of roots", where);
}

// A random derivation to its end or to a dead end, with the oracles asked about a gold tree on the way.
TransitionState walk(const Named& named, int words, bool single_root, const GoldArcs* gold, Random& random) {
  const Decomposable decomposable = decomposable_as(named.system);
  TransitionOracle oracle;
  TransitionState state;
  state.start(named.system, words, single_root);
  bool in_reach = gold && oracle.derive(state, *gold, nullptr);
  while (!state.is_final()) {
    std::vector<Move> legal, correct;
    state.for_each_move([&](const Move& move, int) { legal.push_back(move); });
    if (legal.empty()) break;
    const Move move = legal[random.below(static_cast<uint32_t>(legal.size()))];
    check(state.is_legal(move), "a listed move is not legal", named.name);
    if (gold && decomposable != Decomposable::no)
      check(TransitionOracle::cost(decomposable, state, *gold, move) >= 0, "a negative cost", named.name);
    if (gold && named.system.bottom_up())
      check(TransitionOracle::arcs_lost(state, *gold, move) >= 0, "a negative cost", named.name);
    if (in_reach) {
      oracle.correct_moves(state, *gold, correct);
      check(!correct.empty(), "no correct move though the tree is in reach", named.name);
      in_reach = std::any_of(correct.begin(), correct.end(), [&](const Move& c) {
        return c.transition == move.transition && c.left == move.left && c.right == move.right;
      });
    }
    state.apply(move);
    check(!in_reach || oracle.derive(state, *gold, nullptr), "a correct move loses the tree", named.name);
  }
  return state;
}

std::vector<int32_t> heads_of(const TransitionState& state) {
  std::vector<int32_t> heads;
  for (int t = 0; t <= state.words(); ++t) heads.push_back(state.head(t));
  return heads;
}

void walk_through(const Named& named, Random& random) {
  for (int round = 0; round < 30; ++round) {
    const int words = 1 + static_cast<int>(random.below(9));
    TransitionState built = walk(named, words, false, nullptr, random);
    built.complete(0);
    const std::vector<int32_t> heads = heads_of(built);
    check_tree(heads.data(), words, false, named.name);
    const GoldArcs gold(heads.data(), nullptr, words);
    for (bool single_root : {false, true}) {
      TransitionState other = walk(named, words, single_root, &gold, random);
      other.complete(0);
      check_tree(heads_of(other).data(), words, single_root, named.name);
    }
  }
  check(!transition_trees(named.system, 3, true).empty(), "no tree over three words", named.name);
}

// Every tree over four words: what is derivable stays, what is not may get a near tree that is.
void cover(const Named& named) {
  constexpr int N = 4;
  std::vector<int32_t> heads;
  std::vector<uint32_t> starts{0};
  for (int code = 0; code < 625; ++code) {
    int32_t tree[N + 1] = {-1, code % 5, code / 5 % 5, code / 25 % 5, code / 125};
    bool is_tree = true;
    for (int m = 1; m <= N && is_tree; ++m) {
      int32_t above = m;
      for (int steps = 0; above > 0 && steps <= N; ++steps) above = tree[above];
      is_tree = above == 0;
    }
    if (!is_tree) continue;
    heads.insert(heads.end(), tree + 1, tree + N + 1);
    starts.push_back(static_cast<uint32_t>(heads.size()));
  }
  const size_t sentences = starts.size() - 1;
  check(sentences == 125, "Cayley counts 125 trees over four words", named.name);
  std::vector<uint8_t> derivable(sentences), found(sentences);
  std::vector<int32_t> nearest(heads.size());
  transition_coverage_batch(named.system, false, heads.data(), starts.data(), sentences, 2, derivable.data(),
                            found.data(), nearest.data());
  const size_t built = transition_trees(named.system, N, false).size() / N;
  check(std::accumulate(derivable.begin(), derivable.end(), size_t{0}) == built,
        "as many trees are derivable as are built", named.name);
  for (size_t s = 0; s < sentences; ++s)
    if (found[s]) {
      std::vector<int32_t> tree{-1};
      tree.insert(tree.end(), nearest.begin() + s * N, nearest.begin() + (s + 1) * N);
      check_tree(tree.data(), N, false, named.name);
    }
}

const char* const TEXT =
    "1\tThe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_\n"
    "3\tsleeps\t_\tVERB\t_\t_\t0\troot\t_\t_\n4\t.\t_\tPUNCT\t_\t_\t3\tpunct\t_\t_\n\n"
    "1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    "1\tA\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tdog\t_\tNOUN\t_\t_\t4\tobj\t_\t_\n"
    "3\tshe\t_\tPRON\t_\t_\t4\tnsubj\t_\t_\n4\tsaw\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
    "5\tthere\t_\tADV\t_\t_\t4\tadvmod\t_\t_\n\n";

TransitionScorer small_scorer(const TransitionSystem& system) {
  const std::vector<std::string> atoms = {"lower", "upos", "suffix3"};
  TransitionScorer scorer;
  scorer.system = system;
  scorer.atom_names = atoms;
  for (const std::string& name : atoms) scorer.atoms.push_back(atom_spec(name));
  scorer.move_templates = TransitionTemplates(
      {"a:upos b:upos", "a:lower b:suffix3", "a<:upos b>:upos", "a-1:upos b+1:upos distance",
       "a.l1:label b.r1:label", "a:lefts b:rights between", "mid:upos", "a.h:upos a.hh:upos", "b>>>:upos"},
      atoms);
  scorer.label_templates = TransitionTemplates({"a:upos b:upos", "a:lower", "b:lower distance"}, atoms);
  scorer.labels = 6;
  scorer.move_bits = scorer.label_bits = 8;
  scorer.moves = Table<float>((size_t{1} << 8) * scorer.move_stride());
  scorer.label_rows = Table<float>((size_t{1} << 8) * scorer.label_stride());
  return scorer;
}

void parse(const TransitionScorer& scorer, const TransitionData& data, const std::string& name) {
  for (int beam : {1, 4, 64}) {
    const TransitionParses parses = transition_parse_batch(scorer, data, {beam, true, 3, true, 2.0}, 2);
    size_t at = 0;
    for (size_t s = 0; s < data.sentences(); ++s)
      for (int32_t k = 0; k < parses.counts[s]; ++k, at += data.words(s)) {
        std::vector<int32_t> heads{-1};
        heads.insert(heads.end(), parses.heads.begin() + at, parses.heads.begin() + at + data.words(s));
        check_tree(heads.data(), data.words(s), true, name);
      }
    check(at == parses.heads.size(), "trees do not make up the whole", name);
  }
}

void learn(const Named& named) {
  const std::string text = TEXT;
  const TreebankLayout layout = treebank_layout(text);
  TransitionScorer scorer = small_scorer(named.system);
  TransitionData data = transition_data(scorer, layout, text.data());
  for (size_t s = 0; s < data.sentences(); ++s) {
    data.heads.insert(data.heads.end(), layout.heads.begin() + data.starts[s],
                      layout.heads.begin() + data.starts[s + 1]);
    for (int w = 0; w < data.words(s); ++w) data.labels.push_back(static_cast<int16_t>(w % scorer.labels));
  }
  std::vector<int64_t> order;
  for (size_t s = 0; s < data.sentences(); ++s) {
    TransitionState state;
    state.start(named.system, data.words(s), true);
    std::vector<int32_t> heads{-1};
    heads.insert(heads.end(), data.heads.begin() + data.starts[s], data.heads.begin() + data.starts[s + 1]);
    TransitionOracle oracle;
    if (oracle.derive(state, GoldArcs(heads.data(), nullptr, data.words(s)), nullptr))
      order.push_back(static_cast<int64_t>(s));
  }
  for (UpdateRule rule : {UpdateRule::local, UpdateRule::early, UpdateRule::max_violation})
    for (double bound : {0.0, 0.5}) {
      const int beam = rule == UpdateRule::local ? 1 : 4;
      TransitionTrainer trainer(scorer, data, {rule, beam, true, 0.9, 0.5, bound, 1, 7});
      for (int epoch = 1; epoch <= 4; ++epoch) trainer.learn(epoch, order.data(), order.size(), epoch > 1);
      std::vector<float> moves(scorer.moves.size()), labels(scorer.label_rows.size());
      trainer.average(moves.data(), labels.data());
    }
  parse(scorer, data, named.name);
}

// DAG systems: random derivations end in acyclic graphs, which the oracle builds again.
void graphs(Random& random) {
  const Named named{"dag", {2, 1, 2, true, true, {{L, false}, {R, false}, REDUCE, SHIFT}}};
  for (int round = 0; round < 200; ++round) {
    const int words = 1 + static_cast<int>(random.below(6));
    const TransitionState built = walk(named, words, false, nullptr, random);
    if (!built.is_final()) continue;
    check(transition_graph_coverage(named.system, {built.arcs()}, {words})[0] == 1,
          "a graph that was built is not derivable", named.name);
  }
}

}  // namespace

int main() {
  Random random(11);
  for (const Named& named : systems()) {
    walk_through(named, random);
    cover(named);
    learn(named);
  }
  graphs(random);
  std::puts("test_transition: ok");
}
