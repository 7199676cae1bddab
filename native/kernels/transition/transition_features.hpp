// Features of a move: templates over the two tokens it concerns, their neighbours, children and heads (Zhang
// & Nivre 2011, generalised from stack and buffer to any pair of operative tokens).
//
// A template is a list of elements, such as "a:lower b:upos distance". An element is a slot and an attribute:
//
//   slots       a  b                 the left and the right token of the move
//               a-1  a+1  b-1  b+1   their neighbours in the sentence
//               a<  a<<              the next operative tokens to the left of a
//               b>  b>>  b>>>        the next operative tokens to the right of b, then the input
//               mid                  the operative token after a, where b is not the next one
//               a.l1 a.l2 a.r1 a.r2  leftmost and rightmost children of a, the outermost first; so b.l1 …
//               a.h  a.hh            head of a, and its head
//   attributes  any atom of token_atoms.hpp
//               label                of the arc into the token
//               left  right          how many children (of a or b)
//               lefts  rights        the set of their labels
//   by itself   distance             in words, binned
//               between              the set of tags between a and b
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/features/token_atoms.hpp"
#include "kernels/transition/transition_state.hpp"

namespace arcwise {

enum class Slot : uint8_t {
  a,
  b,
  a_before,
  a_after,
  b_before,
  b_after,  // surface
  a_left,
  a_left2,
  b_right,
  b_right2,
  b_right3,
  mid,
  a_l1,
  a_l2,
  a_r1,
  a_r2,
  b_l1,
  b_l2,
  b_r1,
  b_r2,
  a_head,
  a_head2,
  count
};
constexpr int SLOTS = static_cast<int>(Slot::count);
constexpr int32_t BOUNDARY = -2;  // beyond either end of the sentence, of O or of U

// Everything that the features of a pair depend on; equal contexts have equal scores.
struct PairContext {
  int32_t token[SLOTS];
  int16_t label[SLOTS];
  uint32_t lefts[2], rights[2];  // label sets of a and b
  uint8_t left[2], right[2];     // child counts of a and b
  int32_t place_distance;        // of the places in O
  int32_t unused = 0;            // avoids padding: the bytes are hashed

  uint64_t signature() const;
};
static_assert(sizeof(PairContext) % 8 == 0);

PairContext pair_context(const TransitionState& state, int32_t a, int32_t b, int place_distance);

// One sentence as seen by the templates: the atoms of its words and of the root (token 0), row by row.
struct SentenceAtoms {
  const uint64_t* atoms;
  const uint8_t* tags;  // tags as small integers, for `between`
  int words;
};

class TransitionTemplates {
 public:
  // Throws std::invalid_argument, naming the template and the element that is not recognised.
  TransitionTemplates() = default;
  TransitionTemplates(const std::vector<std::string>& templates, const std::vector<std::string>& atom_names);

  size_t size() const { return lengths_.size(); }

  // Writes the hashes of all templates whose tokens exist; returns their number. `hashes` has space for
  // size().
  int extract(const SentenceAtoms& sentence, const PairContext& context, uint64_t* hashes) const;

 private:
  enum class Kind : uint8_t { atom, label, left, right, lefts, rights, distance, between };
  struct Element {
    Kind kind;
    uint8_t slot;
    uint16_t atom;
    bool operator==(const Element&) const = default;
  };

  Element element(std::string_view text, const std::vector<std::string>& atom_names) const;
  uint64_t value(const Element& element, const SentenceAtoms& sentence, const PairContext& context) const;

  size_t atoms_ = 0;
  std::vector<Element> elements_;
  std::vector<uint16_t> parts_;  // element numbers, template by template
  std::vector<uint8_t> lengths_;
};

}  // namespace arcwise
