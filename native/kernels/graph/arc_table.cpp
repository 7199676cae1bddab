#include "kernels/graph/arc_table.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "kernels/base/parallel.hpp"

namespace arcwise {

namespace {

// Calls visit(word, head, label, class) for every word whose head is known; word numbers run over all
// sentences.
template <typename Visit>
void for_each_gold_arc(const ArcTable& table, const ArcData& data, Visit visit) {
  for (size_t s = 0; s < data.sentences(); ++s) {
    size_t first = data.first(s);
    for (int m = 1; m <= data.length(s); ++m) {
      size_t word = first + m - 1;
      int h = data.heads[word];
      if (h < 0) continue;
      int head_tag = h == 0 ? table.root_tag() : data.tags[first + h - 1];
      visit(m, h, data.labels[word], table.class_of(head_tag, data.tags[word], direction_of(h, m)));
    }
  }
}

// Labels and their counts.
struct LabelCounts {
  std::vector<uint32_t> counts;

  bool empty() const {
    return std::all_of(counts.begin(), counts.end(), [](uint32_t c) { return c == 0; });
  }
  // P(the next label is new) = kinds / (seen + kinds) (Witten & Bell 1991, method C); 1 if nothing was seen.
  double novelty() const {
    double kinds = 0, seen = 0;
    for (uint32_t count : counts) {
      kinds += count > 0;
      seen += count;
    }
    return kinds == 0 ? 1 : kinds / (seen + kinds);
  }
};

}  // namespace

void ArcTable::learn_classes(const ArcData& data, bool restricted, int64_t enough, int only_root_label) {
  root_label = only_root_label;
  learn_labels(data, restricted);
  learn_reach(data, enough);
  add_all_labels();
}

void ArcTable::learn_labels(const ArcData& data, bool restricted) {
  const size_t labels = states.labels;
  const LabelCounts none{std::vector<uint32_t>(labels, 0)};
  std::vector<LabelCounts> seen(classes(), none), of_modifier((tags + 2) * 2, none);
  auto modifier_of = [&](int c) { return c / 2 % (tags + 2) * 2 + c % 2; };  // its tag, and the direction
  for_each_gold_arc(*this, data, [&](int, int, int label, int arc_class) {
    if (label < 0 || labels == 0) return;
    ++seen[arc_class].counts[label];
    ++of_modifier[modifier_of(arc_class)].counts[label];
  });
  states.set_starts.assign(1, 0);
  states.set_labels.clear();
  novelty.clear();
  for (int c = 0; c < classes(); ++c) {
    const LabelCounts& own = !seen[c].empty() ? seen[c] : of_modifier[modifier_of(c)];
    auto add_labels = [&](bool all) {
      for (int label = 0; label < states.labels; ++label)
        if (is_legal(c, label) && (all || own.counts[label]))
          states.set_labels.push_back(static_cast<uint16_t>(label));
    };
    add_labels(!restricted);
    if (states.set_labels.size() == states.set_starts.back()) add_labels(true);
    states.set_starts.push_back(static_cast<uint32_t>(states.set_labels.size()));
    novelty.push_back(static_cast<float>(seen[c].novelty()));
  }
}

void ArcTable::learn_reach(const ArcData& data, int64_t enough) {
  // longest: number of arcs of maximal length; farther: number of candidates beyond it.
  std::vector<int64_t> longest(classes(), 0), farther(classes(), 0);
  reach.assign(classes(), 0);
  double arcs = 0, alone = 0;
  for_each_gold_arc(*this, data, [&](int m, int h, int, int arc_class) {
    const auto length = static_cast<uint16_t>(length_of(h, std::abs(h - m)));
    if (length > reach[arc_class]) longest[arc_class] = 0;
    longest[arc_class] += length >= reach[arc_class];
    reach[arc_class] = std::max(reach[arc_class], length);
    ++arcs;
  });
  for (size_t s = 0; s < data.sentences(); ++s) {
    const int32_t *sentence_tags = &data.tags[data.first(s)], *heads = &data.heads[data.first(s)];
    for (int m = 1; m <= data.length(s); ++m) {
      if (heads[m - 1] < 0) continue;
      for (int h = 0; h <= data.length(s); ++h) {
        if (h == m) continue;
        int arc_class =
            class_of(h == 0 ? root_tag() : sentence_tags[h - 1], sentence_tags[m - 1], direction_of(h, m));
        farther[arc_class] += !reaches(arc_class, h, std::abs(h - m));
      }
    }
  }
  for (int c = 0; c < classes(); ++c)
    if (farther[c] < enough)
      reach[c] = ANY_DISTANCE;
    else
      alone += longest[c] == 1;
  // Good-Turing: an arc counts as unseen if no other arc of its class is as long (a singleton).
  unseen = (alone + 0.5) / (arcs + 1);
}

void ArcTable::set_classes(std::vector<uint32_t> label_starts, std::vector<uint16_t> label_ids,
                           std::vector<uint16_t> reached, std::vector<float> label_novelty,
                           double unseen_share, int only_root_label) {
  root_label = only_root_label;
  states.set_starts = std::move(label_starts);
  states.set_labels = std::move(label_ids);
  reach = std::move(reached);
  novelty = std::move(label_novelty);
  novelty.resize(classes(), static_cast<float>(UNTOLD));
  unseen = unseen_share;
  add_all_labels();
}

void ArcTable::add_all_labels() {
  std::vector<uint8_t> seen;
  for (int c = 0; c < classes(); ++c) {
    seen.assign(states.labels, 0);
    for (uint32_t i = states.set_starts[c]; i < states.set_starts[c + 1]; ++i) {
      const uint16_t label = states.set_labels[i];
      seen[label] = 1;
      states.set_labels.push_back(label);
    }
    for (int label = 0; label < states.labels; ++label)
      if (!seen[label] && is_legal(c, label)) states.set_labels.push_back(static_cast<uint16_t>(label));
    states.set_starts.push_back(static_cast<uint32_t>(states.set_labels.size()));
  }
}

namespace {

constexpr size_t SENTENCES_AT_ONCE = 64;

// Counts the distinct table places of the features of gold arcs.
size_t different_places(const ArcTable& table, const ArcData& data, int threads) {
  std::vector<std::atomic<uint64_t>> seen((table.cells() + 63) / 64);
  auto visit = [&](uint32_t place) {
    auto& word = seen[place >> 6];
    const uint64_t bit = uint64_t{1} << (place & 63);
    if (!(word.load(std::memory_order_relaxed) & bit)) word.fetch_or(bit, std::memory_order_relaxed);
  };
  const size_t count = data.sentences();
  parallel_for((count + SENTENCES_AT_ONCE - 1) / SENTENCES_AT_ONCE, threads, [&](size_t some, size_t) {
    ArcSentence sentence;
    for (size_t s = some * SENTENCES_AT_ONCE; s < std::min((some + 1) * SENTENCES_AT_ONCE, count); ++s) {
      sentence.set(table, data, s, {});
      for (int m = 1; m <= sentence.n(); ++m) {
        int h = data.heads[data.first(s) + m - 1];
        if (h >= 0) arc_places(table, sentence, h, m, visit, visit, visit);
      }
    }
  });
  size_t found = 0;
  for (const auto& word : seen) found += static_cast<size_t>(std::popcount(word.load()));
  return found;
}

}  // namespace

FeatureCount count_features(const ArcTable& table, const ArcData& data, int threads) {
  ArcTable wide = table;
  wide.arc_bits = wide.row_bits = 28;
  return {different_places(wide, data, threads), different_places(table, data, threads)};
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
