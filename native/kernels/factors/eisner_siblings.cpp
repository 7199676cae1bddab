#include "kernels/factors/eisner_siblings.hpp"

#include "kernels/factors/eisner_siblings_blocks.hpp"
#include "kernels/factors/eisner_siblings_chart.hpp"
#include "kernels/factors/eisner_siblings_shift.hpp"
#include "kernels/inference/eisner_sums.hpp"

namespace arcwise {
namespace {

// Calls visit(h, m, from, to) for all arcs, with the siblings from <= s < to that may be between.
template <typename Visit>
void each_row_of(int h, int n, Visit visit) {
  for (int m = 1; m < h; ++m) visit(h, m, m + 1, h);
  for (int m = h + 1; m <= n; ++m) visit(h, m, h + 1, m);
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
  const int64_t side = sentence.n + 1;
  rows.start(sentence.n);
  for (int h = 0; h <= sentence.n; ++h)
    each_row_of(h, sentence.n, [&](int, int m, int from, int to) {
      const double* siblings = sentence.siblings + h * side * side + m;
      rows.arcs[rows.cell(h, m)] = sentence.arcs[h * side + m];
      rows.first[rows.cell(h, m)] = siblings[h * side];
      for (int s = from; s < to; ++s) rows.inner(h, m)[s] = siblings[s * side];
    });
}

// Moves the best sibling score of each arc of a head into the arc. With `exponentiate`, the siblings become weights while they are in
// the cache.
template <bool exponentiate>
void shift_head(int h, SiblingRows& rows, std::vector<double>& shifts, ShiftedScores& result) {
  const int n = rows.n;
  each_row_of(h, n, [&](int, int m, int from, int to) {
    const int64_t at = rows.cell(h, m);
    double *row = rows.row(h, m), &first = rows.first[at], &arc = rows.arcs[at];
    const int length = padded(to - from);
    Lanes most = spread(first);
    LaneBits valid = (LaneBits)(most <= LARGEST_SCORE);
    for (int k = 0; k < length; k += LANES) {
      const Lanes values = load(row + k);
      valid &= (LaneBits)(values <= LARGEST_SCORE);
      most = larger(values, most);
    }
    const double best = largest_of(most);
    result.is_valid &= !any(~valid) && arc <= LARGEST_SCORE;
    arc += best;
    if (arc == MINUS_INFINITY) {
      first = MINUS_INFINITY;
      std::fill_n(row, length, MINUS_INFINITY);
      return;
    }
    first -= best;
    shifts[m] = std::max(shifts[m], arc);
    LaneBits low{};
    for (int k = 0; k < length; k += LANES) {
      const Lanes values = load(row + k) - best;
      low |= (LaneBits)(values < -700.0) & (LaneBits)(values > MINUS_INFINITY);
      store(row + k, values);
    }
    if (any(low)) result.look_at(row, length);
  });
  if (!exponentiate) return;
  // All rows at once: where a loop over a single one ends, the processor does not foresee.
  exponentiate_all(rows.rows.data() + rows.heads[h], rows.heads[h + 1] - rows.heads[h]);
}

// Takes the best arc from each column: all scores are at most 0. The sum taken is -inf if some word can have no head.
void shift_arcs(SiblingRows& rows, const std::vector<double>& shifts, ShiftedScores& result) {
  const int n = rows.n;
  for (int m = 1; m <= n; ++m) {
    if (shifts[m] == MINUS_INFINITY) {
      result.taken = {MINUS_INFINITY, 0};
      return;
    }
    result.taken.add(shifts[m]);
  }
  for (int h = 0; h <= n; ++h)
    for (int m = 1; m <= n; ++m) rows.arcs[rows.cell(h, m)] -= shifts[m];
  result.look_at(rows.arcs.data(), static_cast<int64_t>(rows.arcs.size()));
  result.look_at(rows.first.data(), static_cast<int64_t>(rows.first.size()));
}

// Scores in the caller's arrays.
struct DenseScores {
  const SiblingSentence& sentence;

  template <bool exponentiate>
  void read(EisnerSiblingsWorkspace& workspace, ShiftedScores& result) const {
    SiblingRows& rows = workspace.rows;
    rows.lay_out(sentence.n);
    SiblingReader<exponentiate> reader(sentence, rows, workspace.shifts, result);
    for (int h = 0; h <= sentence.n; ++h) reader.read_head(h);
  }
};

// Scores that stand in rows.
struct RowScores {
  const SiblingRows& kept;
  EisnerSpans spans;

  template <bool exponentiate>
  void read(EisnerSiblingsWorkspace& workspace, ShiftedScores& result) const {
    SiblingRows& rows = workspace.rows;
    rows = kept;
    forbid_shared_spans(spans, rows);
    for (int h = 0; h <= rows.n; ++h) shift_head<exponentiate>(h, rows, workspace.shifts, result);
  }
};

template <bool exponentiate, typename Scores>
ShiftedScores read_shifted(const Scores& scores, int n, EisnerSiblingsWorkspace& workspace) {
  ShiftedScores result;
  workspace.shifts.assign(n + 1, MINUS_INFINITY);
  scores.template read<exponentiate>(workspace, result);
  shift_arcs(workspace.rows, workspace.shifts, result);
  return result;
}

void exponentiate_scores(std::vector<double>& values) {
  const size_t length = values.size();
  values.resize(padded(static_cast<int>(length)), MINUS_INFINITY);
  exponentiate_all(values.data(), static_cast<int64_t>(values.size()));
  values.resize(length);
}

// Fills the chart of sums and hands it to use(chart); returns log Z, or without a use -inf if there is no tree and NaN for invalid
// scores. As with_eisner_sums: doubles with the processor's flags as a guard, then logarithms.
template <typename Scores, typename Use>
double with_sibling_sums(const Scores& scores, int n, bool single_root, EisnerSpans spans,
                         EisnerSiblingsWorkspace& workspace, Use use) {
  SiblingRows& rows = workspace.rows;
  ShiftedScores shifted = read_shifted<true>(scores, n, workspace);
  if (!shifted.is_valid) return std::numeric_limits<double>::quiet_NaN();
  if (!std::isfinite(shifted.taken.total)) return MINUS_INFINITY;
  if (shifted.fits) {
    exponentiate_scores(rows.arcs);
    exponentiate_scores(rows.first);
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
  shifted = read_shifted<false>(scores, n, workspace);
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

template <typename Use>
double with_sums_of_rows(bool single_root, EisnerSpans spans, EisnerSiblingsWorkspace& workspace, Use use) {
  workspace.kept = workspace.rows;  // spans forbid some, and doubles may not hold the sums
  return with_sibling_sums(RowScores{workspace.kept, spans}, workspace.rows.n, single_root, spans, workspace,
                           use);
}

template <typename Use>
double with_sums_of(const SiblingSentence& sentence, EisnerSiblingsWorkspace& workspace, Use use) {
  if (sentence.spans.count == 0)
    return with_sibling_sums(DenseScores{sentence}, sentence.n, sentence.single_root, {}, workspace, use);
  read_sentence(sentence, workspace.rows);
  return with_sums_of_rows(sentence.single_root, sentence.spans, workspace, use);
}

template <bool siblings_too>
double marginals_of_rows(bool single_root, EisnerSpans spans, double* arcs,
                         EisnerSiblingsWorkspace& workspace) {
  const double log_partition = with_sums_of_rows(single_root, spans, workspace, [&](auto& chart) {
    chart.template outside<siblings_too>(arcs, workspace.adjoints);
  });
  if (!(log_partition > MINUS_INFINITY)) std::fill_n(arcs, workspace.rows.arcs.size(), 0.0);
  return log_partition;
}

bool is_valid(const SiblingSentence& sentence) {
  const int64_t side = sentence.n + 1;
  for (int h = 0; h <= sentence.n; ++h)
    for (int m = 1; m <= sentence.n; ++m)
      if (m != h && !(sentence.arcs[h * side + m] <= LARGEST_SCORE)) return false;
  return first_bad_sibling(sentence.siblings, sentence.n, LARGEST_SCORE) < 0;
}

}  // namespace

int SiblingRows::block_length(int h, int first) const {
  return padded(h < first ? first + LANES - 2 - h : h - 1 - first);
}

void SiblingRows::lay_out(int words) {
  const size_t cells = static_cast<size_t>(words + 1) * (words + 1);
  arcs.assign(cells, MINUS_INFINITY);
  first.assign(cells, MINUS_INFINITY);
  if (n == words) return;
  n = words;
  starts.assign(cells, 0);
  heads.assign(n + 2, 0);
  length = 0;
  auto block = [&](int h, int from, int to) {
    const int64_t size = block_length(h, from);
    // On the left, the nearest modifier has the fewest siblings, and its row begins after the places of the others'.
    for (int c = 0; c < LANES; ++c)
      if (from + c < to) starts[cell(h, from + c)] = length + c * size + (from < h ? c : 0);
    length += LANES * size + (from < h ? LANES : 0);
  };
  for (int h = 0; h <= n; ++h) {
    heads[h] = length;
    for (int m = 1; m < h; m += LANES) block(h, m, h);
    for (int m = h + 1; m <= n; m += LANES) block(h, m, n + 1);
  }
  heads[n + 1] = length;
  if (static_cast<int64_t>(rows.size()) < length) rows.resize(length);
}

void SiblingRows::start(int words) {
  lay_out(words);
  std::fill_n(rows.data(), length, MINUS_INFINITY);
}

double eisner_siblings_decode(const SiblingSentence& sentence, int32_t* heads,
                              EisnerSiblingsWorkspace& workspace) {
  if (sentence.spans.count > 0) {
    if (!is_valid(sentence)) return std::numeric_limits<double>::quiet_NaN();
    read_sentence(sentence, workspace.rows);
    return eisner_siblings_decode_rows(sentence.single_root, sentence.spans, heads, workspace);
  }
  const EisnerSiblingsBlocks chart(sentence, LARGEST_SCORE, workspace.chart);
  std::fill_n(heads, sentence.n + 1, -1);
  if (chart.is_suspicious() && !is_valid(sentence)) return std::numeric_limits<double>::quiet_NaN();
  if (chart.total() != MINUS_INFINITY) chart.walk(workspace.pending, heads);
  return chart.total();
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
  chart.outside<false>(arcs, workspace.adjoints);
  return chart.total();
}

double eisner_siblings_log_partition(const SiblingSentence& sentence, EisnerSiblingsWorkspace& workspace) {
  return with_sums_of(sentence, workspace, [](auto&) {});
}

double eisner_siblings_marginals(const SiblingSentence& sentence, double* arcs, double* siblings,
                                 EisnerSiblingsWorkspace& workspace) {
  const size_t side = sentence.n + 1;
  if (siblings) std::fill_n(siblings, side * side * side, 0.0);
  const double log_partition = with_sums_of(sentence, workspace, [&](auto& chart) {
    if (!siblings) return chart.template outside<false>(arcs, workspace.adjoints);
    chart.template outside<true>(arcs, workspace.adjoints);
    write_siblings(sentence, workspace.rows, siblings);
  });
  if (!(log_partition > MINUS_INFINITY)) std::fill_n(arcs, side * side, 0.0);
  return log_partition;
}

double eisner_siblings_marginals_rows(bool single_root, EisnerSpans spans, double* arcs,
                                      EisnerSiblingsWorkspace& workspace) {
  return marginals_of_rows<true>(single_root, spans, arcs, workspace);
}

bool eisner_siblings_log_marginals_rows(bool single_root, double* arcs, EisnerSiblingsWorkspace& workspace) {
  const size_t count = workspace.rows.arcs.size();
  if (!(marginals_of_rows<false>(single_root, {}, arcs, workspace) > MINUS_INFINITY)) return false;
  for (size_t at = 0; at < count; ++at) arcs[at] = std::max(std::log(arcs[at]), LEAST_LOG_PROBABILITY);
  return true;
}

int64_t first_bad_sibling(const double* siblings, int n, double limit) {
  const int64_t side = n + 1;
  for (int h = 0; h <= n; ++h)
    for (int s = 0; s <= n; ++s) {
      const double* row = siblings + (h * side + s) * side;
      // A dependent m follows s if it lies farther out on its side.
      const int first = s == h || (s < h && s > 0) ? 1 : s > h ? s + 1 : n + 1;
      const int last = s < h ? s - 1 : n;
      int bad = 0;
      for (int m = first; m <= last; ++m) bad += !(row[m] <= limit);
      if (s == h && h > 0) bad -= !(row[h] <= limit);
      if (bad == 0) continue;
      for (int m = first; m <= last; ++m)
        if (m != h && !(row[m] <= limit)) return (h * side + s) * side + m;
    }
  return -1;
}

}  // namespace arcwise
