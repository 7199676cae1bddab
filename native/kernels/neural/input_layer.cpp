#include "kernels/neural/input_layer.hpp"

#include <algorithm>
#include <unordered_map>

#include "kernels/base/hashing.hpp"
#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

constexpr size_t FREQUENT_NUMBERS = size_t{1} << 22;  // of a part: 16 MB
constexpr size_t ROWS_AT_ONCE = 48;

bool is_of_form(AtomKind kind) {
  return kind == AtomKind::form || kind == AtomKind::lower || kind == AtomKind::prefix ||
         kind == AtomKind::suffix || kind == AtomKind::shape;
}

// Columns of a matrix, one group after the other.
GivenMatrix columns_of(const GivenMatrix& matrix, const std::vector<std::pair<int, int>>& groups) {
  GivenMatrix result{matrix.rows, 0, {}, {}, {}};
  for (const auto& [first, count] : groups) result.columns += count;
  for (int row = 0; row < matrix.rows; ++row)
    for (const auto& [first, count] : groups)
      for (int column = first; column < first + count; ++column)
        result.numbers.push_back(matrix.at(row, column));
  return result;
}

}  // namespace

InputLayer::InputLayer(const NetworkLoops& loops, std::vector<EmbeddingTable> tables,
                       const GivenMatrix (&input)[2], const std::vector<float> (&bias)[2])
    : loops_(&loops), tables_(std::move(tables)), units_(input[0].rows / GATES) {
  std::vector<int> of_form;
  int column = 0;
  for (size_t t = 0; t < tables_.size(); ++t) {
    columns_.push_back(column);
    column += tables_[t].vectors.columns;
    if (is_of_form(tables_[t].atom.kind)) of_form.push_back(static_cast<int>(t));
  }
  std::vector<float> both(bias[0]);
  both.insert(both.end(), bias[1].begin(), bias[1].end());
  if (!of_form.empty()) add_part(of_form, true, input, &both);
  for (size_t t = 0; t < tables_.size(); ++t)
    if (!is_of_form(tables_[t].atom.kind))
      add_part({static_cast<int>(t)}, false, input, parts_.empty() ? &both : nullptr);
}

void InputLayer::add_part(std::vector<int> tables, bool by_form, const GivenMatrix (&input)[2],
                          const std::vector<float>* bias) {
  Part& part = parts_.emplace_back();
  part.by_form = by_form;
  std::vector<std::pair<int, int>> groups;
  for (int t : tables) {
    groups.emplace_back(columns_[t], tables_[t].vectors.columns);
    part.atoms.push_back(tables_[t].atom);
  }
  part.tables = std::move(tables);
  GivenMatrix both = columns_of(input[0], groups);
  const GivenMatrix backward = columns_of(input[1], groups);
  both.rows *= 2;
  both.numbers.insert(both.numbers.end(), backward.numbers.begin(), backward.numbers.end());
  OutputOrder order = gate_order(units_, loops_->width);
  width_ = 2 * order.size();
  for (size_t i = 0; i < width_ / 2; ++i) order.push_back(order[i] < 0 ? -1 : order[i] + GATES * units_);
  part.product = PackedMatrix::in_floats(*loops_, both, bias ? bias->data() : nullptr, order);

  std::vector<int32_t> rows(part.tables.size(), EmbeddingTable::ROOT);
  part.root.assign(width_, 0);
  make_rows(part, rows.data(), 1, 1, part.root.data());
  if (by_form) return;
  part.frequent_rows = static_cast<int>(
      std::min<size_t>(tables_[part.tables[0]].vectors.rows, std::max<size_t>(FREQUENT_NUMBERS / width_, 1)));
  rows.resize(part.frequent_rows);
  for (int row = 0; row < part.frequent_rows; ++row) rows[row] = row;
  part.frequent.resize(part.frequent_rows * width_);
  make_rows(part, rows.data(), rows.size(), 1, part.frequent.data());
}

// The products of values of a part: vectors of the tables side by side, times the matrix.
void InputLayer::make_rows(const Part& part, const int32_t* rows, size_t count, int threads,
                           float* out) const {
  const size_t inputs = part.product.inputs();
  std::vector<Aligned<float>> memory(std::max(threads, 1));
  parallel_for((count + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE, threads, [&](size_t block, size_t worker) {
    Aligned<float>& vectors = memory[worker];
    vectors.resize(ROWS_AT_ONCE * inputs + SLACK);
    const size_t first = block * ROWS_AT_ONCE, last = std::min(first + ROWS_AT_ONCE, count);
    float* to = vectors.data();
    for (size_t value = first; value < last; ++value)
      for (size_t t = 0; t < part.tables.size(); ++t) {
        const EmbeddingTable& table = tables_[part.tables[t]];
        const int row = rows[value * part.tables.size() + t];
        for (int column = 0; column < table.vectors.columns; ++column) *to++ = table.at(row, column);
      }
    part.product.multiply(*loops_, {vectors.data(), inputs, nullptr, static_cast<int>(last - first)}, 1.0f,
                          out + first * width_, width_);
  });
}

InputLayer::Values InputLayer::values_by_form(const Part& part, const TreebankLayout& layout,
                                              const char* data, size_t first, size_t last) const {
  Values found;
  found.of_word.reserve(last - first);
  std::unordered_map<uint64_t, uint32_t> places;
  places.reserve((last - first) / 2);
  for (size_t word = first; word < last; ++word) {
    const uint64_t form = hash_bytes(layout.field(data, word, FORM), 1);
    const auto [place, is_new] = places.emplace(form, static_cast<uint32_t>(found.count));
    found.of_word.push_back(place->second);
    if (!is_new) continue;
    ++found.count;
    const std::vector<uint64_t> atoms = token_atoms(layout, data, part.atoms, word, word + 1);
    for (size_t t = 0; t < part.tables.size(); ++t)
      found.rows.push_back(tables_[part.tables[t]].row_of(atoms[t]));
  }
  return found;
}

// Rows that are not among the frequent ones; of_word is the row itself for those that are, and goes on after them.
InputLayer::Values InputLayer::values_by_row(const Part& part, const TreebankLayout& layout, const char* data,
                                             size_t first, size_t last) const {
  Values found;
  found.of_word.reserve(last - first);
  std::unordered_map<int32_t, uint32_t> places;
  for (uint64_t atom : token_atoms(layout, data, part.atoms, first, last)) {
    const int row = tables_[part.tables[0]].row_of(atom);
    if (row < part.frequent_rows) {
      found.of_word.push_back(static_cast<uint32_t>(row));
      continue;
    }
    const auto [place, is_new] = places.emplace(row, static_cast<uint32_t>(part.frequent_rows + found.count));
    found.of_word.push_back(place->second);
    if (!is_new) continue;
    ++found.count;
    found.rows.push_back(row);
  }
  return found;
}

void InputLayer::look_up(const TreebankLayout& layout, const char* data, size_t first, size_t last,
                         int threads, InputProducts& out) const {
  const size_t count = parts_.size();
  out.starts.resize((last - first) * count);
  out.rows.resize(count);
  for (size_t p = 0; p < count; ++p) {
    const Part& part = parts_[p];
    const Values values = part.by_form ? values_by_form(part, layout, data, first, last)
                                       : values_by_row(part, layout, data, first, last);
    Aligned<float>& made = out.rows[p];
    if (made.size() < values.count * width_) made.resize(values.count * width_);
    make_rows(part, values.rows.data(), values.count, threads, made.data());
    const auto frequent = static_cast<uint32_t>(part.frequent_rows);
    for (size_t word = 0; word < last - first; ++word) {
      const uint32_t value = values.of_word[word];
      out.starts[word * count + p] =
          value < frequent ? &part.frequent[value * width_] : &made[(value - frequent) * width_];
    }
  }
}

}  // namespace arcwise
