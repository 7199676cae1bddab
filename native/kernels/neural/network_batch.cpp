#include "kernels/neural/network_batch.hpp"

#include <algorithm>
#include <type_traits>

namespace arcwise {
namespace {

constexpr float LEAK = 0.1f;
constexpr int FEW_SENTENCES = 12;

template <typename T>
void at_least(Aligned<T>& memory, size_t size) {
  if (memory.size() < size + SLACK) memory.resize(size + SLACK);
}

}  // namespace

InputRows NetworkBatch::inputs_of(const Outputs& outputs, size_t offset, const int32_t* at, int count) const {
  const void* first =
      network_->in_bytes()
          ? static_cast<const void*>(outputs.bytes.data() + offset * network_->loops().activation_bytes)
          : static_cast<const void*>(outputs.floats.data() + offset);
  return {first, state_stride_, at, count};
}

void* NetworkBatch::place_of(Outputs& outputs, size_t offset) const {
  return const_cast<void*>(inputs_of(outputs, offset, nullptr, 0).first);
}

void NetworkBatch::encode(const std::vector<BatchSentence>& sentences, const InputProducts& products) {
  const InputLayer& input = network_->input();
  const size_t parts = static_cast<size_t>(input.parts());
  lengths_.clear();
  firsts_.clear();
  starts_.clear();
  rows_ = 0;
  label_rows_.clear();
  label_places_.clear();
  for (const BatchSentence& sentence : sentences) {
    firsts_.push_back(rows_);
    lengths_.push_back(sentence.n + 1);
    rows_ += sentence.n + 1;
    for (size_t part = 0; part < parts; ++part) starts_.push_back(input.root(static_cast<int>(part)));
    const auto* own = products.starts.data() + sentence.first * parts;
    starts_.insert(starts_.end(), own, own + static_cast<size_t>(sentence.n) * parts);
  }
  const NetworkLoops& loops = network_->loops();
  const size_t units = static_cast<size_t>(network_->units());
  state_stride_ = round_up(2 * units, 16);
  for (Outputs& outputs : outputs_)
    if (network_->in_bytes())
      at_least(outputs.bytes, rows_ * state_stride_ * loops.activation_bytes);
    else
      at_least(outputs.floats, rows_ * state_stride_);
  at_least(cells_, sentences.size() * round_up(units, loops.width));
  now_.resize(sentences.size());
  before_.resize(sentences.size());
  step_starts_.resize(sentences.size() * parts);
  for (size_t layer = 0; layer < network_->layers().size(); ++layer) {
    last_ = &outputs_[layer % 2];
    for (int direction = 0; direction < 2; ++direction)
      run_direction(layer, direction, outputs_[1 - layer % 2], *last_);
  }
}

void NetworkBatch::run_direction(size_t layer, int direction, const Outputs& below, Outputs& out) {
  std::fill(cells_.begin(), cells_.end(), 0.0f);
  if (network_->in_bytes())
    run_steps<ByteMatrix>(layer, direction, below, out);
  else
    run_steps<FloatMatrix>(layer, direction, below, out);
}

// The products of a layer's input, of all positions at once: few sentences would otherwise read the matrix at every step for a row or two.
void NetworkBatch::multiply_ahead(const PackedMatrix& input, const Outputs& below) {
  const size_t width = network_->input().width() / 2;
  at_least(gates_, rows_ * width);
  input.multiply(network_->loops(), inputs_of(below, 0, nullptr, rows_), 1.0f, gates_.data(), width);
}

// Step t is position t of every sentence that is so long, or the t-th from its end.
template <typename Matrix>
void NetworkBatch::run_steps(size_t layer, int direction, const Outputs& below, Outputs& out) {
  const NeuralNetwork::Direction& weights = network_->layers()[layer].directions[direction];
  const size_t offset = static_cast<size_t>(direction * network_->units());
  const bool ahead = layer > 0 && size() <= FEW_SENTENCES;
  if (ahead) multiply_ahead(weights.input, below);
  const int parts = layer == 0 ? network_->input().parts() : ahead ? 1 : 0;
  LstmStep<Matrix> step;
  step.units = network_->units();
  step.cells = cells_.data();
  step.output = place_of(out, offset);
  step.output_stride = state_stride_;
  step.output_at = now_.data();
  step.parts = parts;
  step.starts = step_starts_.data();
  step.offset = layer == 0 ? direction * network_->input().width() / 2 : 0;
  if constexpr (std::is_same_v<Matrix, ByteMatrix>) {
    step.recurrent = weights.recurrent.byte_matrix();
    step.input_weights = weights.input.byte_matrix();
  } else {
    step.recurrent = weights.recurrent.floats();
    step.input_weights = weights.input.floats();
  }
  int active = size();
  for (int t = 0; t < lengths_[0]; ++t) {
    while (lengths_[active - 1] <= t) --active;
    for (int s = 0; s < active; ++s) {
      now_[s] = firsts_[s] + (direction == 0 ? t : lengths_[s] - 1 - t);
      before_[s] = now_[s] + (direction == 0 ? -1 : 1);
      if (ahead)
        step_starts_[s] = &gates_[now_[s] * network_->input().width() / 2];
      else
        std::copy_n(&starts_[static_cast<size_t>(now_[s]) * parts], parts, &step_starts_[s * parts]);
    }
    step.rows = active;
    step.input = inputs_of(below, 0, now_.data(), active);
    step.before = t > 0 ? inputs_of(out, offset, before_.data(), active) : InputRows{nullptr, 0, nullptr, 0};
    if constexpr (std::is_same_v<Matrix, ByteMatrix>)
      network_->loops().lstm_step_bytes(step);
    else
      network_->loops().lstm_step(step);
  }
}

void NetworkBatch::states(std::vector<float>& out) const {
  const size_t width = 2 * static_cast<size_t>(network_->units());
  const NetworkLoops& loops = network_->loops();
  out.resize(rows_ * width);
  for (int row = 0; row < rows_; ++row)
    for (size_t i = 0; i < width; ++i) {
      const size_t place = row * state_stride_ + i;
      float& number = out[row * width + i];
      if (!network_->in_bytes())
        number = last_->floats[place];
      else if (loops.activation_bytes == 1)
        number = static_cast<float>(last_->bytes[place] - loops.offset) / 127.0f;
      else
        number = static_cast<float>(reinterpret_cast<const int16_t*>(last_->bytes.data())[place]) / 127.0f;
    }
}

void NetworkBatch::classify(int t, int first, int count) {
  const PackedMatrix& matrix = network_->tags()[t];
  classified_ = first;
  class_width_ = round_up(matrix.columns(), 16);
  at_least(classes_, count * class_width_);
  matrix.multiply(network_->loops(), inputs_of(*last_, first * state_stride_, nullptr, count), 1.0f,
                  classes_.data(), class_width_);
}

void NetworkBatch::project() {
  const SpacePlan& plan = network_->space_plan();
  at_least(spaces_, rows_ * plan.width);
  network_->spaces().multiply(network_->loops(), inputs_of(*last_, 0, nullptr, rows_), LEAK, spaces_.data(),
                              plan.width);
  arc_width_ = round_up(plan.arc_size, 16);
  at_least(arc_dependents_, rows_ * arc_width_);
  network_->arc_product().multiply(network_->loops(),
                                   {spaces_.data() + plan.arc_dependent, plan.width, nullptr, rows_}, 1.0f,
                                   arc_dependents_.data(), arc_width_);
}

const float* NetworkBatch::arcs(int s, int n) {
  const SpacePlan& plan = network_->space_plan();
  const size_t A = plan.arc_size, first = firsts_[s];
  arc_stride_ = round_up(n + 1, 16);
  at_least(turned_, A * arc_stride_);
  at_least(arcs_, (n + 1) * arc_stride_);
  for (int m = 0; m <= n; ++m) {
    const float* from = &arc_dependents_[(first + m) * arc_width_];
    for (size_t i = 0; i < A; ++i) turned_[i * arc_stride_ + m] = from[i];
  }
  const FloatMatrix words{
      turned_.data(),      arc_stride_, static_cast<size_t>(GATES * network_->loops().width),
      static_cast<int>(A), n + 1,       nullptr};
  network_->loops().multiply({&spaces_[first * plan.width + plan.arc_head], plan.width, nullptr, n + 1},
                             words, 1.0f, arcs_.data(), arc_stride_);
  return arcs_.data();
}

// head · outer · w of a head and the words first..last on one side of it, times the inner vectors of these and the head.
void NetworkBatch::siblings_of(int s, int h, int first, int last, SiblingRows& rows) {
  const SpacePlan& plan = network_->space_plan();
  const size_t K = plan.sibling_size, row = firsts_[s];
  const float* head = &spaces_[(row + h) * plan.width + plan.sibling_head];
  const float* weights = network_->sibling_product().data();
  for (int m = first; m <= last; ++m) {
    const float* outer = &spaces_[(row + m) * plan.width + plan.sibling_outer];
    float* pair = &pairs_[(m - first) * K];
    for (size_t k = 0; k < K; ++k) pair[k] = weights[k] * head[k] * outer[k];
  }
  const int from = std::min(h, first), columns = std::max(h, last) - from + 1;
  const FloatMatrix inner{
      inner_.data() + from, sibling_stride_, static_cast<size_t>(GATES * network_->loops().width),
      static_cast<int>(K),  columns,         nullptr};
  network_->loops().multiply({pairs_.data(), K, nullptr, last - first + 1}, inner, 1.0f, triples_.data(),
                             sibling_stride_);
  for (int m = first; m <= last; ++m) {
    const float* of_word = &triples_[(m - first) * sibling_stride_] - from;
    rows.first[rows.cell(h, m)] = of_word[h];
    std::copy(of_word + std::min(h, m) + 1, of_word + std::max(h, m), rows.row(h, m));
  }
}

void NetworkBatch::siblings(int s, SiblingRows& rows) {
  const SpacePlan& plan = network_->space_plan();
  const size_t K = plan.sibling_size, row = firsts_[s];
  const int n = rows.n;
  sibling_stride_ = round_up(n + 1, 16);
  at_least(inner_, K * sibling_stride_);
  at_least(pairs_, n * K);
  at_least(triples_, n * sibling_stride_);
  for (int word = 0; word <= n; ++word) {
    const float* inner = &spaces_[(row + word) * plan.width + plan.sibling_inner];
    for (size_t k = 0; k < K; ++k) inner_[k * sibling_stride_ + word] = inner[k];
  }
  for (int h = 0; h <= n; ++h) {
    if (h < n) siblings_of(s, h, h + 1, n, rows);
    if (h > 1) siblings_of(s, h, 1, h - 1, rows);
  }
}

// Words that are made ready together: as many of a long sentence, or whole sentences from this one on.
void NetworkBatch::choose_label_words(int s, int m) {
  for (int32_t row : label_rows_) label_places_[row] = -1;
  label_rows_.clear();
  label_places_.resize(rows_, -1);
  int first = lengths_[s] - 1 > LABEL_WORDS ? m : 1;
  for (; s < size(); ++s, first = 1) {
    const int room = LABEL_WORDS - static_cast<int>(label_rows_.size()), own = lengths_[s] - first;
    if (own > room && !label_rows_.empty()) break;
    for (int word = first; word < first + std::min(own, room); ++word) {
      label_places_[firsts_[s] + word] = static_cast<int32_t>(label_rows_.size());
      label_rows_.push_back(firsts_[s] + word);
    }
    if (own > room) break;
  }
}

// V_s r + p_s and q_s · r + b_s of some words.
void NetworkBatch::prepare_labels(int s, int m) {
  choose_label_words(s, m);
  const SpacePlan& plan = network_->space_plan();
  const NetworkLoops& loops = network_->loops();
  const PackedMatrix& product = network_->label_product();
  const int count = static_cast<int>(label_rows_.size()), R = plan.label_size;
  product_stride_ = round_up(product.columns(), 64);
  label_stride_ = round_up(network_->state_count(), 16);
  at_least(label_products_, count * product_stride_);
  at_least(label_starts_, count * label_stride_);
  const float* space = &spaces_[plan.label_dependent];
  const InputRows words{space, plan.width, label_rows_.data(), count};
  network_->label_dependent().multiply(loops, words, 1.0f, label_starts_.data(), label_stride_);
  if (!product.has_bytes())
    return product.multiply(loops, words, 1.0f, label_products_.data(), product_stride_);
  const size_t stride = round_up(R, 64);
  at_least(label_bytes_, count * stride * loops.activation_bytes);
  at_least(label_scales_, count);
  for (int w = 0; w < count; ++w)
    loops.to_bytes(space + label_rows_[w] * plan.width, R,
                   label_bytes_.data() + w * stride * loops.activation_bytes, &label_scales_[w]);
  product.multiply(loops, {label_bytes_.data(), stride, nullptr, count, label_scales_.data()}, 1.0f,
                   label_products_.data(), product_stride_);
}

float* NetworkBatch::labels(int s, int m, int first_head, int count) {
  const SpacePlan& plan = network_->space_plan();
  const size_t row = firsts_[s] + m, states = network_->state_count();
  if (label_places_.size() <= row || label_places_[row] < 0) prepare_labels(s, m);
  const size_t word = label_places_[row];
  at_least(label_scores_, count * label_stride_);
  const FloatMatrix products{&label_products_[word * product_stride_],
                             states,
                             static_cast<size_t>(GATES * network_->loops().width),
                             plan.label_size,
                             static_cast<int>(states),
                             &label_starts_[word * label_stride_]};
  network_->loops().multiply(
      {&spaces_[static_cast<size_t>(firsts_[s] + first_head) * plan.width + plan.label_head], plan.width,
       nullptr, count},
      products, 1.0f, label_scores_.data(), label_stride_);
  return label_scores_.data();
}

}  // namespace arcwise
