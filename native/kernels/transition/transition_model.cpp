#include "kernels/transition/transition_model.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "kernels/base/hashing.hpp"

namespace arcwise {
namespace {

constexpr size_t HUGE_PAGE = size_t{1} << 21;
constexpr uint64_t UNKNOWN_WORD = 0xA0761D6478BD642FULL;
constexpr uint64_t WALL = 0xE7037ED1A0B428DBULL;

bool shift_looks_left(const TransitionSystem& system) {
  return system.capacity > 2 && system.capacity != TransitionSystem::UNBOUNDED &&
         std::all_of(system.transitions.begin(), system.transitions.end(),
                     [](const Transition& t) { return t.periphery == Periphery::none; });
}

}  // namespace

WeightTable::WeightTable(size_t size) : size_(size) {
  if (size == 0) return;
  const size_t bytes = (size * sizeof(float) + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  data_ = static_cast<float*>(std::aligned_alloc(HUGE_PAGE, bytes));
  if (!data_) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  madvise(data_, bytes, MADV_HUGEPAGE);  // a wish: it may be refused
#endif
  std::fill(data_, data_ + size, 0.0f);
}

WeightTable::WeightTable(WeightTable&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

WeightTable& WeightTable::operator=(WeightTable&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

WeightTable::~WeightTable() { std::free(data_); }

TransitionData transition_data(const TransitionModel& model, const TreebankLayout& layout, const char* data) {
  TransitionData out;
  out.atom_count = model.atoms.size();
  out.atoms = token_atoms(layout, data, model.atoms, 0, layout.words());
  out.starts = layout.sentence_words;
  out.tags.resize(layout.words());
  for (size_t w = 0; w < layout.words(); ++w) {
    const uint64_t tag = out.atoms[w * out.atom_count + model.tag_atom];
    out.tags[w] = static_cast<uint8_t>(tag % 61);
  }
  return out;
}

MoveScorer::MoveScorer(const TransitionModel& model)
    : model_(model), conjoin_distance_(model.system.max_distance > 1) {
  for (const Transition& t : model.system.transitions) arc_index_.push_back(t.is_arc() ? arcs_++ : -1);
  block_size_ = model.move_stride() + arcs_ * model.label_stride();
  move_hashes_.resize(model.move_templates.size());
  label_hashes_.resize(model.label_templates.size());
  table_.resize(256);
}

void MoveScorer::begin(const TransitionData& data, size_t sentence, const uint8_t* dropped) {
  const int words = data.words(sentence);
  const size_t count = data.atom_count, first = data.starts[sentence];
  atoms_.resize((words + 1) * count);
  tags_.resize(words + 1);
  for (size_t k = 0; k < count; ++k) atoms_[k] = WALL;
  std::copy_n(data.atoms.begin() + first * count, words * count, atoms_.begin() + count);
  std::copy_n(data.tags.begin() + first, words, tags_.begin() + 1);
  for (int w = 1; w <= words; ++w) {
    uint64_t& word = atoms_[w * count + model_.word_atom];
    if (dropped ? dropped[w - 1] != 0 : model_.vocabulary.rank(word) < 0) word = UNKNOWN_WORD;
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

// A SHIFT pushes the leftmost active token out of reach: where any active pair may be joined, it is about
// that pair too, and its score is the sum over both.
std::optional<MoveScorer::Pair> MoveScorer::pushed_out(const TransitionState& state, const Move& move) {
  const int active = std::min(state.operative(), state.system().capacity);
  if (move.left != NO_TOKEN || active <= 2 || !shift_looks_left(state.system())) return std::nullopt;
  int32_t b = state.top();
  for (int place = 2; place < active; ++place) b = state.before(b);
  return Pair{state.before(b), b, 1};
}

void MoveScorer::extract_moves(const PairContext& context) {
  move_count_ = model_.move_templates.extract(sentence_, context, move_hashes_.data());
  if (!conjoin_distance_) return;
  const uint64_t place = mix(static_cast<uint64_t>(context.place_distance));
  for (int k = 0; k < move_count_; ++k) move_hashes_[k] = hash_pair(move_hashes_[k], place);
}

void MoveScorer::extract_labels(const PairContext& context) {
  label_count_ = model_.label_templates.extract(sentence_, context, label_hashes_.data());
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
  const float* weights = model_.moves.data();
  for (int k = 0; k < move_count_; ++k) __builtin_prefetch(weights + model_.move_row(move_hashes_[k]));
  float* out = block(e);
  const int stride = model_.move_stride();
  for (int k = 0; k < move_count_; ++k) {
    const float* row = weights + model_.move_row(move_hashes_[k]);
    for (int t = 0; t < stride; ++t) out[t] += row[t];
  }
  return e;
}

float MoveScorer::score_pushed_out(const TransitionState& state, const Move& move) {
  const std::optional<Pair> pair = pushed_out(state, move);
  return pair ? block(entry(state, *pair))[move.transition] : 0;
}

const float* MoveScorer::label_scores(Entry& e, int transition) {
  const int arc = arc_index_[transition], stride = model_.label_stride();
  float* out = block(e) + model_.move_stride() + arc * stride;
  if (e.labelled >> arc & 1) return out;
  e.labelled |= 1u << arc;
  if (labels_of_ != e.signature) {
    extract_labels(context_);
    labels_of_ = e.signature;
  }
  const float* weights = model_.label_rows.data();
  for (int k = 0; k < label_count_; ++k) {
    const float* row = weights + model_.label_row(label_hashes_[k], transition);
    for (int line = 0; line < stride; line += 16) __builtin_prefetch(row + line);
  }
  for (int k = 0; k < label_count_; ++k) {
    const float* row = weights + model_.label_row(label_hashes_[k], transition);
    for (int l = 0; l < stride; ++l) out[l] += row[l];
  }
  return out;
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
    for (int l = 0; l < model_.labels; ++l) {
      labelled.label = static_cast<int16_t>(l);
      moves.push_back({labelled, base + labels[l]});
    }
    return;
  }
  const int best = static_cast<int>(std::max_element(labels, labels + model_.labels) - labels);
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
    e = nullptr;  // it may have moved
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

void MoveScorer::update(const TransitionState& state, const Move& move, float step, double time,
                        TransitionModel& model, float* move_sums, float* label_sums) {
  const Pair pair = pair_of(state, move);
  const PairContext context = pair_context(state, pair.a, pair.b, pair.distance);
  const float sum = static_cast<float>(step * time);
  auto change_move = [&](const PairContext& of) {
    extract_moves(of);
    for (int k = 0; k < move_count_; ++k) {
      const size_t at = model_.move_row(move_hashes_[k]) + move.transition;
      model.moves.data()[at] += step;
      move_sums[at] += sum;
    }
  };
  change_move(context);
  if (const std::optional<Pair> other = pushed_out(state, move))
    change_move(pair_context(state, other->a, other->b, other->distance));
  if (arc_index_[move.transition] < 0) return;
  extract_labels(context);
  labels_of_ = 0;
  for (int k = 0; k < label_count_; ++k) {
    const size_t at = model_.label_row(label_hashes_[k], move.transition) + move.label;
    model.label_rows.data()[at] += step;
    label_sums[at] += sum;
  }
}

int MoveScorer::feature_count(const TransitionState& state, const Move& move) {
  const Pair pair = pair_of(state, move);
  const PairContext context = pair_context(state, pair.a, pair.b, pair.distance);
  extract_moves(context);
  if (const std::optional<Pair> other = pushed_out(state, move)) {
    const int first = move_count_;
    extract_moves(pair_context(state, other->a, other->b, other->distance));
    return first + move_count_;
  }
  if (arc_index_[move.transition] < 0) return move_count_;
  extract_labels(context);
  labels_of_ = 0;
  return move_count_ + label_count_;
}

}  // namespace arcwise
