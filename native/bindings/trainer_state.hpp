// The state of an online trainer, exposed for parameter mixing.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bindings/arrays.hpp"
#include "kernels/base/huge_pages.hpp"

namespace arcwise::bindings {

// `tables` are writable views: the trainer continues from what Python writes there.
template <typename Trainer>
void bind_state(nanobind::class_<Trainer>& trainer) {
  trainer
      .def_prop_ro(
          "tables",
          [](nanobind::pointer_and_handle<Trainer> self) {
            std::vector<NewArray<float>> views;
            for (Table<float>* table : self.p->tables()) {
              const size_t shape[1] = {table->size()};
              views.push_back(NewArray<float>(table->data(), 1, shape, self.h));
            }
            return views;
          },
          nanobind::rv_policy::automatic,
          "What it has learned, as arrays that write through: weights, the sums for their averages, and what "
          "its steps go by.")
      .def_prop_rw("steps", &Trainer::steps, &Trainer::set_steps,
                   "The number of the step to come, by which averages go.");
}

}  // namespace arcwise::bindings
