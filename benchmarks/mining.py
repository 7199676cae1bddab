"""Error mining against what treebank maintainers corrected in later releases.

    python -m benchmarks.mining --evidence FOLDER --revisions FOLDER --treebanks FOLDER [--pair English-EWT …]

Each pair is two releases of the same sentences. A word counts as an error if the later release has another
head or universal label (punctuation excluded); *scattered* errors are of a kind of change seen fewer than 20
times, hence no application of a new guideline. What was not revised need not be right: precision is a lower
bound. The combiner of each row was trained on the histories of the other pairs. ``--evidence FOLDER`` holds
the cross-fitted evidence, which ``benchmarks.mining_evidence`` can compute elsewhere. ``--signals`` adds a
row per signal and tests each against the combiner (paired bootstrap over sentences), ``--answers N``
simulates a review whose answers the later release gives, ``--planted PAIR`` plants errors in the later
release of a pair, ``--ship FILE`` trains the combiner that comes with arcwise on the freely licensed
histories, and ``--write`` writes the tables to RESULTS.md.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measuring.tables import table

from arcwise.engine import local_engine
from arcwise.mining import Combiner, MiningResult, RevisionHistory, Revisions, mine
from arcwise.mining.adaptation import Adaptation
from arcwise.mining.combiner import mean_log_odds, shipped_combiner
from arcwise.mining.crossfit import EFFORTS, Crossfitted
from arcwise.mining.evidence import universal
from arcwise.treebanks import Treebank
from benchmarks.mining_evidence import evidence_of
from benchmarks.mining_pairs import PAIRS, PLANTED, Pair
from benchmarks.planted_errors import with_planted_errors
from benchmarks.report import write_section

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
FIRST_ANSWERS = 300
"""Answers after which AP on the other words is reported."""
REFIT = 5
"""Answers after which the ranking of a simulated review is fitted again, as in ``arcwise mine --review``."""


@dataclass(frozen=True)
class Folders:
    """Where the data are, and how to mine them."""

    revisions: Path
    treebanks: Path
    evidence: Path
    time: str
    threads: int


class MinedPair:
    """A pair with its signals measured on the older release."""

    def __init__(self, pair: Pair, folders: Folders) -> None:
        self.pair, self.folders = pair, folders
        self.old = pair.older(folders.revisions)
        # Without the shipped combiner's precedents: they may be this pair's own history.
        shipped = shipped_combiner()
        neutral = shipped and replace(shipped, precedents=())
        evidence = self._crossfitted(self.old, pair.name)
        self.result = mine(self.old, crossfitted=evidence, combiner=neutral)

    @cached_property
    def new(self) -> Treebank:
        return self.pair.newer(self.folders.revisions, self.folders.treebanks)

    @cached_property
    def revisions(self) -> Revisions:
        return Revisions.between(self.old, self.new)

    @cached_property
    def history(self) -> RevisionHistory:
        return RevisionHistory.of(self.result.features, self.revisions)

    @cached_property
    def measured(self) -> Flags:
        """The words that figures are about."""
        flags = self.revisions.compared.copy()
        if self.pair.measured is not None:
            flags[: int(self.old.sentence_words[-1 - self.pair.measured])] = False
        return flags

    @cached_property
    def scattered(self) -> Flags:
        """Scattered errors among the measured words."""
        return self.revisions.within(self.measured).scattered

    def _crossfitted(self, treebank: Treebank, name: str) -> Crossfitted:
        effort, engine = EFFORTS[self.folders.time], local_engine(self.folders.threads)
        return evidence_of(treebank, name, self.folders.evidence, effort, engine)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def average_precision(scores: Floats, wrong: Flags) -> float:
    """The mean over errors of the precision at their rank; NaN without errors."""
    ranked = wrong[np.argsort(-scores, kind="stable")]
    precision = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return float(precision[ranked].mean()) if ranked.any() else float("nan")


def calibration_error(log_odds: Floats, wrong: Flags) -> float:
    """The expected calibration error over ten bins of equal width."""
    p = 1 / (1 + np.exp(-log_odds))
    bins = np.minimum((10 * p).astype(int), 9)
    return sum(
        float(abs(p[bins == b].mean() - wrong[bins == b].mean()) * (bins == b).mean())
        for b in np.unique(bins)
    )


HEADER = (
    "treebank", "ranked by", "words", "errors %", "scattered %", "AP", "scattered AP", "first 100 %",
    "first 500 %", "errors in 5 %", "scattered in 5 %", "proposals %", "ECE %",
)  # fmt: skip


def combined_row(mined: MinedPair, name: str, combiner: Combiner) -> tuple[str, ...]:
    """The figures of a combiner, with its calibration error."""
    return row(mined, name, combiner.log_odds(mined.result.features), combiner)


def row(mined: MinedPair, name: str, log_odds: Floats, combiner: Combiner | None = None) -> tuple[str, ...]:
    """The figures of one ranking."""
    at = mined.measured
    wrong, scattered, scores = mined.revisions.revised[at], mined.scattered[at], log_odds[at]
    order = np.argsort(-scores, kind="stable")
    first = order[: len(order) // 20]
    right = _proposals_right(mined, combiner)[at][first][wrong[first]]
    shares = [wrong[order[:100]].mean(), wrong[order[:500]].mean()]
    shares += [flags[first].sum() / max(flags.sum(), 1) for flags in (wrong, scattered)]
    return (
        mined.pair.name,
        name,
        f"{len(order):,}",
        f"{100 * wrong.mean():.1f}",
        f"{100 * scattered.mean():.1f}",
        f"{average_precision(scores, wrong):.3f}",
        f"{average_precision(scores, scattered):.3f}",
        *(f"{100 * share:.0f}" for share in shares),
        f"{100 * right.mean():.0f}" if len(right) else "–",
        f"{100 * calibration_error(scores, wrong):.1f}" if combiner else "–",
    )


def _proposals_right(mined: MinedPair, combiner: Combiner | None) -> Flags:
    proposals, revisions = mined.result.proposals, mined.revisions
    if combiner is not None:
        proposals = combiner.precedents_of(mined.result.features).propose(mined.result.words, proposals)
    labels = np.array([universal(str(label)) for label in proposals.labels], object)
    return (proposals.heads == revisions.heads) & np.asarray(labels == revisions.labels, np.bool_)


def simulated_review(
    mined: MinedPair,
    log_odds: Floats,
    answers: int,
    *,
    learn: bool = True,
    spread: bool = True,
    seed: int | None = None,
) -> tuple[list[int], Floats]:
    """The words asked about, in order, and the final log-odds.

    learn: fit the ranking to the answers. spread: ask about few words of each kind, else about the most
    suspicious, as ``arcwise mine --review`` does. seed: ask at random instead.
    """
    start = np.where(mined.measured, log_odds, -np.inf)
    adaptation = Adaptation(replace(mined.result, log_odds=start))
    asked: list[int] = []
    judged: dict[int, bool] = {}
    if seed is not None:
        words = np.flatnonzero(mined.measured)
        return np.random.default_rng(seed).permutation(words)[:answers].tolist(), start
    current = start
    while len(asked) < answers:
        for word in adaptation.questions(current, judged, REFIT, spread=spread):
            judged[word] = bool(mined.revisions.revised[word])
            asked.append(word)
        if learn:
            current = adaptation.log_odds(judged)
    return asked[:answers], current


def review_figures(mined: MinedPair, log_odds: Floats, answers: int) -> str:
    """AP on unseen words after ``FIRST_ANSWERS`` and after all, and errors found per 100 answers."""
    wrong = mined.revisions.revised
    lines, rows = [], []
    for count in sorted({min(FIRST_ANSWERS, answers), answers}):
        asked, final = simulated_review(mined, log_odds, count)
        unseen = mined.measured.copy()
        unseen[asked] = False
        before, after = (average_precision(s[unseen], wrong[unseen]) for s in (log_odds, final))
        lines.append(
            f"{mined.pair.name}: AP on the words not asked about {before:.3f} before and {after:.3f} "
            f"after {count} answers ({after / before:.2f} ×)."
        )
    orders = {
        "learning": asked,
        "learning, most suspicious first": simulated_review(mined, log_odds, answers, spread=False)[0],
        "no learning": simulated_review(mined, log_odds, answers, learn=False, spread=False)[0],
        "random": simulated_review(mined, log_odds, answers, seed=1)[0],
    }
    for name, order in orders.items():
        hits = [int(wrong[order[i : i + 100]].sum()) for i in range(0, answers, 100)]
        rows.append((name, *(str(hit) for hit in hits), str(sum(hits))))
    header = ("errors found", *(f"{i + 100}" for i in range(0, answers, 100)), "all")
    return "\n".join([*lines, "", table(header, rows)])


def bootstrap_difference(
    a: Floats, b: Floats, wrong: Flags, sentence: npt.NDArray[np.int64], *, draws: int = 200, seed: int = 1
) -> tuple[float, float, float]:
    """AP of ``a`` minus AP of ``b``, and its 95 % interval: paired bootstrap over sentences."""
    random = np.random.default_rng(seed)
    _, codes = np.unique(sentence, return_inverse=True)
    orders = [np.argsort(-scores, kind="stable") for scores in (a, b)]
    differences = []
    for _ in range(draws):
        drawn = random.multinomial(codes.max() + 1, np.full(codes.max() + 1, 1 / (codes.max() + 1)))
        x, y = (weighted_precision(wrong[order], drawn[codes[order]]) for order in orders)
        differences.append(x - y)
    low, high = np.quantile(differences, [0.025, 0.975])
    return average_precision(a, wrong) - average_precision(b, wrong), float(low), float(high)


def weighted_precision(ranked: Flags, copies: npt.NDArray[np.int64]) -> float:
    """Average precision of a ranking in which each word stands so many times."""
    hits = ranked * copies
    precision = np.cumsum(hits) / np.maximum(np.cumsum(copies), 1)
    return float((precision * hits).sum() / max(hits.sum(), 1))


def significance(mined: MinedPair, log_odds: Floats) -> str:
    """Each signal alone against the combiner."""
    at = mined.measured
    wrong, scattered = mined.revisions.revised[at], mined.scattered[at]
    rows = []
    for name, measurement in mined.result.measurements.items():
        score = np.nan_to_num(measurement.score, nan=-20.0)[at]
        cells = []
        for errors in (wrong, scattered):
            interval = bootstrap_difference(log_odds[at], score, errors, mined.result.words.sentence[at])
            cells.append("{:+.3f} ({:+.3f} to {:+.3f})".format(*interval))
        rows.append((mined.pair.name, name, *cells))
    return table(("treebank", "combiner minus", "AP (95 %)", "scattered AP (95 %)"), rows)


def planted_figure(mined: MinedPair, combiner: Combiner) -> str:
    """AP of planted errors in the later release: of all, of wrong heads alone and of wrong labels alone."""
    bank, planted = with_planted_errors(mined.new, PLANTED)
    evidence = mined._crossfitted(bank, f"{mined.pair.name}-planted")
    result: MiningResult = mine(bank, crossfitted=evidence, combiner=combiner)
    words = result.features.is_word
    heads = np.asarray(bank.heads) != np.asarray(mined.new.heads)
    rankings = {"combiner, other histories": result.log_odds}
    rankings |= {name: np.nan_to_num(m.score, nan=-20.0) for name, m in result.measurements.items()}
    rankings["mean of all signals"] = mean_log_odds([m.score for m in result.measurements.values()])
    rows = []
    for name, scores in rankings.items():
        kinds = (planted, planted & heads, planted & ~heads)
        figures = [
            average_precision(scores[at], kind[at]) for kind in kinds for at in [words & (kind | ~planted)]
        ]
        rows.append((mined.pair.name, name, *(f"{figure:.3f}" for figure in figures)))
    count = f"{planted.sum()} planted errors among {words.sum():,} words"
    return table(("treebank", "ranked by", f"AP of {count}", "wrong heads", "wrong labels"), rows)


def main() -> None:
    """Run the benchmark."""
    arguments = _arguments()
    folders = Folders(
        Path(arguments.revisions),
        Path(arguments.treebanks),
        arguments.evidence,
        arguments.time,
        arguments.threads,
    )
    wanted = [pair for pair in PAIRS if pair.free or not arguments.ship]
    pairs = {pair.name: MinedPair(pair, folders) for pair in wanted}
    if arguments.ship:
        Combiner.train({name: mined.history for name, mined in pairs.items()}).save(arguments.ship)
        return
    rows, parts = [], []
    for name in arguments.pair or pairs:
        mined = pairs[name]
        if arguments.signals:
            for signal, measurement in mined.result.measurements.items():
                score = np.nan_to_num(measurement.score, nan=-20.0)
                rows.append(row(mined, signal, score))
        others = {other: m.history for other, m in pairs.items() if other != name}
        combiner = Combiner.train(others)
        log_odds = combiner.log_odds(mined.result.features)
        rows.append(combined_row(mined, "combiner, other histories", combiner))
        without = replace(combiner, precedents=())
        rows.append(combined_row(mined, "combiner without precedents", without))
        if arguments.variants:
            free = {other: history for other, history in others.items() if pairs[other].pair.free}
            rows.append(combined_row(mined, "combiner, other free histories", Combiner.train(free)))
            with_own = Combiner.train({**others, name: mined.history})
            rows.append(combined_row(mined, "combiner, its own history too", with_own))
        if arguments.answers and name in arguments.reviewed:
            parts.append(review_figures(mined, log_odds, arguments.answers))
        if arguments.signals:
            parts.append(significance(mined, log_odds))
        if name in arguments.planted:
            parts.append(planted_figure(mined, combiner))
    body = "\n\n".join([table(HEADER, rows), *parts])
    print(body)
    if arguments.write:
        write_section("mining", "Annotation errors", body)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--revisions", required=True, help="folder of older (and newer) releases")
    parser.add_argument("--treebanks", required=True, help="folder of treebanks, for newer releases")
    parser.add_argument("--pair", nargs="*", choices=[pair.name for pair in PAIRS])
    parser.add_argument("--time", choices=list(EFFORTS), default="fast")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--evidence", type=Path, required=True, help="folder of cross-fitted evidence")
    parser.add_argument("--signals", action="store_true")
    parser.add_argument("--variants", action="store_true", help="combiners of other histories as well")
    parser.add_argument("--answers", type=int, default=0)
    parser.add_argument(
        "--reviewed", nargs="*", default=["English-EWT"], help="pairs of the simulated review"
    )
    parser.add_argument("--planted", nargs="*", default=[], choices=[pair.name for pair in PAIRS])
    parser.add_argument("--ship")
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
