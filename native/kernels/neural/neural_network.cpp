#include "kernels/neural/neural_network.hpp"

#include <cmath>
#include <set>
#include <stdexcept>
#include <tuple>

namespace arcwise {
namespace {

constexpr size_t ANY = ~size_t{0};  // a side that may have any length but 0

std::string shape_name(const std::vector<size_t>& shape) {
  std::string name = "(";
  for (size_t i = 0; i < shape.size(); ++i)
    name += (i > 0 ? ", " : "") + (shape[i] == ANY ? std::string("any") : std::to_string(shape[i]));
  return name + (shape.size() == 1 ? ",)" : ")");
}

[[noreturn]] void refuse(const std::string& name, const std::string& what) {
  throw std::invalid_argument("array '" + name + "': " + what);
}

}  // namespace

// Takes arrays by name, and checks them.
class NeuralNetwork::Reader {
 public:
  Reader(const GivenArrays& arrays, NetworkPrecision precision) : arrays_(arrays), precision_(precision) {}

  bool has(const std::string& name) const { return arrays_.count(name) > 0; }

  std::vector<float> numbers(const std::string& name, const std::vector<size_t>& shape) {
    const GivenArray& array = found(name, shape);
    if (!array.numbers) refuse(name, "found 8-bit numbers, expected float32");
    return checked(name, array);
  }

  // As a matrix: the last side is its columns. It is in 8 bits exactly if the network is.
  GivenMatrix matrix(const std::string& name, const std::vector<size_t>& shape) {
    const GivenArray& array = found(name, shape);
    GivenMatrix result;
    result.columns = static_cast<int>(array.shape.back());
    std::vector<size_t> row_shape(array.shape.begin(), array.shape.end() - 1);
    result.rows = 1;
    for (size_t side : row_shape) result.rows *= static_cast<int>(side);
    if (array.numbers) {
      result.numbers = checked(name, array);
      return precision_ == NetworkPrecision::int8 ? result.in_bytes() : result;
    }
    result.bytes.assign(array.bytes, array.bytes + size_t{1} * result.rows * result.columns);
    result.scales = numbers(name + ".scale", row_shape);
    return precision_ == NetworkPrecision::int8 ? result : result.in_floats();
  }

  // A table of vectors: in 8 bits, it stays in the memory of the array.
  void table(const std::string& name, const std::vector<size_t>& shape, EmbeddingTable& out) {
    const GivenArray& array = found(name, shape);
    if (!array.bytes || precision_ != NetworkPrecision::int8) {
      out.vectors = matrix(name, shape);
      return;
    }
    const GivenArray& scales = found(name + ".scale", {array.shape[0]});
    if (!scales.numbers) refuse(name + ".scale", "found 8-bit numbers, expected float32");
    check_finite(name + ".scale", scales);
    out.vectors.rows = static_cast<int>(array.shape[0]);
    out.vectors.columns = static_cast<int>(array.shape[1]);
    out.bytes = array.bytes;
    out.scales = scales.numbers;
  }

  // Nothing may be left over.
  void finish() const {
    for (const auto& [name, array] : arrays_)
      if (!taken_.count(name)) refuse(name, "the network has none of that name");
  }

 private:
  const GivenArray& found(const std::string& name, const std::vector<size_t>& shape) {
    const auto place = arrays_.find(name);
    if (place == arrays_.end()) refuse(name, "it is missing");
    taken_.insert(name);
    const GivenArray& array = place->second;
    bool fits = array.shape.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits = shape[i] == ANY ? array.shape[i] > 0 : array.shape[i] == shape[i];
    if (!fits) refuse(name, "found shape " + shape_name(array.shape) + ", expected " + shape_name(shape));
    return array;
  }

  static size_t check_finite(const std::string& name, const GivenArray& array) {
    size_t size = 1;
    for (size_t side : array.shape) size *= side;
    for (size_t i = 0; i < size; ++i)
      if (!std::isfinite(array.numbers[i])) refuse(name, "found nan or inf, expected finite numbers");
    return size;
  }

  static std::vector<float> checked(const std::string& name, const GivenArray& array) {
    return {array.numbers, array.numbers + check_finite(name, array)};
  }

  const GivenArrays& arrays_;
  NetworkPrecision precision_;
  std::set<std::string> taken_;
};

NeuralNetwork::NeuralNetwork(const NetworkPlan& plan, const GivenArrays& arrays)
    : loops_(&network_loops(plan.instructions)),
      precision_(plan.precision),
      tables_owner_(plan.tables_owner),
      head_temperature_(plan.head_temperature),
      root_label_(plan.root_label) {
  if (plan.atoms.empty()) throw std::invalid_argument("atoms: expected at least one");
  if (plan.vocabularies.size() != plan.atoms.size())
    throw std::invalid_argument("vocabularies: expected one for each atom");
  if (plan.layers < 1) throw std::invalid_argument("layers: expected at least 1");
  if (plan.labels < 0 || plan.tags < 0) throw std::invalid_argument("labels, tags: expected at least 0");
  if (plan.labels > 65535) throw std::invalid_argument("labels: expected at most 65535");
  if (plan.clusters < 1 || (plan.labels == 0 && plan.clusters > 1))
    throw std::invalid_argument("clusters: expected at least 1, and 1 without labels");
  if (plan.order < 1 || plan.order > 2) throw std::invalid_argument("order: expected 1 or 2");
  if (!(plan.head_temperature > 0) || (plan.order == 1 && plan.head_temperature != 1))
    throw std::invalid_argument("head_temperature: expected a positive number, and 1 at order 1");
  if (plan.root_label < -1 || plan.root_label >= plan.labels || (plan.root_label >= 0 && plan.labels < 2))
    throw std::invalid_argument("root_label: expected one of several labels");
  if (plan.root_label >= 0)
    states_ = ArcStates::with_root_label(plan.labels, plan.root_label, plan.clusters);
  else if (plan.labels > 0)
    states_ = ArcStates::all_of(plan.labels, plan.clusters);
  Reader reader(arrays, plan.precision);
  read_input(reader, plan);
  read_layers(reader, plan.layers);
  read_spaces(reader, plan.order);
  read_scores(reader);
  for (int t = 0; t < plan.tags; ++t) {
    const std::string name = "tag." + std::to_string(t);
    const GivenMatrix weight = reader.matrix(name + ".weight", {ANY, 2 * static_cast<size_t>(units_)});
    const auto bias = reader.numbers(name + ".bias", {static_cast<size_t>(weight.rows)});
    tags_.push_back(packed(weight, bias, plain_order(weight.rows)));
  }
  reader.finish();
}

// A matrix that outputs of LSTMs are multiplied with.
PackedMatrix NeuralNetwork::packed(const GivenMatrix& matrix, const std::vector<float>& bias,
                                   const OutputOrder& order) const {
  const float* start = bias.empty() ? nullptr : bias.data();
  return in_bytes() ? PackedMatrix::in_bytes(*loops_, matrix, start, order, 1.0f / 127.0f)
                    : PackedMatrix::in_floats(*loops_, matrix, start, order);
}

void NeuralNetwork::read_input(Reader& reader, const NetworkPlan& plan) {
  std::vector<EmbeddingTable> tables;
  size_t inputs = 0;
  for (size_t i = 0; i < plan.atoms.size(); ++i) {
    EmbeddingTable& table = tables.emplace_back();
    table.atom = atom_spec(plan.atoms[i]);
    table.vocabulary = plan.vocabularies[i];
    const size_t rows = EmbeddingTable::FIRST_VALUE + table.vocabulary.hashes().size();
    reader.table("table." + std::to_string(i), {rows, ANY}, table);
    inputs += static_cast<size_t>(table.vectors.columns);
  }
  units_ = static_cast<int>(reader.matrix("layer.0.forward.recurrent", {ANY, ANY}).columns);
  GivenMatrix input[2];
  std::vector<float> bias[2];
  for (int d = 0; d < 2; ++d) {
    const std::string name = d == 0 ? "layer.0.forward" : "layer.0.backward";
    input[d] = reader.matrix(name + ".input", {GATES * static_cast<size_t>(units_), inputs});
    bias[d] = reader.numbers(name + ".bias", {GATES * static_cast<size_t>(units_)});
  }
  input_ = InputLayer(*loops_, std::move(tables), input, bias);
}

void NeuralNetwork::read_layers(Reader& reader, int layers) {
  const size_t H = static_cast<size_t>(units_);
  const OutputOrder order = gate_order(units_, loops_->width);
  for (int l = 0; l < layers; ++l) {
    Layer& layer = layers_.emplace_back();
    for (int d = 0; d < 2; ++d) {
      const std::string name = "layer." + std::to_string(l) + (d == 0 ? ".forward" : ".backward");
      layer.directions[d].recurrent = packed(reader.matrix(name + ".recurrent", {GATES * H, H}), {}, order);
      if (l == 0) continue;
      const auto bias = reader.numbers(name + ".bias", {GATES * H});
      layer.directions[d].input = packed(reader.matrix(name + ".input", {GATES * H, 2 * H}), bias, order);
    }
  }
}

void NeuralNetwork::read_spaces(Reader& reader, int order) {
  const size_t inputs = 2 * static_cast<size_t>(units_);
  GivenMatrix all{0, static_cast<int>(inputs), {}, {}, {}};
  std::vector<float> biases;
  OutputOrder places;
  // One perceptron after the other, each from a multiple of 16 on; returns where, and its size.
  auto add = [&](const std::string& name, size_t size) {
    const size_t place = places.size();
    const GivenMatrix weight = reader.matrix(name + ".weight", {size, inputs});
    const auto bias = reader.numbers(name + ".bias", {static_cast<size_t>(weight.rows)});
    for (int row = 0; row < weight.rows; ++row) places.push_back(all.rows + row);
    places.resize(round_up(places.size(), 16), -1);
    all.rows += weight.rows;
    all.numbers.insert(all.numbers.end(), weight.numbers.begin(), weight.numbers.end());
    if (weight.has_bytes()) {
      all.bytes.insert(all.bytes.end(), weight.bytes.begin(), weight.bytes.end());
      all.scales.insert(all.scales.end(), weight.scales.begin(), weight.scales.end());
    }
    biases.insert(biases.end(), bias.begin(), bias.end());
    return std::pair<size_t, size_t>(place, weight.rows);
  };
  size_t arc_size, label_size = 0;
  std::tie(space_plan_.arc_head, arc_size) = add("arc_head", ANY);
  std::tie(space_plan_.arc_dependent, arc_size) = add("arc_dependent", arc_size);
  if (states_.labels > 0) {
    std::tie(space_plan_.label_head, label_size) = add("label_head", ANY);
    std::tie(space_plan_.label_dependent, label_size) = add("label_dependent", label_size);
  }
  if (order == 2) {
    size_t sibling_size;
    std::tie(space_plan_.sibling_head, sibling_size) = add("sibling_head", ANY);
    std::tie(space_plan_.sibling_inner, sibling_size) = add("sibling_inner", sibling_size);
    std::tie(space_plan_.sibling_outer, sibling_size) = add("sibling_outer", sibling_size);
    space_plan_.sibling_size = static_cast<int>(sibling_size);
  }
  space_plan_.arc_size = static_cast<int>(arc_size);
  space_plan_.label_size = static_cast<int>(label_size);
  space_plan_.width = round_up(places.size(), GATES * 16);
  spaces_ = packed(all, biases, places);
}

void NeuralNetwork::read_scores(Reader& reader) {
  const size_t A = static_cast<size_t>(space_plan_.arc_size), R = static_cast<size_t>(space_plan_.label_size),
               S = static_cast<size_t>(state_count());
  const auto head = reader.numbers("arc.head", {A});
  const GivenMatrix product{
      static_cast<int>(A), static_cast<int>(A), reader.numbers("arc.product", {A, A}), {}, {}};
  arc_product_ = PackedMatrix::in_floats(*loops_, product, head.data(), plain_order(static_cast<int>(A)));
  if (const int K = space_plan_.sibling_size; K > 0)
    sibling_product_ = reader.numbers("sibling.product", {static_cast<size_t>(K)});
  if (S == 0) return;

  const GivenMatrix dependent{
      static_cast<int>(S), static_cast<int>(R), reader.numbers("label.dependent", {S, R}), {}, {}};
  const auto bias = reader.numbers("label.bias", {S});
  label_dependent_ =
      PackedMatrix::in_floats(*loops_, dependent, bias.data(), plain_order(static_cast<int>(S)));

  OutputOrder order;  // [i][s]
  for (size_t i = 0; i < R; ++i)
    for (size_t s = 0; s < S; ++s) order.push_back(static_cast<int32_t>(s * R + i));
  const GivenMatrix labels = reader.matrix("label.product", {S, R, R});
  const auto label_head = reader.numbers("label.head", {S, R});
  label_product_ = in_bytes() ? PackedMatrix::in_bytes(*loops_, labels, label_head.data(), order, 1.0f)
                              : PackedMatrix::in_floats(*loops_, labels, label_head.data(), order);
}

}  // namespace arcwise
