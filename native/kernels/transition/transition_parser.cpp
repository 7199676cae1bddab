#include "kernels/transition/transition_parser.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

struct FoundTree {
  std::vector<int32_t> heads, labels;  // of words 1..n
  double score, mass = 0;
  std::vector<double> head_probability, label_probability;
};

struct SentenceParse {
  std::vector<FoundTree> trees;
  double entropy = 0;
  std::vector<GraphArc> arcs;
  bool dead_end = false;
};

FoundTree tree_of(const TransitionState& state, double score) {
  FoundTree tree;
  tree.score = score;
  for (int m = 1; m <= state.words(); ++m) {
    tree.heads.push_back(state.head(m));
    tree.labels.push_back(state.node(m).label);
  }
  return tree;
}

class SentenceParser {
 public:
  SentenceParser(const TransitionScorer& scorer, const TransitionParseOptions& options)
      : scorer_(scorer), options_(options), move_scorer_(scorer), heap_(EasyFirst::fits(scorer.system)) {}

  SentenceParse parse(const TransitionData& data, size_t sentence) {
    move_scorer_.begin(data, sentence, nullptr);
    SentenceParse out;
    if (options_.beam == 1)
      greedy(data.words(sentence), out);
    else
      beam(data.words(sentence), out);
    if (options_.confidence) weigh(out, options_.k);
    if (out.trees.size() > static_cast<size_t>(options_.k)) out.trees.resize(options_.k);
    return out;
  }

 private:
  void add(TransitionState& state, double score, SentenceParse& out) {
    const bool forced = state.complete(0) > 0;
    if (out.trees.empty()) {
      out.dead_end = forced;
      out.arcs = state.arcs();
    }
    FoundTree tree = tree_of(state, score);
    const bool known = std::any_of(out.trees.begin(), out.trees.end(), [&](const FoundTree& t) {
      return t.heads == tree.heads && t.labels == tree.labels;
    });
    if (!known) out.trees.push_back(std::move(tree));  // different derivations of the same tree count once
  }

  void greedy(int words, SentenceParse& out) {
    state_.start(scorer_.system, words, options_.single_root);
    const double score =
        heap_ ? easy_first_.parse(move_scorer_, state_) : transition_greedy(move_scorer_, state_, moves_);
    add(state_, score, out);
  }

  void beam(int words, SentenceParse& out) {
    derivations_.clear();
    beam_.start(scorer_.system, words, options_.single_root, derivations_);
    while (beam_.step(move_scorer_, options_.beam)) {
    }
    for (const BeamItem& item : beam_.items()) {
      state_ = item.state;
      add(state_, item.score, out);
    }
  }

  // p(tree) = exp(score / temperature) / sum over the trees of the final beam. Hypotheses that left the beam
  // do not count, so this measures agreement among the survivors and is not a distribution over all trees.
  void weigh(SentenceParse& out, int k) const {
    const double best = out.trees[0].score;
    double sum = 0;
    for (FoundTree& t : out.trees) sum += t.mass = std::exp((t.score - best) / options_.temperature);
    for (FoundTree& t : out.trees) {
      t.mass /= sum;
      if (t.mass > 0) out.entropy -= t.mass * std::log(t.mass);
    }
    for (size_t i = 0; i < std::min(out.trees.size(), static_cast<size_t>(k)); ++i)
      agree(out.trees[i], out.trees);
  }

  // Sums the mass of the trees that share heads, or heads and labels, with one of them.
  static void agree(FoundTree& tree, const std::vector<FoundTree>& trees) {
    const size_t words = tree.heads.size();
    tree.head_probability.assign(words, 0);
    tree.label_probability.assign(words, 0);
    for (const FoundTree& t : trees)
      for (size_t m = 0; m < words; ++m) {
        if (t.heads[m] != tree.heads[m]) continue;
        tree.head_probability[m] = std::min(tree.head_probability[m] + t.mass, 1.0);
        if (t.labels[m] == tree.labels[m])
          tree.label_probability[m] = std::min(tree.label_probability[m] + t.mass, 1.0);
      }
  }

  const TransitionScorer& scorer_;
  const TransitionParseOptions& options_;
  MoveScorer move_scorer_;
  bool heap_;
  EasyFirst easy_first_;
  Beam beam_;
  Derivations derivations_;
  TransitionState state_;
  std::vector<ScoredMove> moves_;
};

}  // namespace

TransitionParses transition_parse_batch(const TransitionScorer& scorer, const TransitionData& data,
                                        const TransitionParseOptions& options, int threads) {
  std::vector<SentenceParse> parses(data.sentences());
  std::vector<SentenceParser> workers;
  for (int w = 0; w < std::max(threads, 1); ++w) workers.emplace_back(scorer, options);
  parallel_for(data.sentences(), threads,
               [&](size_t s, size_t worker) { parses[s] = workers[worker].parse(data, s); });
  TransitionParses out;
  auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  for (SentenceParse& p : parses) {
    out.counts.push_back(static_cast<int32_t>(p.trees.size()));
    for (const FoundTree& t : p.trees) {
      append(out.heads, t.heads);
      append(out.labels, t.labels);
      out.scores.push_back(t.score);
      append(out.head_probability, t.head_probability);
      append(out.label_probability, t.label_probability);
      out.log_probability.push_back(options.confidence ? std::log(t.mass) : 0);
    }
    out.entropy.push_back(p.entropy);
    out.dead_ends += p.dead_end;
    out.graphs.push_back(std::move(p.arcs));
  }
  return out;
}

}  // namespace arcwise
