#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/learning/mixing.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

using Writable = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::vector<std::span<const float>> spans(const std::vector<Array<float>>& arrays) {
  std::vector<std::span<const float>> found;
  for (const auto& array : arrays) found.emplace_back(array.data(), array.shape(0));
  return found;
}

auto changed(const std::vector<Array<float>>& tables, const std::vector<Array<float>>& before, int threads) {
  const auto now = spans(tables), then = spans(before);
  auto same_size = [&](const auto& table) { return table.size() == now[0].size(); };
  if (now.empty() || now.size() != then.size() || !std::all_of(now.begin(), now.end(), same_size) ||
      !std::all_of(then.begin(), then.end(), same_size))
    throw nb::value_error("tables of the same size, and as many before as now, are needed");
  std::vector<uint32_t> places;
  {
    nb::gil_scoped_release release;
    places = changed_cells(now, then, threads);
  }
  return moved(std::move(places));
}

void mix(Writable table, const std::vector<Array<uint32_t>>& places, const std::vector<Array<float>>& values,
         int threads) {
  if (places.empty() || places.size() != values.size())
    throw nb::value_error("places and values of each trainer are needed");
  std::vector<Changes> trainers;
  for (size_t i = 0; i < places.size(); ++i) {
    const std::span<const uint32_t> own(places[i].data(), places[i].shape(0));
    if (own.size() != values[i].shape(0) || !std::is_sorted(own.begin(), own.end()) ||
        (!own.empty() && own.back() >= table.shape(0)))
      throw nb::value_error("places in order, in the table, and a value for each are needed");
    trainers.push_back({own, {values[i].data(), values[i].shape(0)}});
  }
  nb::gil_scoped_release release;
  mix_table({table.data(), table.shape(0)}, trainers, threads);
}

}  // namespace

void bind_learning(nb::module_& m) {
  m.def("changed_cells", &changed, "tables"_a, "before"_a, "threads"_a = 1,
        "The places in which any of the tables differs from what it was before.");
  m.def("mix_table", &mix, "table"_a.noconvert(), "places"_a, "values"_a, "threads"_a = 1,
        "Each cell of the table becomes the mean over the trainers: the new value where a trainer has "
        "changed it, else the old.");
}
