#include "kernels/graph/arc_loss_trainer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "kernels/base/parallel.hpp"

namespace arcwise {
namespace {

// A standard normal number determined by `key` alone (Box & Muller).
double gaussian(uint64_t key) {
  double u = (static_cast<double>(mix(2 * key + 1) >> 11) + 1) * 0x1.0p-53;
  double v = static_cast<double>(mix(2 * key + 2) >> 11) * 0x1.0p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
}

// Skips arcs beyond reach, unless heads are unknown or the teacher's targets include such arcs.
ArcMask mask_of(const ArcTable& table, const ArcData& data, size_t s, const ArcSentence& sentence,
                const KnownTree& gold) {
  bool filtered = gold.complete;
  if (data.is_taught(s)) {
    const TaughtTree taught = data.taught_tree(s);
    filtered = true;
    for (int m = 1; m <= taught.n; ++m)
      taught.for_each_arc_into(m, [&](int h, int, double) {
        filtered &= table.reaches(sentence.class_of(table, h, m), h, std::abs(h - m));
      });
  }
  return {nullptr, filtered};
}

}  // namespace

LossTrainer::LossTrainer(const ArcTable& table, const ArcData& data, const LossTrainerOptions& options)
    : table_(table), data_(data), options_(options), weights_(table.cells()) {
  if (options_.adagrad) adagrad_ = AdaGrad(table.cells());
  if (options_.noise > 0) start_with_noise();
}

// Adds small random weights to the features of gold arcs: equal weights would keep all clusters alike.
void LossTrainer::start_with_noise() {
  for (size_t s = 0; s < data_.sentences(); ++s) {
    sentence_.set(table_, data_, s, {});
    data_.known_tree(s, gold_);
    for (int m = 1; m <= sentence_.n(); ++m) {
      if (gold_.heads[m] < 0) continue;
      int states = table_.states.count(sentence_.class_of(table_, gold_.heads[m], m));
      for (int state = 0; state < states; ++state)
        state_places(table_, sentence_, gold_.heads[m], m, state, [&](uint32_t place) {
          weights_.weights[place] =
              static_cast<float>(options_.noise * gaussian(hash_pair(options_.dropout.seed, place)));
        });
    }
  }
}

// Adds the sentence's gradient cell by cell; skips arcs whose gradient is below `floor`.
template <typename AddCell, typename AddRow>
void LossTrainer::spread(AddCell add_cell, AddRow add_row) {
  const std::vector<float>& gradient = loss_.gradient();
  spread_.start(table_, sentence_);
  for_each_arc(scores_, [&](int h, int m, int, const float* values, int count) {
    const float* own = &gradient[values - scores_.values.data()];
    bool large = std::any_of(own, own + count, [&](float g) { return std::abs(g) > options_.floor; });
    if (large) spread_.add_arc(table_, sentence_, h, m, own, add_cell, add_row);
  });
  spread_.finish(table_, sentence_, add_cell, add_row);
}

void LossTrainer::step(double rate) {
  if (!options_.adagrad)
    return spread([&](uint32_t place, float value) { weights_.add(place, -rate * value); },
                  [&](uint32_t place, const float* values, int width) {
                    weights_.add_row(place, static_cast<float>(-rate), values, width);
                  });
  gradient_.clear();
  spread([&](uint32_t place, float value) { gradient_.add(place, value); },
         [&](uint32_t place, const float* values, int width) {
           for (int i = 0; i < width; ++i)
             if (values[i] != 0) gradient_.add(place + i, values[i]);
         });
  for (const auto& [place, value] : gradient_.entries())
    if (value != 0) weights_.add(place, -adagrad_.step(place, rate, value));
}

void LossTrainer::shrink(double factor) {
  for (size_t i = 0; i < weights_.weights.size(); ++i)
    if (weights_.weights[i] != 0) weights_.add(static_cast<uint32_t>(i), (factor - 1) * weights_.weights[i]);
}

LossReport LossTrainer::run(const int64_t* sentences, size_t count, uint64_t epoch, double rate) {
  LossReport report;
  for (size_t i = 0; i < count; ++i) {
    size_t s = static_cast<size_t>(sentences[i]);
    options_.dropout.draw(table_, data_, s, epoch, keep_);
    sentence_.set(table_, data_, s, keep_);
    data_.known_tree(s, gold_);
    scorer_.score(table_, weights_.weights.data(), sentence_, mask_of(table_, data_, s, sentence_, gold_),
                  scores_);
    double value = data_.is_taught(s)
                       ? loss_.compute(options_.loss, scores_, data_.taught_tree(s), options_.trees)
                       : loss_.compute(options_.loss, scores_, gold_, options_.trees);
    if (std::isinf(value)) {
      ++report.skipped;
      continue;
    }
    report.loss += data_.taught.weight(s) * value;
    step(data_.taught.weight(s) * rate);
    ++weights_.steps;
  }
  if (options_.prior > 0) shrink(std::exp(-rate * options_.prior * static_cast<double>(count)));
  return report;
}

namespace {
constexpr size_t BLOCK = 256;  // sentences whose gradients are computed in parallel
}

LossObjective::LossObjective(const ArcTable& table, const ArcData& data, TreeLoss loss, TreeClass trees,
                             int threads, size_t first, size_t last)
    : table_(table),
      data_(data),
      loss_(loss),
      trees_(trees),
      threads_(threads),
      first_(first),
      last_(std::min(last, data.sentences())),
      weights_(table.cells(), 0),
      gradient_(table.cells(), 0),
      workers_(std::max(threads, 1)),
      block_(std::min(BLOCK, data.sentences())) {
  find_places();
}

// Marks a cell as used if it receives any part of a gradient that is 1 in every state of every arc.
void LossObjective::find_places() {
  ArcSentence sentence;
  ArcScores<double> scores;
  KnownTree gold;
  auto add_cell = [&](uint32_t place, double value) { gradient_[place] += value; };
  auto add_row = [&](uint32_t place, const double* by_cell, int width) {
    for (int i = 0; i < width; ++i) gradient_[place + i] += by_cell[i];
  };
  for (size_t s = first_; s < last_; ++s) {
    sentence.set(table_, data_, s, {});
    data_.known_tree(s, gold);
    workers_[0].scorer.score(table_, weights_.data(), sentence, mask_of(table_, data_, s, sentence, gold),
                             scores);
    const std::vector<double> ones(scores.values.size(), 1);
    spread_.start(table_, sentence);
    for_each_arc(scores, [&](int h, int m, int, const double*, int) {
      spread_.add_arc(table_, sentence, h, m, ones.data(), add_cell, add_row);
    });
    spread_.finish(table_, sentence, add_cell, add_row);
  }
  for (size_t place = 0; place < gradient_.size(); ++place)
    if (gradient_[place] != 0) places_.push_back(static_cast<uint32_t>(place));
}

double LossObjective::compute(const double* x, double* gradient) {
  for (size_t i = 0; i < places_.size(); ++i) {
    weights_[places_[i]] = x[i];
    gradient_[places_[i]] = 0;
  }
  total_ = 0;
  skipped_ = 0;
  for (size_t start = first_; start < last_; start += BLOCK) add_block(start, std::min(BLOCK, last_ - start));
  for (size_t i = 0; i < places_.size(); ++i) gradient[i] = gradient_[places_[i]];
  return total_;
}

// Computes the gradients of some sentences by state in parallel, then adds them to the cells in order, so
// that the sums are the same at any thread count.
void LossObjective::add_block(size_t start, size_t count) {
  parallel_for(count, threads_, [&](size_t i, size_t worker) {
    Worker& mine = workers_[worker];
    Prepared& own = block_[i];
    own.sentence.set(table_, data_, start + i, {});
    data_.known_tree(start + i, mine.gold);
    mine.scorer.score(table_, weights_.data(), own.sentence,
                      mask_of(table_, data_, start + i, own.sentence, mine.gold), own.scores);
    own.value = data_.is_taught(start + i)
                    ? mine.loss.compute(loss_, own.scores, data_.taught_tree(start + i), trees_)
                    : mine.loss.compute(loss_, own.scores, mine.gold, trees_);
    own.by_state = mine.loss.gradient();
    own.value *= data_.taught.weight(start + i);
    for (double& by_state : own.by_state) by_state *= data_.taught.weight(start + i);
  });
  auto add_cell = [&](uint32_t place, double value) { gradient_[place] += value; };
  auto add_row = [&](uint32_t place, const double* by_cell, int width) {
    for (int i = 0; i < width; ++i) gradient_[place + i] += by_cell[i];
  };
  for (size_t i = 0; i < count; ++i) {
    const Prepared& own = block_[i];
    if (std::isinf(own.value)) {
      ++skipped_;
      continue;
    }
    total_ += own.value;
    spread_.start(table_, own.sentence);
    for_each_arc(own.scores, [&](int h, int m, int, const double* states, int) {
      spread_.add_arc(table_, own.sentence, h, m, &own.by_state[states - own.scores.values.data()], add_cell,
                      add_row);
    });
    spread_.finish(table_, own.sentence, add_cell, add_row);
  }
}

}  // namespace arcwise
