// Lines of a text that are no part of running text: the items of a list, and headings with number signs. A sentence ends before and
// behind them, though no blank line stands there. Other lines may have been broken anywhere, as in letters.
#pragma once
#include <cstddef>

#include "kernels/text/squeezed_text.hpp"

namespace arcwise {

// Whether the sentence that starts at `start` ends before the line break (white space) at `at`.
bool ends_with_line(const SqueezedText& text, size_t start, size_t at);

// Where the mark of the heading ends with which the sentence at `start` starts; `start` if there is none. No sentence ends behind it. (Behind
// the number of an item the model decides: English-EWT has some as sentences.)
size_t end_of_heading_mark(const SqueezedText& text, size_t start);

}  // namespace arcwise
