// A transition system as a value (Bohnet et al. 2016): capacity, arc distance and a multiset of transitions
// with their control parameters. Nothing in the engine knows the name of a system.
#pragma once
#include <climits>
#include <cstdint>
#include <vector>

namespace arcwise {

enum class MoveKind : uint8_t { left_arc, right_arc, reduce, shift };

// Which active token a move must involve: any, the leftmost or the rightmost; not_right: any but the rightmost.
enum class Periphery : uint8_t { none, left, right, not_right };

struct Transition {
  MoveKind kind;
  bool bottom_up = true;   // B: an arc reduces its modifier at once
  bool arc_shift = false;  // S: a SHIFT follows an arc, where input is left
  Periphery periphery = Periphery::none;

  bool is_arc() const { return kind == MoveKind::left_arc || kind == MoveKind::right_arc; }
};

struct TransitionSystem {
  static constexpr int UNBOUNDED = INT_MAX;

  int capacity = 2;      // K: only the K rightmost operative tokens are active
  int max_distance = 1;  // D: how far apart in O the ends of an arc may be
  int start = 2;         // tokens in O before the first move
  bool root_right = true;
  bool many_heads = false;  // DAG systems
  std::vector<Transition> transitions;

  // Whether every arc reduces its modifier: then no cycle can arise and every operative word is headless.
  bool bottom_up() const {
    for (const Transition& t : transitions)
      if (t.is_arc() && !t.bottom_up) return false;
    return true;
  }
  bool arc_shifts() const {
    for (const Transition& t : transitions)
      if (t.is_arc() && t.arc_shift) return true;
    return false;
  }
  bool has(MoveKind kind) const {
    for (const Transition& t : transitions)
      if (t.kind == kind) return true;
    return false;
  }
};

}  // namespace arcwise
