#include "kernels/transition/transition_features.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>

#include "kernels/base/hashing.hpp"

namespace arcwise {
namespace {

constexpr std::string_view SLOT_NAMES[SLOTS] = {
    "a",   "b",    "a-1",  "a+1",  "b-1",  "b+1",  "a<",   "a<<",  "b>",   "b>>", "b>>>",
    "mid", "a.l1", "a.l2", "a.r1", "a.r2", "b.l1", "b.l2", "b.r1", "b.r2", "a.h", "a.hh"};
constexpr size_t MAX_ELEMENTS = 256;
constexpr int32_t FAR = 16;

// Cheaper than hash_pair, because the values are already well mixed.
uint64_t combine(uint64_t h, uint64_t value) {
  h = (h ^ value) * 0x9FB21C651E98DF25ULL;
  return h ^ h >> 29;
}

// 1, 2, 3, 4, 5, 6-10, more.
uint64_t binned(int32_t distance) {
  if (distance <= 5) return static_cast<uint64_t>(std::max(distance, 0)) + 1;
  return distance <= 10 ? 7 : 8;
}

int32_t surface_neighbour(const TransitionState& state, int32_t token, int offset) {
  if (token == NO_TOKEN) return BOUNDARY;
  const int32_t at = state.position(token) + offset;
  return at < 1 || at > state.words() ? BOUNDARY : at;
}

void set_token(PairContext& c, const TransitionState& state, Slot slot, int32_t token) {
  c.token[static_cast<int>(slot)] = token;
  c.label[static_cast<int>(slot)] = token >= 0 && state.head(token) != NO_TOKEN
                                        ? static_cast<int16_t>(state.node(token).label + 1)
                                        : int16_t{0};
}

}  // namespace

uint64_t PairContext::signature() const {
  uint64_t words[sizeof(PairContext) / 8], h = 0;
  std::memcpy(words, this, sizeof(PairContext));
  for (uint64_t word : words) h = combine(h, word + 0x9E3779B97F4A7C15ULL);
  return mix(h);
}

PairContext pair_context(const TransitionState& state, int32_t a, int32_t b, int place_distance) {
  PairContext c;
  auto set = [&](Slot slot, int32_t token) { set_token(c, state, slot, token); };
  auto left_of = [&](int32_t t) {
    const int32_t before = t >= 0 ? state.before(t) : NO_TOKEN;
    return before == NO_TOKEN ? BOUNDARY : before;
  };
  int ahead = 0;
  auto right_of = [&](int32_t t) {
    const int32_t after = t >= 0 && ahead == 0 ? state.after(t) : NO_TOKEN;
    if (after != NO_TOKEN) return after;
    const int32_t next = state.input(ahead++);
    return next == NO_TOKEN ? BOUNDARY : next;
  };
  set(Slot::a, a);
  set(Slot::b, b);
  set(Slot::a_before, surface_neighbour(state, a, -1));
  set(Slot::a_after, surface_neighbour(state, a, +1));
  set(Slot::b_before, surface_neighbour(state, b, -1));
  set(Slot::b_after, surface_neighbour(state, b, +1));
  const int32_t left = left_of(a);
  set(Slot::a_left, left);
  set(Slot::a_left2, left_of(left));
  const int32_t r1 = right_of(b), r2 = right_of(r1), r3 = right_of(r2);
  set(Slot::b_right, r1);
  set(Slot::b_right2, r2);
  set(Slot::b_right3, r3);
  set(Slot::mid, place_distance > 1 ? state.after(a) : NO_TOKEN);
  static const TokenNode none;
  const TokenNode& an = a >= 0 ? state.node(a) : none;
  const TokenNode& bn = b >= 0 ? state.node(b) : none;
  set(Slot::a_l1, an.leftmost);
  set(Slot::a_l2, an.second_leftmost);
  set(Slot::a_r1, an.rightmost);
  set(Slot::a_r2, an.second_rightmost);
  set(Slot::b_l1, bn.leftmost);
  set(Slot::b_l2, bn.second_leftmost);
  set(Slot::b_r1, bn.rightmost);
  set(Slot::b_r2, bn.second_rightmost);
  set(Slot::a_head, an.head);
  set(Slot::a_head2, an.head >= 0 ? state.head(an.head) : NO_TOKEN);
  const TokenNode* ends[2] = {&an, &bn};
  for (int e = 0; e < 2; ++e) {
    c.lefts[e] = ends[e]->left_labels;
    c.rights[e] = ends[e]->right_labels;
    c.left[e] = ends[e]->left_children;
    c.right[e] = ends[e]->right_children;
  }
  c.place_distance = place_distance;
  return c;
}

TransitionTemplates::TransitionTemplates(const std::vector<std::string>& templates,
                                         const std::vector<std::string>& atom_names)
    : atoms_(atom_names.size()) {
  for (const std::string& text : templates) {
    std::istringstream words(text);
    std::string word;
    uint8_t length = 0;
    while (words >> word) {
      const Element wanted = element(word, atom_names);
      auto at = std::find(elements_.begin(), elements_.end(), wanted);
      if (at == elements_.end()) at = elements_.insert(at, wanted);
      parts_.push_back(static_cast<uint16_t>(at - elements_.begin()));
      ++length;
    }
    if (length == 0) throw std::invalid_argument("found an empty template");
    lengths_.push_back(length);
  }
  if (elements_.size() > MAX_ELEMENTS) throw std::invalid_argument("found more than 256 different elements");
}

TransitionTemplates::Element TransitionTemplates::element(std::string_view text,
                                                          const std::vector<std::string>& atom_names) const {
  if (text == "distance") return {Kind::distance, 0, 0};
  if (text == "between") return {Kind::between, 0, 0};
  const size_t colon = text.find(':');
  const auto slot = std::find(std::begin(SLOT_NAMES), std::end(SLOT_NAMES), text.substr(0, colon));
  if (colon != text.npos && slot != std::end(SLOT_NAMES)) {
    const auto number = static_cast<uint8_t>(slot - std::begin(SLOT_NAMES));
    const std::string_view attribute = text.substr(colon + 1);
    if (attribute == "label") return {Kind::label, number, 0};
    if (number <= 1) {
      if (attribute == "left") return {Kind::left, number, 0};
      if (attribute == "right") return {Kind::right, number, 0};
      if (attribute == "lefts") return {Kind::lefts, number, 0};
      if (attribute == "rights") return {Kind::rights, number, 0};
    }
    const auto atom = std::find(atom_names.begin(), atom_names.end(), attribute);
    if (atom != atom_names.end())
      return {Kind::atom, number, static_cast<uint16_t>(atom - atom_names.begin())};
  }
  throw std::invalid_argument("found element '" + std::string(text) +
                              "', expected a slot and an attribute such as a:upos, or distance, or between");
}

uint64_t TransitionTemplates::value(const Element& e, const SentenceAtoms& sentence,
                                    const PairContext& c) const {
  const int32_t token = c.token[e.slot];
  switch (e.kind) {
    case Kind::atom:
      if (token >= 0) return sentence.atoms[token * atoms_ + e.atom];
      return token == BOUNDARY ? 0x5851F42D4C957F2DULL : ABSENT;
    case Kind::label:
      return c.label[e.slot] ? mix(static_cast<uint64_t>(c.label[e.slot])) : ABSENT;
    case Kind::left:
      return mix(c.left[e.slot] + 1u);
    case Kind::right:
      return mix(c.right[e.slot] + 1u);
    case Kind::lefts:
      return mix(c.lefts[e.slot] + 1ull);
    case Kind::rights:
      return mix(c.rights[e.slot] + 1ull);
    case Kind::distance: {
      const int32_t a = c.token[0], b = c.token[1];
      if (a < 0 || b < 0) return ABSENT;
      const int32_t words = sentence.words;
      return mix(binned((b == 0 ? words + 1 : b) - (a == 0 ? 0 : a)));
    }
    case Kind::between: {
      const int32_t a = c.token[0], b = c.token[1] == 0 ? sentence.words + 1 : c.token[1];
      uint64_t seen = 1;
      const int32_t first = std::max(a, 0) + 1;
      for (int32_t t = first; t < b; ++t) {
        if (t == first + FAR && b - t > FAR) t = b - FAR;  // in a long span look at its two ends only
        seen |= uint64_t{2} << sentence.tags[t];
      }
      return mix(seen);
    }
  }
  return ABSENT;
}

int TransitionTemplates::extract(const SentenceAtoms& sentence, const PairContext& context,
                                 uint64_t* hashes) const {
  uint64_t values[MAX_ELEMENTS];
  for (size_t e = 0; e < elements_.size(); ++e) values[e] = value(elements_[e], sentence, context);
  const uint16_t* part = parts_.data();
  int found = 0;
  for (size_t t = 0; t < lengths_.size(); ++t) {
    uint64_t h = (t + 1) * 0xD6E8FEB86659FD93ULL;
    bool complete = true;
    for (int k = lengths_[t]; k > 0; --k, ++part) {
      complete &= values[*part] != ABSENT;
      h = combine(h, values[*part]);
    }
    hashes[found] = h;
    found += complete;
  }
  return found;
}

}  // namespace arcwise
