// Memory for tables with random access, requested in huge pages (2 MB instead of 4 KB on Linux) to reduce TLB
// misses.
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
struct HugePages {
  using value_type = T;
  static constexpr size_t PAGE = size_t{1} << 21;

  HugePages() = default;
  template <typename Other>
  HugePages(const HugePages<Other>&) {}

  T* allocate(size_t count) {
    size_t bytes = count * sizeof(T);
    bool large = bytes >= PAGE;
    void* memory = large ? std::aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE) : std::malloc(bytes);
    if (!memory) throw std::bad_alloc();
#ifdef __linux__
    if (large) madvise(memory, bytes, MADV_HUGEPAGE);  // only a hint: the kernel may ignore it
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) { std::free(memory); }
  bool operator==(const HugePages&) const { return true; }
};

template <typename T>
using Table = std::vector<T, HugePages<T>>;

}  // namespace arcwise
