#include "kernels/graph/arc_table.hpp"

#include <algorithm>

namespace arcwise {

void ArcTable::learn_classes(const ArcData& data, bool restricted) {
  const int labels = states.labels;
  std::vector<uint32_t>& label_starts = states.set_starts;
  std::vector<uint16_t>& label_ids = states.set_labels;
  size_t tag_states = (tags + 2) * 2;  // modifier tag and direction
  std::vector<uint8_t> seen(static_cast<size_t>(classes()) * labels, 0), of_modifier(tag_states * labels, 0);
  reach.assign(classes(), 0);
  for (size_t s = 0; s < data.sentences(); ++s) {
    size_t first = data.first(s);
    for (int m = 1; m <= data.length(s); ++m) {
      int h = data.heads[first + m - 1], label = data.labels[first + m - 1], tag = data.tags[first + m - 1];
      if (h < 0) continue;
      int direction = direction_of(h, m);
      int arc_class = class_of(h == 0 ? root_tag() : data.tags[first + h - 1], tag, direction);
      int distance = h == 0 ? 1 : std::min(std::abs(h - m), 65535);
      reach[arc_class] = std::max(reach[arc_class], static_cast<uint16_t>(distance));
      if (label < 0 || labels == 0) continue;
      seen[static_cast<size_t>(arc_class) * labels + label] = 1;
      of_modifier[(tag * 2 + direction) * labels + label] = 1;
    }
  }
  label_starts.assign(1, 0);
  label_ids.clear();
  for (int c = 0; c < classes(); ++c) {
    auto add = [&](const uint8_t* wanted) {
      for (int label = 0; label < labels; ++label)
        if (!wanted || wanted[label]) label_ids.push_back(static_cast<uint16_t>(label));
    };
    size_t before = label_ids.size();
    if (restricted) {
      add(&seen[static_cast<size_t>(c) * labels]);
      if (label_ids.size() == before) add(&of_modifier[(c / 2 % (tags + 2) * 2 + c % 2) * labels]);
    }
    if (label_ids.size() == before) add(nullptr);
    label_starts.push_back(static_cast<uint32_t>(label_ids.size()));
  }
}

namespace {

// Different places of the features of the gold arcs in the table of `table`.
size_t different_places(const ArcTable& table, const ArcData& data) {
  std::vector<bool> seen(table.cells(), false);
  size_t found = 0;
  auto visit = [&](uint32_t place) {
    found += !seen[place];
    seen[place] = true;
  };
  ArcSentence sentence;
  for (size_t s = 0; s < data.sentences(); ++s) {
    sentence.set(table, data, s, {});
    for (int m = 1; m <= sentence.n(); ++m) {
      int h = data.heads[data.first(s) + m - 1];
      if (h >= 0) arc_places(table, sentence, h, m, visit, visit, visit);
    }
  }
  return found;
}

}  // namespace

FeatureCount count_features(const ArcTable& table, const ArcData& data) {
  ArcTable wide = table;
  wide.arc_bits = wide.row_bits = 28;
  return {different_places(wide, data), different_places(table, data)};
}

void ArcSentence::set(const ArcTable& table, const ArcData& data, size_t sentence,
                      const std::vector<uint8_t>& keep_word) {
  size_t first = data.first(sentence);
  int n = data.length(sentence);
  tags.assign(1, table.root_tag());
  tags.insert(tags.end(), data.tags.begin() + first, data.tags.begin() + first + n);
  hashes.set(table.templates, data.atoms.data() + first * data.atom_count, n, table.vocabulary, keep_word);
  hashes.set_lists(data.lists, first);
}

BetweenTags ArcSentence::between(int head, int modifier) const {
  BetweenTags between;
  int step = modifier > head ? 1 : -1;
  for (int word = head + step; word != modifier; word += step)
    between.add(tags[word], hashes.frequent_rank(word));
  return between;
}

}  // namespace arcwise
