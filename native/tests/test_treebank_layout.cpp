// The layout of mutated CoNLL-U texts, under sanitizers: every field lies inside the text, the sentences make
// up the whole, and writing back what is there changes nothing.
#include "kernels/treebanks/treebank_layout.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "kernels/base/random.hpp"

using namespace arcwise;

namespace {

void require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "test_treebank_layout: %s\nin:\n%s\n", what, text.c_str());
  std::exit(1);
}

const std::string SAMPLE =
    "# sent_id = one\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n1\ta\t_\tX\t_\t_\t2\tdep\t_\tA=1|B=2\n"
    "2\tb\t_\tX\t_\t_\t0\troot\t_\t_\n2.1\tc\t_\tX\t_\t_\t_\t_\t1:dep\t_\n\n"
    "1\tw\xC3\xA9\t_\t_\t_\t_\t_\t_\t_\t_\n\n";

std::string mutated(Random& random) {
  const std::string pieces[] = {
      "\t", "\n", "\r\n", "\n\n", "#", "1", "-", ".", "_", std::string(1, '\0'), "\xFF", "1-2\t", "|"};
  std::string text = SAMPLE;
  int changes = static_cast<int>(random.below(6));
  for (int i = 0; i < changes; ++i) {
    size_t at = random.below(static_cast<uint32_t>(text.size() + 1));
    if (random.below(2))
      text.insert(at, pieces[random.below(static_cast<uint32_t>(std::size(pieces)))]);
    else
      text.erase(at, random.below(20));
  }
  return text;
}

void check(const std::string& text) {
  TreebankLayout layout = treebank_layout(text);
  size_t joined = 0;
  for (size_t s = 0; s < layout.sentences(); ++s) {
    require(layout.sentence_bytes[s] == joined, "sentences do not follow each other", text);
    joined = layout.sentence_bytes[s + 1];
    require(layout.sentence_words[s] <= layout.sentence_words[s + 1], "words out of order", text);
  }
  require(layout.sentences() == 0 || joined == text.size(), "sentences are not the whole text", text);
  size_t letters = 0;
  for (size_t row = 0; row < layout.rows(); ++row)
    for (int c = 0; c < COLUMNS; ++c)
      for (char letter : layout.row_field(text.data(), row, c)) letters += letter != '\t';
  require(letters <= text.size(), "fields overlap", text);
  if (!layout.problems.empty()) return;
  Annotation heads;
  heads.heads = layout.heads.data();
  const TreebankLayout annotated = treebank_annotated(layout, text.data(), heads);
  const WrittenTreebank written = treebank_written(text, annotated);
  require(written.text == text, "writing the heads back changed the text", text);
  require(written.sentence_bytes == layout.sentence_bytes, "the sentences are written elsewhere", text);
  for (size_t word = 0; word < layout.words(); ++word)
    require(annotated.field(text.data(), word, HEAD) == layout.field(text.data(), word, HEAD),
            "an annotated head reads differently", text);
}

}  // namespace

int main() {
  Random random(7, 0);
  check(SAMPLE);
  check("");
  for (int i = 0; i < 20000; ++i) check(mutated(random));
  std::puts("test_treebank_layout: 20002 texts");
}
