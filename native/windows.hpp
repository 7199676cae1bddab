// What C++ on Windows lacks, included before every file there (native/packaging.cmake).
#pragma once
#include <cstdlib>

namespace std {
// Memory that free() takes back cannot have a chosen alignment there. That of malloc is enough: the kernels read
// vectors through memcpy, and ask for more only to save time.
inline void* aligned_alloc(size_t, size_t bytes) { return std::malloc(bytes); }
}  // namespace std
