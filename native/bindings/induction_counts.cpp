#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/induction/count_agreement.hpp"
#include "kernels/induction/count_master.hpp"
#include "kernels/induction/count_problem.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise::bindings;
using arcwise::CountBound;
using arcwise::CountBox;
using arcwise::CountEvaluation;
using arcwise::CountMaster;
using arcwise::CountProblem;

namespace {

template <typename T>
const T* sized(Array<T> values, size_t size) {
  if (values.shape(0) != size) throw nb::value_error("an array has the wrong length");
  return values.data();
}

const int64_t* multipliers(const CountProblem& problem, Array<int64_t> mu) {
  const int64_t* data = sized(mu, problem.layout().coordinates());
  if (data[problem.layout().constrained()] < 0)
    throw nb::value_error("the multiplier of Q must not be negative");
  return data;
}

void bind_box(nb::module_& m) {
  nb::class_<CountBox>(m, "CountBox", "A box of counts and the parses that are still allowed.")
      .def("__init__",
           [](CountBox* self, Array<int32_t> low, Array<int32_t> high, Array<uint64_t> alive) {
             new (self) CountBox{{low.data(), low.data() + low.shape(0)},
                                 {high.data(), high.data() + high.shape(0)},
                                 {alive.data(), alive.data() + alive.shape(0)}};
           })
      .def_prop_ro(
          "low", [](const CountBox& box) { return copied(box.low); }, nb::rv_policy::move)
      .def_prop_ro(
          "high", [](const CountBox& box) { return copied(box.high); }, nb::rv_policy::move)
      .def_prop_ro(
          "alive", [](const CountBox& box) { return copied(box.alive); }, nb::rv_policy::move)
      .def_prop_ro(
          "list_bytes",
          [](const CountBox& box) {
            size_t sum = 0;
            for (const auto& points : box.points)
              if (points) sum += points->values.size() + points->gains.size() * sizeof(int64_t);
            return sum;
          },
          "The memory of the lists of points (boxes may share them).")
      .def(
          "forget_lists", [](CountBox& box) { box.points.clear(); },
          "Propagating the box lists its points anew.")
      .def(
          "child",
          [](const CountBox& box, int coordinate, int at, bool above) {
            CountBox child = box;
            if (above)
              child.low.at(coordinate) = std::max(child.low[coordinate], at + 1);
            else
              child.high.at(coordinate) = std::min(child.high[coordinate], at);
            return child;
          },
          "coordinate"_a, "at"_a, "above"_a);
}

void bind_problem(nb::module_& m) {
  nb::class_<CountBound>(m, "CountBound", "A bound and what attains it.")
      .def_ro("value", &CountBound::value, "In units of 1/2**30.");
  nb::class_<CountProblem>(m, "CountProblem", "Bounds on the likelihood of parses whose counts lie in a box.")
      .def(
          "__init__",
          [](CountProblem* self, const arcwise::TagCorpus& corpus, Array<uint8_t> marked, int least,
             int enumerate_up_to) {
            new (self) CountProblem(corpus, {marked.data(), marked.data() + marked.shape(0)}, least,
                                    enumerate_up_to);
          },
          "corpus"_a, "marked"_a, "least"_a, "enumerate_up_to"_a)
      .def_prop_ro("root_box", &CountProblem::root_box)
      .def_prop_ro("root_feasible", &CountProblem::root_feasible)
      .def_prop_ro("coordinates", [](const CountProblem& p) { return p.layout().coordinates(); })
      .def(
          "vectors",
          [](const CountProblem& problem, size_t sentence) {
            if (sentence >= problem.sentences().size()) throw nb::index_error("no such sentence");
            const auto& vectors = problem.sentences()[sentence].vectors;
            const size_t words = problem.sentences()[sentence].tags.size();
            return std::tuple{copied(vectors.names), moved(vectors.values, {vectors.count, vectors.width}),
                              moved(vectors.heads, {vectors.count, words})};
          },
          nb::rv_policy::move, "sentence"_a,
          "Of a short sentence: the coordinates that occur, the different count vectors over them, a tree of "
          "each.")
      .def_prop_ro(
          "block_coordinates",
          [](const CountProblem& problem) {
            std::vector<std::vector<int32_t>> out;
            for (const CountProblem::Block& block : problem.blocks()) {
              out.push_back(block.parts);
              if (block.some >= 0) out.back().push_back(block.some);
            }
            return out;
          },
          "The coordinates of the points of each block.")
      .def(
          "points",
          [](const CountProblem& problem, const CountBox& box, size_t block) -> nb::object {
            if (block >= problem.blocks().size()) throw nb::index_error("no such block");
            if (block >= box.points.size() || !box.points[block]) return nb::none();
            const arcwise::BlockPoints& points = *box.points[block];
            return nb::cast(moved(points.values, {points.count, points.width}));
          },
          "box"_a, "block"_a, "The points listed for a block in a box, one per row; None: no list.")
      .def("propagate", &CountProblem::propagate, "box"_a)
      .def(
          "bound",
          [](const CountProblem& problem, const CountBox& box, Array<int64_t> mu) {
            const int64_t* data = multipliers(problem, mu);
            CountBound out;
            problem.bound(box, data, out);
            return out;
          },
          "box"_a, "mu"_a)
      .def(
          "tighten",
          [](const CountProblem& problem, CountBox& box, Array<int64_t> mu, const CountBound& bound,
             int64_t threshold) { return problem.tighten(box, multipliers(problem, mu), bound, threshold); },
          "box"_a, "mu"_a, "bound"_a, "threshold"_a)
      .def(
          "parse_split",
          [](const CountProblem& problem, const CountBox& box) {
            const auto split = problem.parse_split(box);
            return std::tuple{split.sentence, split.coordinate, split.at};
          },
          "box"_a, "(sentence, coordinate, value) that tells parses of a sentence apart; sentence -1: none.")
      .def(
          "keep_parses",
          [](const CountProblem& problem, CountBox& box, int sentence, int coordinate, int at, bool above) {
            problem.keep_parses(box, {sentence, coordinate, at}, above);
          },
          "box"_a, "sentence"_a, "coordinate"_a, "at"_a, "above"_a)
      .def(
          "only_parses",
          [](const CountProblem& problem, const CountBox& box) { return copied(problem.only_parses(box)); },
          nb::rv_policy::move, "box"_a,
          "Heads of all words if one parse of each sentence is left, else none.")
      .def("value",
           [](const CountProblem& problem, Array<double> counts) {
             return problem.value(sized(counts, problem.layout().coordinates()));
           })
      .def("alive_count", [](const CountProblem&, const CountBox& box) {
        size_t sum = 0;
        for (uint64_t word : box.alive) sum += __builtin_popcountll(word);
        return sum;
      });
}

void bind_agreement(nb::module_& m) {
  using arcwise::Agreement;
  using arcwise::CountAgreement;
  nb::class_<Agreement>(m, "Agreement", "A bound in which blocks and sentences agree vector by vector.")
      .def_ro("bound", &Agreement::bound, "In units of 1/2**30.")
      .def_prop_ro(
          "blocks", [](const Agreement& a) { return copied(a.blocks); }, nb::rv_policy::move)
      .def_prop_ro(
          "messages", [](const Agreement& a) { return copied(a.messages); }, nb::rv_policy::move)
      .def_prop_ro(
          "counts", [](const Agreement& a) { return copied(a.counts); }, nb::rv_policy::move)
      .def_ro("sweeps", &Agreement::sweeps);
  nb::class_<CountAgreement>(m, "CountAgreement", "Improves such bounds.")
      .def(nb::init<const CountProblem&>(), "problem"_a, nb::keep_alive<1, 2>())
      .def_prop_ro("size", &CountAgreement::messages, "How many messages there are.")
      .def(
          "in_order",
          [](const CountAgreement& agreement, const CountProblem& problem, size_t block) {
            if (block >= problem.blocks().size()) throw nb::index_error("no such block");
            return copied(agreement.in_order(block));
          },
          nb::rv_policy::move, "problem"_a, "block"_a,
          "Where the messages of a block stand, sentence after sentence, vectors in lexicographic order.")
      .def(
          "from_prices",
          [](const CountAgreement& agreement, const CountProblem& problem, Array<int64_t> mu) {
            return copied(agreement.from_prices(multipliers(problem, mu)));
          },
          nb::rv_policy::move, "problem"_a, "mu"_a)
      .def(
          "improve",
          [](CountAgreement& agreement, const CountProblem& problem, const CountBox& box, Array<int64_t> mu,
             Array<int32_t> messages, int64_t threshold, int most_sweeps, double precision, double seconds) {
            const int64_t* prices = multipliers(problem, mu);
            const int32_t* first = sized(messages, agreement.messages());
            Agreement out;
            {
              nb::gil_scoped_release release;
              out = agreement.improve(box, prices, {first, first + agreement.messages()}, threshold,
                                      most_sweeps, precision, seconds);
            }
            return out;
          },
          "problem"_a, "box"_a, "mu"_a, "messages"_a, "threshold"_a, "most_sweeps"_a, "precision"_a,
          "seconds"_a)
      .def("tighten", &CountAgreement::tighten, "box"_a, "found"_a, "threshold"_a);
}

}  // namespace

void bind_induction_counts(nb::module_& m) {
  bind_box(m);
  bind_problem(m);
  nb::class_<CountEvaluation>(m, "CountEvaluation", "What the linear program of a box says.")
      .def_ro("bound", &CountEvaluation::bound, "In units of 1/2**30.")
      .def_prop_ro(
          "mu", [](const CountEvaluation& e) { return copied(e.mu); }, nb::rv_policy::move)
      .def_ro("value", &CountEvaluation::value)
      .def_prop_ro(
          "counts", [](const CountEvaluation& e) { return copied(e.counts); }, nb::rv_policy::move)
      .def_ro("rounds", &CountEvaluation::rounds)
      .def_ro("pivots", &CountEvaluation::pivots);
  bind_agreement(m);
  nb::class_<arcwise::CountBasis>(m, "CountBasis", "Where the simplex method can start again.");
  nb::class_<CountMaster>(m, "CountMaster", "The columns of the linear program over parses and points.")
      .def(nb::init<const CountProblem&, bool>(), "problem"_a, "constrained"_a, nb::keep_alive<1, 2>())
      .def_prop_ro("rows", &CountMaster::rows)
      .def_prop_ro("columns", &CountMaster::columns)
      .def(
          "evaluate",
          [](CountMaster& master, const CountBox& box, int64_t threshold, double precision, int most_rounds,
             double seconds, const arcwise::CountBasis* start) {
            arcwise::CountEvaluation out;
            {
              nb::gil_scoped_release release;
              out = master.evaluate(box, threshold, precision, most_rounds, seconds, start);
            }
            return out;
          },
          "box"_a, "threshold"_a, "precision"_a, "most_rounds"_a, "seconds"_a, "start"_a.none())
      .def_prop_ro("basis", [](const CountMaster& master) { return master.basis(); })
      .def(
          "splits",
          [](const CountMaster& master, const CountBox& box, const CountEvaluation& at, double middle,
             size_t at_most) {
            std::vector<std::tuple<int, int, double>> out;
            for (const auto& split : master.splits(box, at.counts, middle, at_most))
              out.emplace_back(split.coordinate, split.at, split.gap);
            return out;
          },
          "box"_a, "at"_a, "middle"_a, "at_most"_a);
}
