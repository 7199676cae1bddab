// A network from arrays to trees under the sanitizers: every instruction set and precision, sizes that fill no vector, sentences of many
// lengths; the same trees and tags by one thread and by several.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels/base/random.hpp"
#include "kernels/neural/neural_parse.hpp"

using namespace arcwise;

namespace {

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "failed: %s\n", what);
  std::exit(1);
}

std::string some_text(Random& random) {
  std::string text;
  for (int n : {1, 2, 3, 17, 40, 16, 15, 1, 33}) {
    for (int m = 1; m <= n; ++m)
      text += std::to_string(m) + "\tWord" + std::to_string(random.below(30)) + "\t_\tX" +
              std::to_string(random.below(4)) + "\t_\t_\t0\t_\t_\t_\n";
    text += "\n";
  }
  return text;
}

// Random arrays by name, and the memory that they lie in.
struct Arrays {
  GivenArrays given;
  std::vector<std::unique_ptr<std::vector<float>>> memory;
  Random random{7};

  void add(const std::string& name, const std::vector<size_t>& shape) {
    size_t size = 1;
    for (size_t side : shape) size *= side;
    auto values = std::make_unique<std::vector<float>>(size);
    for (float& value : *values)
      value = (static_cast<float>(random.below(2001)) / 1000.0f - 1.0f) * 2.0f /
              std::sqrt(static_cast<float>(shape.back()));
    given[name] = {shape, values->data(), nullptr};
    memory.push_back(std::move(values));
  }
};

Arrays some_arrays(const NetworkPlan& plan, size_t H, size_t A, size_t R) {
  Arrays arrays;
  size_t inputs = 0;
  for (size_t t = 0; t < plan.atoms.size(); ++t) {
    arrays.add("table." + std::to_string(t), {3 + plan.vocabularies[t].hashes().size(), 3 + t});
    inputs += 3 + t;
  }
  for (int l = 0; l < plan.layers; ++l)
    for (const char* direction : {".forward", ".backward"}) {
      const std::string name = "layer." + std::to_string(l) + direction;
      arrays.add(name + ".input", {4 * H, l > 0 ? 2 * H : inputs});
      arrays.add(name + ".recurrent", {4 * H, H});
      arrays.add(name + ".bias", {4 * H});
    }
  auto add_space = [&](const std::string& name, size_t size) {
    arrays.add(name + ".weight", {size, 2 * H});
    arrays.add(name + ".bias", {size});
  };
  add_space("arc_head", A);
  add_space("arc_dependent", A);
  if (plan.order == 2) {
    for (const char* side : {"head", "inner", "outer"}) add_space(std::string("sibling_") + side, A + 1);
    arrays.add("sibling.product", {A + 1});
  }
  arrays.add("arc.product", {A, A});
  arrays.add("arc.head", {A});
  if (const size_t S = static_cast<size_t>(plan.labels * plan.clusters)) {
    add_space("label_head", R);
    add_space("label_dependent", R);
    arrays.add("label.product", {S, R, R});
    arrays.add("label.head", {S, R});
    arrays.add("label.dependent", {S, R});
    arrays.add("label.bias", {S});
  }
  for (int t = 0; t < plan.tags; ++t) add_space("tag." + std::to_string(t), 4 + static_cast<size_t>(t));
  return arrays;
}

void test_network(const NetworkPlan& plan, const NeuralText& text, size_t H, size_t A, size_t R) {
  Arrays arrays = some_arrays(plan, H, A, R);
  const NeuralNetwork network(plan, arrays.given);
  for (Decoder decoder : {Decoder::map, Decoder::minimum_risk, Decoder::minimum_labelled_risk})
    for (double temperature : {1.0, 1.5}) {
      DecodeSettings settings;
      settings.decoder = decoder;
      settings.temperatures.heads = temperature;
      std::vector<TagResult> tags, others;
      const ParseResult one = neural_parse(network, text, nullptr, settings, {}, 1, &tags);
      const ParseResult two = neural_parse(network, text, nullptr, settings, {}, 3, &others);
      const ParseResult three = neural_scores(network, text, nullptr, true, 2).decode(settings, {}, {}, 1);
      check(one.heads == two.heads && one.labels == two.labels, "the same trees by three threads");
      check(one.heads == three.heads && one.labels == three.labels, "the same trees from scores");
      for (size_t t = 0; t < tags.size(); ++t)
        check(tags[t].codes == others[t].codes && tags[t].probabilities == others[t].probabilities,
              "the same tags by three threads");
      const KBestResult best = neural_k_best(network, text, nullptr, settings, 2, 1);
      check(best.counts.size() == text.layout.sentences(), "k best of every sentence");
    }
  check(neural_states(network, text).size() == (text.layout.words() + text.layout.sentences()) * 2 * H,
        "states of all positions");
  neural_arcs(network, text);
  neural_labels(network, text);
  neural_siblings(network, text);

  (*arrays.memory.back())[0] = std::nanf("");
  bool is_refused = false;
  try {
    const NeuralNetwork bad(plan, arrays.given);
  } catch (const std::invalid_argument&) {
    is_refused = true;
  }
  check(is_refused, "nan is refused");
}

}  // namespace

int main() {
  Random random(3);
  const std::string bytes = some_text(random);
  const TreebankLayout layout = treebank_layout(bytes);
  const NeuralText text{layout, bytes.data()};
  for (Instructions instructions : {Instructions::baseline, Instructions::avx2, Instructions::avx512})
    for (NetworkPrecision precision : {NetworkPrecision::float32, NetworkPrecision::int8}) {
      if (!has_instructions(instructions)) continue;
      NetworkPlan plan;
      plan.atoms = {"lower", "suffix2", "upos", "xpos"};
      for (const std::string& atom : plan.atoms)
        plan.vocabularies.emplace_back(token_atoms(layout, bytes.data(), {atom_spec(atom)}, 0, 40));
      plan.instructions = instructions;
      plan.precision = precision;
      plan.layers = 2;
      plan.tags = 2;
      plan.labels = 5;
      test_network(plan, text, 5, 7, 3);
      plan.labels = 23;
      plan.clusters = 3;
      test_network(plan, text, 19, 17, 9);
      plan.order = 2;
      plan.clusters = 1;
      test_network(plan, text, 9, 15, 6);
      plan.labels = plan.tags = 0;
      plan.order = 1;
      test_network(plan, text, 16, 16, 0);
    }
}
