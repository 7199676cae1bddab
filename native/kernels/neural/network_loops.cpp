#include "kernels/neural/network_loops.hpp"

#include <stdexcept>

namespace arcwise {

bool has_instructions(Instructions instructions) {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  switch (instructions) {
    case Instructions::baseline:
      return true;
    case Instructions::avx2:
      return avx2;
    case Instructions::avx512:
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vnni");
  }
  return false;
#else
  return instructions == Instructions::baseline;
#endif
}

Instructions widest_instructions() {
  if (has_instructions(Instructions::avx512)) return Instructions::avx512;
  return has_instructions(Instructions::avx2) ? Instructions::avx2 : Instructions::baseline;
}

const NetworkLoops& network_loops(Instructions instructions) {
  if (!has_instructions(instructions))
    throw std::invalid_argument("this machine does not have the instructions asked for");
#if defined(__x86_64__)
  if (instructions == Instructions::avx2) return avx2_loops();
  if (instructions == Instructions::avx512) return avx512_loops();
#endif
  return baseline_loops();
}

}  // namespace arcwise
