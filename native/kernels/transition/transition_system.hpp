// A transition system as a value (Bohnet et al. 2016): capacity, arc distance and a multiset of transitions
// with their control parameters. The engine does not depend on the names of systems.
#pragma once
#include <climits>
#include <cstdint>
#include <vector>

namespace arcwise {

enum class MoveKind : uint8_t { left_arc, right_arc, reduce, shift };

// Which active token a move must involve: any, the leftmost or the rightmost; not_right: any but the
// rightmost.
enum class Periphery : uint8_t { none, left, right, not_right };

struct Transition {
  MoveKind kind;
  bool bottom_up = true;   // B: an arc immediately reduces its modifier
  bool arc_shift = false;  // S: an arc is followed by a SHIFT if input is left
  Periphery periphery = Periphery::none;

  bool is_arc() const { return kind == MoveKind::left_arc || kind == MoveKind::right_arc; }
};

struct TransitionSystem {
  static constexpr int UNBOUNDED = INT_MAX;

  int capacity = 2;      // K: only the K rightmost operative tokens are active
  int max_distance = 1;  // D: maximum distance in O between the ends of an arc
  int start = 2;         // tokens in O before the first move
  bool root_right = true;
  bool many_heads = false;  // DAG systems
  std::vector<Transition> transitions;

  // Whether every arc reduces its modifier, which rules out cycles and keeps every operative word headless.
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
