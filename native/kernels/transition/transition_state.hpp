// The state of a generalised transition-based parser: O (operative tokens), U (remaining input), A (arcs).
// Bohnet et al. 2016, section 3. Tokens are 0..n, 0 is the root.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/transition/transition_system.hpp"

namespace arcwise {

constexpr int32_t NO_TOKEN = -1;

// One move. Arcs join `left` and `right` (in the order of O); REDUCE removes `left`; SHIFT has neither.
struct Move {
  int32_t left = NO_TOKEN, right = NO_TOKEN;
  int16_t transition = 0;  // index into TransitionSystem::transitions
  int16_t label = 0;

  bool operator==(const Move&) const = default;
};

// The state of one token; small, because states are copied often.
struct TokenNode {
  int32_t before = NO_TOKEN, after = NO_TOKEN;  // neighbours in O
  int32_t head = NO_TOKEN;
  int32_t leftmost = NO_TOKEN, second_leftmost = NO_TOKEN;  // children by surface order
  int32_t rightmost = NO_TOKEN, second_rightmost = NO_TOKEN;
  uint32_t left_labels = 0, right_labels = 0;  // sums of label hashes: label sets of the children
  int16_t label = 0;
  uint8_t left_children = 0, right_children = 0;
};

struct GraphArc {
  int32_t head, modifier;
  int16_t label;
};

class TransitionState {
 public:
  void start(const TransitionSystem& system, int words, bool single_root) {
    system_ = &system;
    words_ = words;
    bottom_up_ = system.bottom_up();
    single_root_ = single_root && !system.many_heads;
    nodes_.assign(words + 1, TokenNode{});
    arcs_.clear();
    top_ = NO_TOKEN;
    operative_ = used_ = roots_ = 0;
    headless_ = words;
    while (operative_ < system.start && input_left()) shift();
  }

  const TransitionSystem& system() const { return *system_; }
  int words() const { return words_; }
  bool single_root() const { return single_root_; }
  int operative() const { return operative_; }                          // |O|
  int input_left() const { return words_ + 1 - used_; }                 // |U|
  int32_t top() const { return top_; }                                  // O[1]
  int32_t before(int32_t token) const { return nodes_[token].before; }  // one position further left in O
  int32_t after(int32_t token) const { return nodes_[token].after; }
  int32_t head(int32_t token) const { return nodes_[token].head; }
  const TokenNode& node(int32_t token) const { return nodes_[token]; }
  const std::vector<GraphArc>& arcs() const { return arcs_; }  // of DAG systems
  bool is_removed(int32_t token) const { return nodes_[token].head != NO_TOKEN && !is_operative(token); }
  bool is_operative(int32_t token) const {
    return nodes_[token].before != NO_TOKEN || nodes_[token].after != NO_TOKEN || token == top_;
  }
  // The token `ahead` positions into the input, or NO_TOKEN beyond its end.
  int32_t input(int ahead) const { return ahead < input_left() ? token_at(used_ + ahead) : NO_TOKEN; }
  // Surface position: 0..n, and n+1 for a root on the right.
  int32_t position(int32_t token) const { return token == 0 && system_->root_right ? words_ + 1 : token; }

  // All input is consumed, every word has a head, and nothing is left to reduce. All derivations of an
  // arc-eager tree then have the same length, which makes their scores comparable.
  bool is_final() const { return is_settled() && !may_reduce(); }
  // No move can change the tree any more. (A graph can still get arcs while tokens besides the root are
  // operative.)
  bool is_settled() const {
    return input_left() == 0 && headless_ == 0 && (!system_->many_heads || operative_ <= 1);
  }

  // Calls visit(move, place distance) for every legal move; visits arcs from the right end of O to the left.
  template <typename Visit>
  void for_each_move(Visit visit) const {
    if (is_final()) return;
    const int leftmost = active();
    int j = 1;
    for (int32_t right = top_; j <= leftmost; ++j, right = nodes_[right].before) {
      visit_reduce(right, j, leftmost, visit);
      int i = j + 1;
      for (int32_t left = nodes_[right].before; i <= leftmost && i - j <= system_->max_distance;
           ++i, left = nodes_[left].before)
        visit_arcs(left, right, i, j, leftmost, visit);
    }
    visit_shift(visit);
  }

  // Visits only the arcs between two operative tokens, in systems without peripheries (easy-first visits
  // pairs separately).
  template <typename Visit>
  void for_each_arc_between(int32_t left, int32_t right, int distance, Visit visit) const {
    visit_arcs(left, right, distance + 1, 1, 0, visit);
  }

  bool is_legal(const Move& move) const {
    bool found = false;
    for_each_move([&](const Move& legal, int) {
      found |= legal.transition == move.transition && legal.left == move.left && legal.right == move.right;
    });
    return found;
  }

  void apply(const Move& move) {
    const Transition& t = system_->transitions[move.transition];
    switch (t.kind) {
      case MoveKind::shift:
        shift();
        return;
      case MoveKind::reduce:
        remove(move.left);
        return;
      case MoveKind::left_arc:
        add_arc(move.right, move.left, move.label);
        break;
      case MoveKind::right_arc:
        add_arc(move.left, move.right, move.label);
        break;
    }
    if (t.bottom_up) remove(t.kind == MoveKind::left_arc ? move.left : move.right);
    if (t.arc_shift && input_left()) shift();
  }

  // Attaches every headless word after a dead end: under single_root to the word whose head is 0 (or to the
  // first headless word, whose head becomes 0), otherwise to 0. Returns the number of words attached.
  int complete(int16_t label) {
    int attached = 0;
    int32_t root = NO_TOKEN;
    for (int32_t m = 1; m <= words_; ++m)
      if (nodes_[m].head == 0) root = m;
    for (int32_t m = 1; m <= words_; ++m) {
      if (nodes_[m].head != NO_TOKEN) continue;
      add_arc(single_root_ && root != NO_TOKEN ? root : 0, m, label);
      if (root == NO_TOKEN) root = m;
      ++attached;
    }
    return attached;
  }

 private:
  int32_t token_at(int32_t at) const {
    if (!system_->root_right) return at;
    return at < words_ ? at + 1 : 0;
  }

  // ACTIVE(O) is O[min(|O|, K)], ..., O[1], whether or not input is left.
  int active() const { return std::min(operative_, system_->capacity); }

  static bool at_periphery(Periphery periphery, int i, int j, int leftmost) {
    switch (periphery) {
      case Periphery::left:
        return i == leftmost;
      case Periphery::right:
        return j == 1;
      case Periphery::not_right:
        return j != 1;
      case Periphery::none:
        break;
    }
    return true;
  }

  template <typename Visit>
  void visit_arcs(int32_t left, int32_t right, int i, int j, int leftmost, Visit& visit) const {
    int16_t index = 0;
    for (const Transition& t : system_->transitions) {
      if (t.is_arc() && at_periphery(t.periphery, i, j, leftmost)) {
        const bool leftwards = t.kind == MoveKind::left_arc;
        if (may_attach(leftwards ? right : left, leftwards ? left : right, t))
          visit(Move{left, right, index, 0}, i - j);
      }
      ++index;
    }
  }

  template <typename Visit>
  void visit_reduce(int32_t token, int place, int leftmost, Visit& visit) const {
    if (nodes_[token].head == NO_TOKEN) return;  // only a token with a head can be reduced
    int16_t index = 0;
    for (const Transition& t : system_->transitions) {
      if (t.kind == MoveKind::reduce && at_periphery(t.periphery, place, place, leftmost))
        visit(Move{token, NO_TOKEN, index, 0}, 0);
      ++index;
    }
  }

  bool may_reduce() const {
    if (bottom_up_) return false;  // operative words have no head
    bool found = false;
    auto see = [&](const Move&, int) { found = true; };
    const int leftmost = active();
    int place = 1;
    for (int32_t token = top_; place <= leftmost && !found; ++place, token = nodes_[token].before)
      visit_reduce(token, place, leftmost, see);
    return found;
  }

  template <typename Visit>
  void visit_shift(Visit& visit) const {
    if (input_left() == 0 || !may_shift(headless_)) return;
    int16_t index = 0;
    for (const Transition& t : system_->transitions) {
      if (t.kind == MoveKind::shift) visit(Move{NO_TOKEN, NO_TOKEN, index, 0}, 0);
      ++index;
    }
  }

  // Single root with two active tokens: once the root on the right has entered, words can no longer reach
  // each other, so exactly one of them may then be headless.
  bool may_shift(int headless_then) const {
    if (!single_root_ || !system_->root_right || system_->capacity > 2) return true;
    return input_left() != 1 || headless_then == 1;
  }

  bool may_attach(int32_t head, int32_t modifier, const Transition& t) const {
    if (modifier == 0) return false;
    if (system_->many_heads) return !has_arc(head, modifier) && !has_path(modifier, head);
    if (nodes_[modifier].head != NO_TOKEN) return false;
    if (single_root_ && head == 0) {
      // Bottom-up: the last remaining word gets head 0. Otherwise: the first word that takes it.
      if (bottom_up_ ? input_left() != 0 || operative_ != 2 : roots_ != 0) return false;
    }
    if (t.arc_shift && input_left() && !may_shift(headless_ - 1)) return false;
    return bottom_up_ || !is_ancestor(modifier, head);
  }

  bool is_ancestor(int32_t ancestor, int32_t token) const {
    const TokenNode& node = nodes_[ancestor];
    if (node.leftmost == NO_TOKEN && node.rightmost == NO_TOKEN) return false;
    while (token != NO_TOKEN && token != ancestor) token = nodes_[token].head;
    return token == ancestor;
  }

  bool has_arc(int32_t head, int32_t modifier) const {
    return std::any_of(arcs_.begin(), arcs_.end(),
                       [&](const GraphArc& a) { return a.head == head && a.modifier == modifier; });
  }

  bool has_path(int32_t from, int32_t to) const {
    if (from == to) return true;
    return std::any_of(arcs_.begin(), arcs_.end(),
                       [&](const GraphArc& a) { return a.head == from && has_path(a.modifier, to); });
  }

  void shift() {
    const int32_t token = token_at(used_++);
    nodes_[token].before = top_;
    if (top_ != NO_TOKEN) nodes_[top_].after = token;
    top_ = token;
    ++operative_;
  }

  void remove(int32_t token) {
    TokenNode& node = nodes_[token];
    if (node.before != NO_TOKEN) nodes_[node.before].after = node.after;
    if (node.after != NO_TOKEN) nodes_[node.after].before = node.before;
    if (token == top_) top_ = node.before;
    node.before = node.after = NO_TOKEN;
    --operative_;
  }

  void add_arc(int32_t head, int32_t modifier, int16_t label) {
    if (system_->many_heads) arcs_.push_back({head, modifier, label});
    TokenNode& m = nodes_[modifier];
    if (m.head == NO_TOKEN) {
      --headless_;
      m.head = head;
      m.label = label;
      if (head == 0) ++roots_;
    }
    add_child(nodes_[head], position(head), modifier, label);
  }

  static void add_child(TokenNode& h, int32_t head_position, int32_t m, int16_t label) {
    const uint32_t label_hash = (static_cast<uint32_t>(label) + 1) * 0x9E3779B1u;
    if (m < head_position) {
      if (h.left_children < 255) ++h.left_children;
      h.left_labels += label_hash;
      insert_child(h.leftmost, h.second_leftmost, m, m < h.leftmost, m < h.second_leftmost);
    } else {
      if (h.right_children < 255) ++h.right_children;
      h.right_labels += label_hash;
      insert_child(h.rightmost, h.second_rightmost, m, m > h.rightmost, m > h.second_rightmost);
    }
  }

  static void insert_child(int32_t& first, int32_t& second, int32_t m, bool before_first,
                           bool before_second) {
    if (first == NO_TOKEN || before_first) {
      second = first;
      first = m;
    } else if (second == NO_TOKEN || before_second) {
      second = m;
    }
  }

  const TransitionSystem* system_ = nullptr;
  std::vector<TokenNode> nodes_;
  std::vector<GraphArc> arcs_;
  int32_t top_ = NO_TOKEN;
  int32_t words_ = 0, operative_ = 0, used_ = 0, headless_ = 0, roots_ = 0;
  bool single_root_ = false, bottom_up_ = true;
};

}  // namespace arcwise
