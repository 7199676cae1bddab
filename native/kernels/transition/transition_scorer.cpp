#include "kernels/transition/transition_scorer.hpp"

#include <algorithm>
#include <utility>

#include "kernels/base/hashing.hpp"

namespace arcwise {
namespace {

constexpr uint64_t UNKNOWN_WORD = 0xA0761D6478BD642FULL;
constexpr uint64_t ROOT_ATOM = 0xE7037ED1A0B428DBULL;

bool shift_looks_left(const TransitionSystem& system) {
  return system.capacity > 2 && system.capacity != TransitionSystem::UNBOUNDED &&
         std::all_of(system.transitions.begin(), system.transitions.end(),
                     [](const Transition& t) { return t.periphery == Periphery::none; });
}

}  // namespace

TransitionData transition_data(const TransitionScorer& scorer, const TreebankLayout& layout,
                               const char* data) {
  TransitionData out;
  out.atom_count = scorer.atoms.size();
  out.atoms = token_atoms(layout, data, scorer.atoms, 0, layout.words());
  out.starts = layout.sentence_words;
  out.tags.resize(layout.words());
  for (size_t w = 0; w < layout.words(); ++w) {
    const uint64_t tag = out.atoms[w * out.atom_count + scorer.tag_atom];
    out.tags[w] = static_cast<uint8_t>(tag % 61);
  }
  return out;
}

MoveScorer::MoveScorer(const TransitionScorer& scorer)
    : scorer_(scorer),
      conjoin_distance_(scorer.system.max_distance > 1),
      conjoin_in_labels_(conjoin_distance_ && scorer.distance_in_labels) {
  for (const Transition& t : scorer.system.transitions) arc_index_.push_back(t.is_arc() ? arcs_++ : -1);
  block_size_ = scorer.move_stride() + arcs_ * scorer.label_stride();
  move_hashes_.resize(scorer.move_templates.size());
  label_hashes_.resize(scorer.label_templates.size());
  table_.resize(256);
}

void MoveScorer::begin(const TransitionData& data, size_t sentence, const uint8_t* dropped) {
  const int words = data.words(sentence);
  const size_t count = data.atom_count, first = data.starts[sentence];
  atoms_.resize((words + 1) * count);
  tags_.resize(words + 1);
  for (size_t k = 0; k < count; ++k) atoms_[k] = ROOT_ATOM;
  std::copy_n(data.atoms.begin() + first * count, words * count, atoms_.begin() + count);
  std::copy_n(data.tags.begin() + first, words, tags_.begin() + 1);
  for (int w = 1; w <= words; ++w) {
    uint64_t& word = atoms_[w * count + scorer_.word_atom];
    if (dropped ? dropped[w - 1] != 0 : scorer_.vocabulary.rank(word) < 0) word = UNKNOWN_WORD;
  }
  sentence_ = {atoms_.data(), tags_.data(), words};
  forget();
}

void MoveScorer::forget() {
  for (uint32_t at : used_) table_[at] = Entry{};
  used_.clear();
  blocks_.clear();
  labels_of_ = 0;
}

MoveScorer::Pair MoveScorer::pair_of(const TransitionState& state, const Move& move) {
  if (move.right != NO_TOKEN) {
    int distance = 1;
    for (int32_t t = state.after(move.left); t != move.right; t = state.after(t)) ++distance;
    return {move.left, move.right, distance};
  }
  if (move.left != NO_TOKEN && move.left != state.top()) return {move.left, state.after(move.left), 1};
  const int32_t b = state.top();
  return {b == NO_TOKEN ? NO_TOKEN : state.before(b), b, 1};
}

// A SHIFT pushes the leftmost active token out of reach. If any active pair may be joined, the move also
// concerns that pair, and its score is the sum over both.
std::optional<MoveScorer::Pair> MoveScorer::pushed_out(const TransitionState& state, const Move& move) {
  const int active = std::min(state.operative(), state.system().capacity);
  if (move.left != NO_TOKEN || active <= 2 || !shift_looks_left(state.system())) return std::nullopt;
  int32_t b = state.top();
  for (int place = 2; place < active; ++place) b = state.before(b);
  return Pair{state.before(b), b, 1};
}

void MoveScorer::conjoin_distance(const PairContext& context, uint64_t* hashes, int count) {
  const uint64_t place = mix(static_cast<uint64_t>(context.place_distance));
  for (int k = 0; k < count; ++k) hashes[k] = hash_pair(hashes[k], place);
}

void MoveScorer::extract_moves(const PairContext& context) {
  move_count_ = scorer_.move_templates.extract(sentence_, context, move_hashes_.data());
  if (conjoin_distance_) conjoin_distance(context, move_hashes_.data(), move_count_);
}

void MoveScorer::extract_labels(const PairContext& context) {
  label_count_ = scorer_.label_templates.extract(sentence_, context, label_hashes_.data());
  if (conjoin_in_labels_) conjoin_distance(context, label_hashes_.data(), label_count_);
}

void MoveScorer::grow() {
  std::vector<Entry> old = std::move(table_);
  table_.assign(old.size() * 2, Entry{});
  for (uint32_t& at : used_) {
    const Entry& e = old[at];
    size_t slot = e.signature & (table_.size() - 1);
    while (table_[slot].signature) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = e;
    at = static_cast<uint32_t>(slot);
  }
}

MoveScorer::Entry& MoveScorer::entry(const TransitionState& state, const Pair& pair) {
  context_ = pair_context(state, pair.a, pair.b, pair.distance);
  const uint64_t signature = context_.signature() | 1;
  if (used_.size() * 2 > table_.size()) grow();
  size_t slot = signature & (table_.size() - 1);
  while (table_[slot].signature && table_[slot].signature != signature)
    slot = (slot + 1) & (table_.size() - 1);
  Entry& e = table_[slot];
  if (e.signature) return e;
  e = {signature, static_cast<uint32_t>(blocks_.size()), 0};
  used_.push_back(static_cast<uint32_t>(slot));
  blocks_.resize(blocks_.size() + block_size_);
  extract_moves(context_);
  const float* weights = scorer_.moves.data();
  for (int k = 0; k < move_count_; ++k) __builtin_prefetch(weights + scorer_.move_row(move_hashes_[k]));
  float* out = block(e);
  const int stride = scorer_.move_stride();
  for (int k = 0; k < move_count_; ++k) {
    const float* row = weights + scorer_.move_row(move_hashes_[k]);
    for (int t = 0; t < stride; ++t) out[t] += row[t];
  }
  return e;
}

float MoveScorer::score_pushed_out(const TransitionState& state, const Move& move) {
  const std::optional<Pair> pair = pushed_out(state, move);
  return pair ? block(entry(state, *pair))[move.transition] : 0;
}

const float* MoveScorer::label_scores(Entry& e, int transition) {
  const int arc = arc_index_[transition], stride = scorer_.label_stride();
  float* out = block(e) + scorer_.move_stride() + arc * stride;
  if (e.labelled >> arc & 1) return out;
  e.labelled |= 1u << arc;
  if (labels_of_ != e.signature) {
    extract_labels(context_);
    labels_of_ = e.signature;
  }
  const float* weights = scorer_.label_rows.data();
  for (int k = 0; k < label_count_; ++k) {
    const float* row = weights + scorer_.label_row(label_hashes_[k], transition);
    for (int line = 0; line < stride; line += 16) __builtin_prefetch(row + line);
  }
  for (int k = 0; k < label_count_; ++k) {
    const float* row = weights + scorer_.label_row(label_hashes_[k], transition);
    for (int l = 0; l < stride; ++l) out[l] += row[l];
  }
  return out;
}

// The best of the labels allowed for an arc.
int MoveScorer::best_label(const Move& move, const float* labels) const {
  const int root = scorer_.root_label, count = scorer_.labels;
  auto best_of = [&](int first, int last) {
    return static_cast<int>(std::max_element(labels + first, labels + last) - labels);
  };
  if (root < 0) return best_of(0, count);
  if (is_root_arc(move)) return root;
  if (root == 0) return best_of(1, count);
  const int below = best_of(0, root);
  if (root + 1 == count) return below;
  const int above = best_of(root + 1, count);
  return labels[above] > labels[below] ? above : below;
}

void MoveScorer::add_candidates(Entry& e, const Move& move, bool all_labels, std::vector<ScoredMove>& moves) {
  const float base = block(e)[move.transition];
  if (arc_index_[move.transition] < 0) {
    moves.push_back({move, base});
    return;
  }
  const float* labels = label_scores(e, move.transition);
  Move labelled = move;
  if (all_labels) {
    const int root = scorer_.root_label;
    const bool from_root = is_root_arc(move);
    for (int l = 0; l < scorer_.labels; ++l) {
      if (root >= 0 && (l == root) != from_root) continue;
      labelled.label = static_cast<int16_t>(l);
      moves.push_back({labelled, base + labels[l]});
    }
    return;
  }
  const int best = best_label(move, labels);
  labelled.label = static_cast<int16_t>(best);
  moves.push_back({labelled, base + labels[best]});
}

void MoveScorer::score(const TransitionState& state, bool all_labels, std::vector<ScoredMove>& moves) {
  moves.clear();
  Pair last{-9, -9, 0};
  Entry* e = nullptr;
  state.for_each_move([&](const Move& move, int distance) {
    const Pair pair = distance > 0 ? Pair{move.left, move.right, distance} : pair_of(state, move);
    if (!e || pair.a != last.a || pair.b != last.b) e = &entry(state, pair);
    last = pair;
    add_candidates(*e, move, all_labels, moves);
    if (move.left != NO_TOKEN) return;
    moves.back().score += score_pushed_out(state, move);
    e = nullptr;  // a rehash may have moved it
  });
}

float MoveScorer::score(const TransitionState& state, const Move& move) {
  Entry& e = entry(state, pair_of(state, move));
  const float base = block(e)[move.transition];
  if (arc_index_[move.transition] < 0) return base + score_pushed_out(state, move);
  return base + label_scores(e, move.transition)[move.label];
}

void MoveScorer::score_pair(const TransitionState& state, int32_t a, int32_t b, int distance,
                            std::vector<ScoredMove>& moves) {
  Entry* e = nullptr;
  state.for_each_arc_between(a, b, distance, [&](const Move& move, int) {
    if (!e) e = &entry(state, {a, b, distance});
    add_candidates(*e, move, false, moves);
  });
}

// Calls of_move(place) and of_label(place) for the weights of a move.
template <typename OfMove, typename OfLabel>
void MoveScorer::for_each_weight(const TransitionState& state, const Move& move, OfMove of_move,
                                 OfLabel of_label) {
  const Pair pair = pair_of(state, move);
  const PairContext context = pair_context(state, pair.a, pair.b, pair.distance);
  auto visit_moves = [&](const PairContext& of) {
    extract_moves(of);
    for (int k = 0; k < move_count_; ++k) of_move(scorer_.move_row(move_hashes_[k]) + move.transition);
  };
  visit_moves(context);
  if (const std::optional<Pair> other = pushed_out(state, move))
    visit_moves(pair_context(state, other->a, other->b, other->distance));
  if (arc_index_[move.transition] < 0) return;
  extract_labels(context);
  labels_of_ = 0;
  for (int k = 0; k < label_count_; ++k)
    of_label(scorer_.label_row(label_hashes_[k], move.transition) + move.label);
}

void MoveScorer::update(const TransitionState& state, const Move& move, float step, AveragedTable& moves,
                        AveragedTable& labels) {
  for_each_weight(
      state, move, [&](size_t at) { moves.add(at, step); }, [&](size_t at) { labels.add(at, step); });
}

std::pair<std::vector<size_t>, std::vector<size_t>> MoveScorer::weight_places(const TransitionState& state,
                                                                              const Move& move) {
  std::pair<std::vector<size_t>, std::vector<size_t>> places;
  for_each_weight(
      state, move, [&](size_t at) { places.first.push_back(at); },
      [&](size_t at) { places.second.push_back(at); });
  return places;
}

}  // namespace arcwise
