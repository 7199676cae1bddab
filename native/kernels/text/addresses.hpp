// Addresses of the Web, of e-mail and of files in a text, found by rule: "https://example.org/a?b=c", "www.example.org", "example.com/a",
// "someone@example.org", "mailto:someone@example.org", "/usr/bin/python", "~/notes/a.txt", "notes.txt"; and names
// as programs have them: "max_words". Punctuation behind an address is no part of it, nor is a bracket that was opened
// before it.
#pragma once
#include <cstddef>
#include <vector>

#include "kernels/text/squeezed_text.hpp"

namespace arcwise {

struct Address {
  size_t first, last;    // the characters first .. last-1
  bool is_name = false;  // a name as programs have them, and nothing else
};

constexpr size_t LONGEST_ADDRESS = 2048;  // what is longer is none

// In order, without overlap. O(n).
std::vector<Address> find_addresses(const SqueezedText& text);

}  // namespace arcwise
