#include "kernels/treebanks/lemma_scripts.hpp"

#include "kernels/base/unicode.hpp"

namespace arcwise {

std::string lemma_apply(const LemmaScript& script, std::string_view form) {
  if (script.whole) return script.after;
  std::string cased;
  if (script.casing == LemmaCase::lower) {
    append_lower_case(cased, form);
  } else if (script.casing == LemmaCase::title) {
    std::string_view head = utf8_prefix(form, 1);
    cased = head;
    append_lower_case(cased, form.substr(head.size()));
  } else {
    cased = form;
  }
  size_t head = utf8_prefix(cased, static_cast<size_t>(script.drop_first)).size();
  size_t tail = utf8_suffix(cased, static_cast<size_t>(script.drop_last)).size();
  if (head + tail > cased.size()) return cased;
  std::string lemma = script.before + cased.substr(head, cased.size() - head - tail) + script.after;
  return lemma.empty() ? cased : lemma;
}

}  // namespace arcwise
