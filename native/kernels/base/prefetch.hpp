// Memory prefetching.
#pragma once

namespace arcwise {

// Prefetches the cache line at `place`; any address is allowed, even an invalid one.
inline void prefetch(const void* place) {
#if defined(__GNUC__)
  __builtin_prefetch(place);
#else
  (void)place;
#endif
}

}  // namespace arcwise
