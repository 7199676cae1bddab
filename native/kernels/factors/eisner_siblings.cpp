#include "kernels/factors/eisner_siblings.hpp"

#include "kernels/factors/eisner_siblings_chart.hpp"
#include "kernels/inference/eisner_sums.hpp"

namespace arcwise {
namespace {

// Calls visit(h, m, from, to) for all arcs, with the siblings from <= s < to that may be between.
template <typename Visit>
void each_row_of(int h, int n, Visit visit) {
  for (int m = 1; m < h; ++m) visit(h, m, m + 1, h);
  for (int m = h + 1; m <= n; ++m) visit(h, m, h + 1, m);
}

int padded(int length) { return (length + LANES - 1) & ~(LANES - 1); }

// to[c][r] = from[r·stride + c] for a square of LANES rows and columns.
void transpose_square(const double* from, int64_t stride, double* const* to) {
  const Lanes a = load(from), b = load(from + stride), c = load(from + 2 * stride),
              d = load(from + 3 * stride);
  const Lanes ab0 = __builtin_shufflevector(a, b, 0, 4, 2, 6),
              ab1 = __builtin_shufflevector(a, b, 1, 5, 3, 7);
  const Lanes cd0 = __builtin_shufflevector(c, d, 0, 4, 2, 6),
              cd1 = __builtin_shufflevector(c, d, 1, 5, 3, 7);
  store(to[0], __builtin_shufflevector(ab0, cd0, 0, 1, 4, 5));
  store(to[1], __builtin_shufflevector(ab1, cd1, 0, 1, 4, 5));
  store(to[2], __builtin_shufflevector(ab0, cd0, 2, 3, 6, 7));
  store(to[3], __builtin_shufflevector(ab1, cd1, 2, 3, 6, 7));
}

// Copies the siblings strictly between h and the modifiers first..first+3 in squares, and the rest one by one.
void copy_modifiers(const double* siblings, int h, int first, int count, SiblingRows& rows) {
  const int64_t side = rows.n + 1;
  const bool right = h < first;
  // Where all modifiers of the block have siblings.
  const int from = right ? h + 1 : first + count, to = right ? first : h;
  double* columns[LANES];
  for (int c = 0; c < count; ++c) columns[c] = rows.row(h, first + c) - (right ? h + 1 : first + c + 1);
  auto copy = [&](int c, int s) { columns[c][s] = siblings[s * side + first + c]; };
  int s = from;
  if (count == LANES)
    for (; s + LANES <= to; s += LANES) {
      double* const places[LANES] = {columns[0] + s, columns[1] + s, columns[2] + s, columns[3] + s};
      transpose_square(siblings + s * side + first, side, places);
    }
  for (; s < to; ++s)
    for (int c = 0; c < count; ++c) copy(c, s);
  for (int c = 0; c < count; ++c)
    if (right)
      for (int t = std::max(from, first); t < first + c; ++t) copy(c, t);
    else
      for (int t = first + c + 1; t < std::min(to, first + count); ++t) copy(c, t);
}

void copy_head(const SiblingSentence& sentence, int h, SiblingRows& rows) {
  const int n = sentence.n;
  const int64_t side = n + 1;
  const double* siblings = sentence.siblings + h * side * side;
  auto block = [&](int first, int last) {
    for (int m = first; m <= last; m += LANES)
      copy_modifiers(siblings, h, m, std::min(LANES, last - m + 1), rows);
  };
  block(1, h - 1);
  block(h + 1, n);
  each_row_of(h, n, [&](int, int m, int, int) {
    const int64_t at = rows.cell(h, m);
    rows.arcs[at] = sentence.arcs[at];
    rows.first[at] = siblings[h * side + m];
  });
}

// Two siblings in a span that their head is outside of: two words of the span would have their head outside.
void forbid_shared_spans(EisnerSpans spans, SiblingRows& rows) {
  for (int at = 0; at < spans.count; ++at) {
    const int first = spans.ends[2 * at], last = spans.ends[2 * at + 1];
    for (int h = 0; h <= rows.n; ++h) {
      if (first <= h && h <= last) continue;
      for (int m = first; m <= last; ++m) {
        const int low = h < m ? first : m + 1, high = h < m ? m : last + 1;
        for (int s = low; s < high; ++s) rows.inner(h, m)[s] = MINUS_INFINITY;
      }
    }
  }
}

void read_sentence(const SiblingSentence& sentence, SiblingRows& rows) {
  rows.start(sentence.n);
  for (int h = 0; h <= sentence.n; ++h) copy_head(sentence, h, rows);
}

// What is known of the shifted scores.
struct ShiftedScores {
  CarefulSum taken;
  bool fits = true;       // all are doubles as weights, but for those far below
  bool has_deep = false;  // some are far below -EISNER_DEPTH

  void look_at(const double* values, int64_t length) {
    bool all_fit = true, some_deep = false;
    for (int64_t k = 0; k < length; ++k) {
      all_fit &= values[k] >= -700 || values[k] < -EISNER_DEPTH;
      some_deep |= values[k] < -EISNER_DEPTH && values[k] != MINUS_INFINITY;
    }
    fits &= all_fit;
    has_deep |= some_deep;
  }
};

// Moves the best sibling score of each arc into the arc, then takes the best arc from each column: all scores are at most 0. The sum
// taken is -inf if some word can have no head. With `exponentiate`, the siblings become weights while their row is in the cache.
template <bool exponentiate>
ShiftedScores shift_scores(SiblingRows& rows, std::vector<double>& shifts) {
  const int n = rows.n;
  ShiftedScores result;
  shifts.assign(n + 1, MINUS_INFINITY);
  for (int h = 0; h <= n; ++h)
    each_row_of(h, n, [&](int, int m, int from, int to) {
      const int64_t at = rows.cell(h, m);
      double* row = rows.row(h, m);
      const int length = padded(to - from);
      Lanes most = spread(rows.first[at]);
      for (int k = 0; k < length; k += LANES) most = larger(load(row + k), most);
      const double best = largest_of(most);
      rows.arcs[at] += best;
      if (rows.arcs[at] == MINUS_INFINITY) {
        rows.first[at] = MINUS_INFINITY;
        std::fill_n(row, length, exponentiate ? 0.0 : MINUS_INFINITY);
        return;
      }
      rows.first[at] -= best;
      for (int k = 0; k < length; k += LANES) store(row + k, load(row + k) - best);
      shifts[m] = std::max(shifts[m], rows.arcs[at]);
      result.look_at(row, length);
      if (exponentiate)
        for (int k = 0; k < length; k += LANES) store(row + k, exp_of_nonpositive(load(row + k)));
    });
  for (int m = 1; m <= n; ++m) {
    if (shifts[m] == MINUS_INFINITY) {
      result.taken = {MINUS_INFINITY, 0};
      return result;
    }
    result.taken.add(shifts[m]);
  }
  for (int h = 0; h <= n; ++h)
    for (int m = 1; m <= n; ++m) rows.arcs[rows.cell(h, m)] -= shifts[m];
  result.look_at(rows.arcs.data(), static_cast<int64_t>(rows.arcs.size()));
  result.look_at(rows.first.data(), static_cast<int64_t>(rows.first.size()));
  return result;
}

void exponentiate_all(double* values, size_t length) {
  size_t k = 0;
  for (; k + LANES <= length; k += LANES) store(values + k, exp_of_nonpositive(load(values + k)));
  for (; k < length; ++k) values[k] = exp_of_nonpositive(spread(values[k]))[0];
}

// Fills the chart of sums and hands it to use(chart); returns log Z, or -inf, without a use, if there is no tree. As
// with_eisner_sums: doubles with the processor's flags as a guard, then logarithms.
template <typename Read, typename Use>
double with_sibling_sums(Read read, bool single_root, EisnerSpans spans, EisnerSiblingsWorkspace& workspace,
                         Use use) {
  SiblingRows& rows = workspace.rows;
  read(rows);
  forbid_shared_spans(spans, rows);
  const int n = rows.n;
  ShiftedScores shifted = shift_scores<true>(rows, workspace.shifts);
  if (!std::isfinite(shifted.taken.total)) return MINUS_INFINITY;
  if (shifted.fits) {
    exponentiate_all(rows.arcs.data(), rows.arcs.size());
    exponentiate_all(rows.first.data(), rows.first.size());
    for (double scale : {1.0, 1 / GROWTH}) {
      for (double& weight : rows.arcs) weight *= scale;
      forget_underflow();
      EisnerSiblingsChart<SiblingSumProduct> chart(rows, single_root, spans, workspace.chart);
      if (had_underflow()) break;
      if (n > SAFE_LENGTH && scale == 1 && !(chart.cells().largest() < SAFE_SUM)) continue;
      const double log_partition = std::log(chart.total()) - n * std::log(scale);
      if (shifted.has_deep && !is_deep_enough(log_partition, n, EISNER_DEPTH)) break;
      if (chart.total() == 0) return MINUS_INFINITY;
      use(chart);
      return shifted.taken.plus(log_partition);
    }
  }
  read(rows);
  forbid_shared_spans(spans, rows);
  shifted = shift_scores<false>(rows, workspace.shifts);
  EisnerSiblingsChart<SiblingLogSum> chart(rows, single_root, spans, workspace.chart);
  if (chart.total() == MINUS_INFINITY) return MINUS_INFINITY;
  use(chart);
  return shifted.taken.plus(chart.total());
}

// The probabilities in rows, shaped as the sibling scores.
void write_siblings(const SiblingSentence& sentence, const SiblingRows& rows, double* siblings) {
  const int n = sentence.n;
  const int64_t side = n + 1;
  for (int h = 0; h <= n; ++h) {
    double* to = siblings + h * side * side;
    each_row_of(h, n, [&](int, int m, int from, int end) {
      to[h * side + m] = rows.first[rows.cell(h, m)];
      if (h == 0 && sentence.single_root) return;
      const double* row = rows.row(h, m);
      for (int s = from; s < end; ++s) to[s * side + m] = row[s - from];
    });
  }
}

}  // namespace

void SiblingRows::start(int words) {
  const size_t cells = static_cast<size_t>(words + 1) * (words + 1);
  n = words;
  arcs.assign(cells, MINUS_INFINITY);
  first.assign(cells, MINUS_INFINITY);
  starts.assign(cells, 0);
  length = 0;
  for (int h = 0; h <= n; ++h)
    each_row_of(h, n, [&](int, int m, int from, int to) {
      starts[cell(h, m)] = length;
      length += padded(to - from);
    });
  if (static_cast<int64_t>(rows.size()) < length) rows.resize(length);
  for (int h = 0; h <= n; ++h)
    each_row_of(h, n, [&](int, int m, int from, int to) {
      std::fill(row(h, m) + (to - from), row(h, m) + padded(to - from), MINUS_INFINITY);
    });
}

double eisner_siblings_decode(const SiblingSentence& sentence, int32_t* heads,
                              EisnerSiblingsWorkspace& workspace) {
  read_sentence(sentence, workspace.rows);
  return eisner_siblings_decode_rows(sentence.single_root, sentence.spans, heads, workspace);
}

double eisner_siblings_decode_rows(bool single_root, EisnerSpans spans, int32_t* heads,
                                   EisnerSiblingsWorkspace& workspace) {
  forbid_shared_spans(spans, workspace.rows);
  const EisnerSiblingsChart<SiblingMaxPlus> chart(workspace.rows, single_root, spans, workspace.chart);
  std::fill_n(heads, workspace.rows.n + 1, -1);
  if (chart.total() != MINUS_INFINITY) chart.walk(workspace.pending, heads);
  return chart.total();
}

double eisner_siblings_max_marginals_rows(bool single_root, EisnerSpans spans, double* arcs,
                                          EisnerSiblingsWorkspace& workspace) {
  forbid_shared_spans(spans, workspace.rows);
  EisnerSiblingsChart<SiblingMaxPlus> chart(workspace.rows, single_root, spans, workspace.chart);
  chart.outside(arcs, workspace.adjoints);
  return chart.total();
}

double eisner_siblings_log_partition(const SiblingSentence& sentence, EisnerSiblingsWorkspace& workspace) {
  auto read = [&](SiblingRows& rows) { read_sentence(sentence, rows); };
  return with_sibling_sums(read, sentence.single_root, sentence.spans, workspace, [](auto&) {});
}

double eisner_siblings_marginals(const SiblingSentence& sentence, double* arcs, double* siblings,
                                 EisnerSiblingsWorkspace& workspace) {
  const size_t side = sentence.n + 1;
  if (siblings) std::fill_n(siblings, side * side * side, 0.0);
  auto read = [&](SiblingRows& rows) { read_sentence(sentence, rows); };
  const double log_partition =
      with_sibling_sums(read, sentence.single_root, sentence.spans, workspace, [&](auto& chart) {
        chart.outside(arcs, workspace.adjoints);
        if (siblings) write_siblings(sentence, workspace.rows, siblings);
      });
  if (log_partition == MINUS_INFINITY) std::fill_n(arcs, side * side, 0.0);
  return log_partition;
}

double eisner_siblings_marginals_rows(bool single_root, EisnerSpans spans, double* arcs,
                                      EisnerSiblingsWorkspace& workspace) {
  workspace.kept = workspace.rows;  // should doubles not hold the sums
  auto read = [&](SiblingRows& rows) { rows = workspace.kept; };
  const double log_partition = with_sibling_sums(
      read, single_root, spans, workspace, [&](auto& chart) { chart.outside(arcs, workspace.adjoints); });
  if (log_partition == MINUS_INFINITY) std::fill_n(arcs, workspace.rows.arcs.size(), 0.0);
  return log_partition;
}

bool eisner_siblings_log_marginals_rows(bool single_root, double* arcs, EisnerSiblingsWorkspace& workspace) {
  const size_t count = workspace.rows.arcs.size();
  if (eisner_siblings_marginals_rows(single_root, {}, arcs, workspace) == MINUS_INFINITY) return false;
  for (size_t at = 0; at < count; ++at) arcs[at] = std::max(std::log(arcs[at]), LEAST_LOG_PROBABILITY);
  return true;
}

int64_t clean_siblings(double* siblings, int n, double limit) {
  const int64_t side = n + 1;
  int64_t first_bad = -1;
  for (int h = 0; h <= n; ++h)
    for (int s = 0; s <= n; ++s) {
      double* row = siblings + (h * side + s) * side;
      // A dependent m follows s if it lies farther out on its side.
      const int first = s == h || (s < h && s > 0) ? 1 : s > h ? s + 1 : n + 1;
      const int last = s < h ? s - 1 : n;
      std::fill(row, row + first, MINUS_INFINITY);
      if (s == h) row[h] = MINUS_INFINITY;
      std::fill(row + std::max(first, last + 1), row + side, MINUS_INFINITY);
      int bad = 0;
      for (int m = first; m <= last; ++m) bad += !(row[m] <= limit);
      if (bad && first_bad < 0) {
        int m = first;
        while (row[m] <= limit) ++m;
        first_bad = (h * side + s) * side + m;
      }
    }
  return first_bad;
}

}  // namespace arcwise
