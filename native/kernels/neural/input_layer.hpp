// The first layer's products with its input, looked up: a word's vector is a row of each table, so its product with a matrix is the sum of
// the products of these rows, and those are made once for all words that share them.
#pragma once
#include <cstdint>
#include <vector>

#include "kernels/features/token_atoms.hpp"
#include "kernels/neural/packed_matrix.hpp"
#include "kernels/treebanks/treebank_layout.hpp"

namespace arcwise {

// The vectors of the values of one atom. Rows: UNKNOWN, NOTHING (`_`), ROOT, then the values of the vocabulary by rank.
struct EmbeddingTable {
  enum Row { UNKNOWN, NOTHING, ROOT, FIRST_VALUE };

  AtomSpec atom;
  Vocabulary vocabulary;
  GivenMatrix vectors;  // without numbers if they are in 8 bits elsewhere
  // The largest part of a network: 8-bit tables stay where whoever made the network has them.
  const int8_t* bytes = nullptr;
  const float* scales = nullptr;

  float at(int row, int column) const {
    if (!bytes) return vectors.at(row, column);
    return scales[row] * static_cast<float>(bytes[static_cast<size_t>(row) * vectors.columns + column]);
  }
  int row_of(uint64_t value) const {
    if (value == ABSENT) return NOTHING;
    const int64_t rank = vocabulary.rank(value);
    return rank < 0 ? UNKNOWN : FIRST_VALUE + static_cast<int>(rank);
  }
};

// Products of the words of some sentences: starts[word * parts + part] is a row of `width` numbers, in the order of gate_order, those
// of the forward direction first. A word's gates start from the sum of its rows.
struct InputProducts {
  std::vector<const float*> starts;
  std::vector<Aligned<float>> rows;  // of each part, those made for these words
};

class InputLayer {
 public:
  InputLayer() = default;
  // input: 4H × (sum of the tables' dimensions) of each direction; bias: 4H of each.
  InputLayer(const NetworkLoops& loops, std::vector<EmbeddingTable> tables, const GivenMatrix (&input)[2],
             const std::vector<float> (&bias)[2]);

  int parts() const { return static_cast<int>(parts_.size()); }
  size_t width() const { return width_; }
  const float* root(int part) const { return parts_[part].root.data(); }
  const std::vector<EmbeddingTable>& tables() const { return tables_; }
  // Of words first..last-1 of a treebank.
  void look_up(const TreebankLayout& layout, const char* data, size_t first, size_t last, int threads,
               InputProducts& out) const;

 private:
  // Tables whose rows are multiplied together: those that the form of a word decides, and each other one by itself.
  struct Part {
    std::vector<int> tables;
    std::vector<AtomSpec> atoms;
    PackedMatrix product;
    bool by_form = false;
    Aligned<float> root;
    Aligned<float> frequent;  // products of the first rows of a table that is a part by itself
    int frequent_rows = 0;
  };
  // The different values that words have in a part: its tables' rows, and which of them each word has.
  struct Values {
    std::vector<int32_t> rows;  // [value][table of the part]
    std::vector<uint32_t> of_word;
    size_t count = 0;
  };

  void add_part(std::vector<int> tables, bool by_form, const GivenMatrix (&input)[2],
                const std::vector<float>* bias);
  void make_rows(const Part& part, const int32_t* rows, size_t count, int threads, float* out) const;
  Values values_by_form(const Part& part, const TreebankLayout& layout, const char* data, size_t first,
                        size_t last) const;
  Values values_by_row(const Part& part, const TreebankLayout& layout, const char* data, size_t first,
                       size_t last) const;

  const NetworkLoops* loops_ = nullptr;
  std::vector<EmbeddingTable> tables_;
  std::vector<int> columns_;  // where each table's vectors stand in a word's vector
  std::vector<Part> parts_;
  int units_ = 0;
  size_t width_ = 0;
};

}  // namespace arcwise
