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
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from measuring.tables import table

from arcwise.engine import local_engine
from arcwise.mining import Combiner, MiningResult, RevisionHistory, Revisions, mine
from arcwise.mining.adaptation import Adaptation
from arcwise.mining.combiner import mean_log_odds, shipped_combiner
from arcwise.mining.crossfit import EFFORTS
from arcwise.mining.evidence import universal
from arcwise.treebanks import Treebank
from benchmarks.mining_evidence import evidence_of
from benchmarks.mining_figures import (
    Flags,
    Floats,
    average_precision,
    bootstrap_difference,
    calibration_error,
)
from benchmarks.mining_pairs import PAIRS, PLANTED, Pair
from benchmarks.planted_errors import with_planted_errors
from benchmarks.report import write_section

HALVES = 100
"""Sentences of a block that is wholly in one half of a treebank."""
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
        self.result = self._mined(self.old, pair.name)

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

    @cached_property
    def planted(self) -> PlantedErrors:
        """The newer release with planted errors."""
        bank, wrong = with_planted_errors(self.new, PLANTED)
        moved = np.asarray(bank.heads) != np.asarray(self.new.heads)
        return PlantedErrors(self._mined(bank, f"{self.pair.name}-planted"), wrong, moved)

    def _mined(self, treebank: Treebank, name: str) -> MiningResult:
        effort, engine = EFFORTS[self.folders.time], local_engine(self.folders.threads)
        evidence = evidence_of(treebank, name, self.folders.evidence, effort, engine)
        # Without the shipped combiner's precedents: they may be this pair's own history.
        shipped = shipped_combiner()
        neutral = shipped and replace(shipped, precedents=())
        return mine(treebank, crossfitted=evidence, combiner=neutral)


@dataclass(frozen=True)
class PlantedErrors:
    """A treebank with planted errors, with its signals measured."""

    result: MiningResult
    wrong: Flags
    moved: Flags
    """Words with a wrong head."""

    @property
    def history(self) -> RevisionHistory:
        """The planted errors, as if they had been revised."""
        features = self.result.features
        return RevisionHistory(features, features.is_word, self.wrong, np.zeros_like(self.wrong))


HEADER = (
    "treebank", "time", "ranked by", "words", "errors %", "scattered %", "AP", "scattered AP",
    "AP without sweeps", "first 100 %", "first 500 %", "errors in 5 %", "scattered in 5 %", "proposals %",
    "ECE %",
)  # fmt: skip


def row(mined: MinedPair, name: str, log_odds: Floats, combiner: Combiner | None = None) -> tuple[str, ...]:
    """The figures of one ranking."""
    at = mined.measured
    wrong, scattered, scores = mined.revisions.revised[at], mined.scattered[at], log_odds[at]
    order = np.argsort(-scores, kind="stable")
    first = order[: len(order) // 20]
    right = _proposals_right(mined, combiner)[at][first][wrong[first]]
    shares = [wrong[order[:100]].mean(), wrong[order[:500]].mean()]
    shares += [flags[first].sum() / max(flags.sum(), 1) for flags in (wrong, scattered)]
    unswept = scattered | ~wrong
    return (
        mined.pair.name,
        mined.folders.time,
        name,
        f"{len(order):,}",
        f"{100 * wrong.mean():.1f}",
        f"{100 * scattered.mean():.1f}",
        f"{average_precision(scores, wrong):.3f}",
        f"{average_precision(scores, scattered):.3f}",
        f"{average_precision(scores[unswept], scattered[unswept]):.3f}",
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
    result, wrong, moved = mined.planted.result, mined.planted.wrong, mined.planted.moved
    features = result.features
    words = features.is_word
    rankings = {"combiner, other histories": combiner.log_odds(features)}
    rankings["its model of revisions alone"] = combiner.revisions.log_odds(features)
    if combiner.planted is not None:
        rankings["its model of planted errors alone"] = combiner.planted.log_odds(features)
    rankings |= {name: np.nan_to_num(m.score, nan=-20.0) for name, m in result.measurements.items()}
    rankings["mean of all signals"] = mean_log_odds([m.score for m in result.measurements.values()])
    rows = []
    for name, scores in rankings.items():
        kinds = (wrong, wrong & moved, wrong & ~moved)
        figures = [
            average_precision(scores[at], kind[at]) for kind in kinds for at in [words & (kind | ~wrong)]
        ]
        rows.append((mined.pair.name, mined.folders.time, name, *(f"{figure:.3f}" for figure in figures)))
    count = f"{wrong.sum()} planted errors among {words.sum():,} words"
    return table(("treebank", "time", "ranked by", f"AP of {count}", "wrong heads", "wrong labels"), rows)


def own_history(mined: MinedPair, others: Mapping[str, RevisionHistory]) -> Floats:
    """Log-odds of a combiner that also knows the pair's own history: half of it for each half of the words.

    Halves are made of blocks of sentences, so that no word is scored by a model that has seen its fate.
    """
    half = (np.arange(len(mined.old)) // HALVES % 2)[mined.result.words.sentence]
    log_odds = np.zeros(len(half))
    for number in (0, 1):
        known = replace(mined.history, compared=mined.history.compared & (half != number))
        combiner = Combiner.train({**others, mined.pair.name: known})
        log_odds[half == number] = combiner.log_odds(mined.result.features)[half == number]
    return log_odds


def report(arguments: argparse.Namespace, folders: Folders) -> list[str]:
    """The tables; those about answers and planted errors, and the tests, are of the last ``--time``."""
    rows, ratios, parts = [], [], []
    for time in arguments.time:
        pairs = {pair.name: MinedPair(pair, replace(folders, time=time)) for pair in PAIRS}
        planted = {name: pairs[name].planted.history for name in arguments.planted}
        for name in arguments.pair or pairs:
            mined = pairs[name]
            if arguments.signals:
                rows += [
                    row(mined, signal, np.nan_to_num(measurement.score, nan=-20.0))
                    for signal, measurement in mined.result.measurements.items()
                ]
            others = {other: m.history for other, m in pairs.items() if other != name}
            random_errors = {other: history for other, history in planted.items() if other != name}
            combiner = Combiner.train(others, planted=random_errors)
            log_odds = combiner.log_odds(mined.result.features)
            rows.append(row(mined, "combiner, other histories", log_odds, combiner))
            for title, variant in (
                ("without precedents", replace(combiner, precedents=())),
                ("without planted errors", replace(combiner, planted=None)),
            ):
                rows.append(row(mined, title, variant.log_odds(mined.result.features), variant))
            if arguments.variants:
                own = own_history(mined, others)
                rows.append(row(mined, "combiner, half its own history too", own))
                ratios.append((name, time, *ratio_of_precisions(mined, log_odds, own)))
            if time != arguments.time[-1]:
                continue
            if arguments.answers and name in arguments.reviewed:
                parts.append(review_figures(mined, log_odds, arguments.answers))
            if arguments.signals:
                parts.append(significance(mined, log_odds))
            if name in arguments.planted:
                parts.append(planted_figure(mined, combiner))
    if ratios:
        header = ("treebank", "time", "AP, history held out", "AP, half of it known", "ratio %")
        parts.insert(0, table(header, ratios))
    return [table(HEADER, rows), *parts]


def ratio_of_precisions(mined: MinedPair, held_out: Floats, own: Floats) -> tuple[str, str, str]:
    """AP of two rankings and their ratio."""
    at, wrong = mined.measured, mined.revisions.revised
    a, b = (average_precision(scores[at], wrong[at]) for scores in (held_out, own))
    return f"{a:.3f}", f"{b:.3f}", f"{100 * a / b:.0f}"


def ship(arguments: argparse.Namespace, folders: Folders) -> None:
    """Train the combiner that comes with arcwise, on the freely licensed histories."""
    folders = replace(folders, time=arguments.time[0])
    pairs = {pair.name: MinedPair(pair, folders) for pair in PAIRS if pair.free}
    planted = {name: pairs[name].planted.history for name in arguments.planted if name in pairs}
    Combiner.train({name: mined.history for name, mined in pairs.items()}, planted=planted).save(
        arguments.ship
    )


def main() -> None:
    """Run the benchmark."""
    arguments = _arguments()
    folders = Folders(
        Path(arguments.revisions), Path(arguments.treebanks), arguments.evidence, "", arguments.threads
    )
    if arguments.ship:
        ship(arguments, folders)
        return
    body = "\n\n".join(report(arguments, folders))
    print(body)
    if arguments.write:
        write_section("mining", "Annotation errors", body)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--revisions", required=True, help="folder of older (and newer) releases")
    parser.add_argument("--treebanks", required=True, help="folder of treebanks, for newer releases")
    parser.add_argument("--pair", nargs="*", choices=[pair.name for pair in PAIRS])
    parser.add_argument("--time", nargs="+", choices=list(EFFORTS), default=["fast"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--evidence", type=Path, required=True, help="folder of cross-fitted evidence")
    parser.add_argument("--signals", action="store_true")
    parser.add_argument("--variants", action="store_true", help="compare with half of its own history")
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
