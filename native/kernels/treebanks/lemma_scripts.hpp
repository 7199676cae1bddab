// Lemma scripts: rules that derive a lemma from a form. "walked" and "talked" share a script, so that a
// script learned from one word applies to others.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace arcwise {

enum class LemmaCase : char { lower = 'l', keep = 'k', title = 't' };

// lemma = before + (form in its case, without its first `drop_first` and last `drop_last` characters) + after
struct LemmaScript {
  LemmaCase casing = LemmaCase::lower;
  int drop_first = 0, drop_last = 0;
  std::string before, after;
  bool whole = false;  // the lemma is `after`, whatever the form
};

// Applies a script to a form; returns the form itself (in its case) if the script drops more than there is.
std::string lemma_apply(const LemmaScript& script, std::string_view form);

}  // namespace arcwise
