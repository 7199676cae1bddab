#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "bindings/score_matrix.hpp"
#include "kernels/inference/tall_sums.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

TallSentence sentence_of(const ScoreMatrix& scores, bool projective, bool single_root,
                         const Array<int32_t>& spans) {
  if (scores.shape(0) < 2 || scores.shape(0) != scores.shape(1) || spans.shape(0) % 2)
    throw nb::value_error("a square matrix and pairs of words are needed");
  return {scores.data(),
          words_of(scores),
          {projective, single_root},
          {spans.data(), static_cast<int>(spans.shape(0) / 2)}};
}

const double* same_shape(const ScoreMatrix& scores, const ScoreMatrix& other) {
  if (scores.shape(0) != other.shape(0) || scores.shape(1) != other.shape(1))
    throw nb::value_error("matrices of one shape are needed");
  return other.data();
}

double log_probability(ScoreMatrix scores, bool projective, bool single_root, Array<int32_t> spans,
                       Array<int32_t> heads) {
  const TallSentence sentence = sentence_of(scores, projective, single_root, spans);
  if (heads.shape(0) != scores.shape(0)) throw nb::value_error("one head per word is needed");
  for (int m = 1; m <= sentence.n; ++m)
    if (heads.data()[m] < 0 || heads.data()[m] > sentence.n || heads.data()[m] == m)
      throw nb::value_error("a head is no word of the sentence");
  nb::gil_scoped_release release;
  return tall_log_probability(sentence, heads.data());
}

double log_ratio(ScoreMatrix scores, bool projective, bool single_root, Array<int32_t> spans,
                 ScoreMatrix others, bool other_projective, bool other_single_root,
                 Array<int32_t> other_spans) {
  const TallSentence first = sentence_of(scores, projective, single_root, spans),
                     second = sentence_of(others, other_projective, other_single_root, other_spans);
  nb::gil_scoped_release release;
  return tall_log_ratio(first, second);
}

double entropy(ScoreMatrix scores, bool projective, bool single_root, Array<int32_t> spans, ScoreMatrix own) {
  const TallSentence sentence = sentence_of(scores, projective, single_root, spans);
  const double* within = same_shape(scores, own);
  nb::gil_scoped_release release;
  return tall_entropy(sentence, within);
}

double divergence(ScoreMatrix scores, bool projective, bool single_root, Array<int32_t> spans,
                  ScoreMatrix others, ScoreMatrix own) {
  const TallSentence sentence = sentence_of(scores, projective, single_root, spans);
  const double *q = same_shape(scores, others), *within = same_shape(scores, own);
  nb::gil_scoped_release release;
  return tall_divergence(sentence, q, within);
}

}  // namespace

void bind_inference_tall_sums(nb::module_& m) {
  m.def("tall_log_probability", &log_probability, "scores"_a, "projective"_a, "single_root"_a, "spans"_a,
        "heads"_a, "log p(tree), however large the scores are.");
  m.def("tall_log_ratio", &log_ratio, "scores"_a, "projective"_a, "single_root"_a, "spans"_a, "others"_a,
        "other_projective"_a, "other_single_root"_a, "other_spans"_a,
        "log Z of the first - log Z of the other.");
  m.def("tall_entropy", &entropy, "scores"_a, "projective"_a, "single_root"_a, "spans"_a, "own"_a,
        "The entropy; own: that within each arc.");
  m.def("tall_divergence", &divergence, "scores"_a, "projective"_a, "single_root"_a, "spans"_a, "others"_a,
        "own"_a,
        "KL to the distribution of the other scores over the same trees; own: that within each arc.");
}
