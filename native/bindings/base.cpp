// Bindings shared by all kernels: cancellation of long work.
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/interruption.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using arcwise::WorkLimit;

// A limit owned by Python and entered by the working thread.
struct PythonWorkLimit {
  explicit PythonWorkLimit(double seconds) : limit(end_after(seconds)) {}

  static WorkLimit::Clock::time_point end_after(double seconds) {
    if (std::isnan(seconds)) throw nb::value_error("seconds: found nan");
    constexpr double DECADE = 3e8;  // longer than any process, and no risk of overflow
    return WorkLimit::Clock::now() + std::chrono::duration_cast<WorkLimit::Clock::duration>(
                                         std::chrono::duration<double>(std::clamp(seconds, 0.0, DECADE)));
  }

  WorkLimit limit;
  const WorkLimit* before = nullptr;
};

}  // namespace

void bind_base(nb::module_& m) {
  nb::exception<arcwise::WorkInterrupted>(m, "WorkInterrupted");
  nb::class_<PythonWorkLimit>(m, "WorkLimit",
                              "Ends native work of the thread that enters it: after some seconds, or when "
                              "another thread calls cancel(). Kernels then raise WorkInterrupted.")
      .def(nb::init<double>(), "seconds"_a)
      .def("cancel", [](PythonWorkLimit& self) { self.limit.cancel(); })
      .def_prop_ro("is_reached", [](const PythonWorkLimit& self) { return self.limit.is_reached(); })
      .def(
          "__enter__",
          [](PythonWorkLimit& self) -> PythonWorkLimit& {
            self.before = arcwise::current_work_limit;
            arcwise::current_work_limit = &self.limit;
            return self;
          },
          nb::rv_policy::reference)
      .def(
          "__exit__",
          [](PythonWorkLimit& self, nb::handle, nb::handle, nb::handle) {
            arcwise::current_work_limit = self.before;
          },
          "kind"_a.none(), "error"_a.none(), "traceback"_a.none());
}
