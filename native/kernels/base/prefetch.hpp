// Asking for memory before it is needed: it comes while other work is done.
#pragma once

namespace arcwise {

// The cache line at a place; any place will do, also one outside all memory.
inline void prefetch(const void* place) {
#if defined(__GNUC__)
  __builtin_prefetch(place);
#else
  (void)place;
#endif
}

}  // namespace arcwise
