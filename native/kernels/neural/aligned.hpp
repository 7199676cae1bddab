// Arrays that begin at a cache line, so that no vector of theirs lies across two; large ones in huge pages.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>
#ifdef __linux__
#include <sys/mman.h>
#endif

namespace arcwise {

template <typename T>
struct CacheLines {
  using value_type = T;
  static constexpr size_t LINE = 64, PAGE = size_t{1} << 21;

  CacheLines() = default;
  template <typename Other>
  CacheLines(const CacheLines<Other>&) {}

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T), unit = bytes >= PAGE ? PAGE : LINE;
    void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
    if (!memory) throw std::bad_alloc();
#ifdef __linux__
    if (unit == PAGE) madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: it may be refused
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { std::free(memory); }
  bool operator==(const CacheLines&) const { return true; }
};

template <typename T>
using Aligned = std::vector<T, CacheLines<T>>;

}  // namespace arcwise
