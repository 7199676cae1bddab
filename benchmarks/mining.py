"""Error mining against what treebank maintainers corrected in later releases.

    python -m benchmarks.mining --evidence FOLDER --revisions FOLDER --treebanks FOLDER [--pair English-EWT …]

Each pair is two releases of the same sentences. A word counts as an error if the later release has another
head or universal label (punctuation excluded); *scattered* errors are of a kind of change seen fewer than 20
times, hence no application of a new guideline. What was not revised need not be right: precision is a lower
bound. The combiner of each row was trained on the histories of the other pairs. ``--evidence FOLDER`` holds
the cross-fitted evidence, which ``benchmarks.mining_evidence`` can compute elsewhere. ``--rankings`` measures
the rankings of the combiner, ``--signals`` also those of each signal, and tests these against the combiner
(paired bootstrap over sentences), ``--planted PAIR`` plants errors in the later releases of these pairs, and
``--write`` writes the tables to RESULTS.md, each kind of them to a section of its own.

``--answers N`` simulates a review whose answers the later release gives, ``--own-history`` compares with a
combiner that knows other documents of the same treebank, ``--timing`` measures ``arcwise mine`` on the whole
treebank, and ``--ship FILE`` trains the combiner that comes with arcwise on the freely licensed histories.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np
from measuring.tables import table

from arcwise.engine import local_engine
from arcwise.mining import Combiner, MiningResult, RevisionHistory, Revisions, mine
from arcwise.mining.adaptation import Adaptation
from arcwise.mining.combiner import mean_log_odds, shipped_combiner
from arcwise.mining.crossfit import EFFORTS
from arcwise.mining.evidence import universal
from arcwise.mining.folds import document_numbers
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


def own_history(
    mined: MinedPair, others: Mapping[str, RevisionHistory], planted: Mapping[str, RevisionHistory]
) -> Floats:
    """Log-odds of a combiner that also knows the pair's own history: half of it for each half of the words.

    Halves are made of documents, so that no word is scored by a model that has seen the fate of its document.
    """
    half = (document_numbers(mined.old) % 2)[mined.result.words.sentence]
    log_odds = np.zeros(len(half))
    for number in (0, 1):
        known = replace(mined.history, compared=mined.history.compared & (half != number))
        combiner = Combiner.train({**others, mined.pair.name: known}, planted=planted)
        log_odds[half == number] = combiner.log_odds(mined.result.features)[half == number]
    return log_odds


class MinedPairs:
    """The pairs, mined when they are needed, and their combiners."""

    def __init__(self, arguments: argparse.Namespace, folders: Folders) -> None:
        self._planted: Sequence[str] = arguments.planted
        self._history_time: str | None = arguments.history_time
        self._folders = folders
        self._mined: dict[tuple[str, str], MinedPair] = {}
        self._combiners: dict[tuple[str, str], Combiner] = {}

    def mined(self, name: str, time: str) -> MinedPair:
        """A pair, mined with one effort."""
        if (name, time) not in self._mined:
            pair = next(pair for pair in PAIRS if pair.name == name)
            self._mined[name, time] = MinedPair(pair, replace(self._folders, time=time))
        return self._mined[name, time]

    def others(self, name: str, time: str) -> dict[str, RevisionHistory]:
        """The histories of the other pairs."""
        time = self._history_time or time
        return {pair.name: self.mined(pair.name, time).history for pair in PAIRS if pair.name != name}

    def planted_in_others(self, name: str, time: str) -> dict[str, RevisionHistory]:
        """The errors planted in other pairs."""
        time = self._history_time or time
        return {other: self.mined(other, time).planted.history for other in self._planted if other != name}

    def combiner(self, name: str, time: str) -> Combiner:
        """The combiner trained on the other pairs."""
        if (name, time) not in self._combiners:
            others, planted = self.others(name, time), self.planted_in_others(name, time)
            self._combiners[name, time] = Combiner.train(others, planted=planted)
        return self._combiners[name, time]


def report(arguments: argparse.Namespace, pairs: MinedPairs) -> list[str]:
    """The table of rankings, and tests and planted errors with the last ``--time``."""
    rows, parts = [], []
    for time in arguments.time:
        for name in arguments.pair:
            mined = pairs.mined(name, time)
            if arguments.signals:
                rows += [
                    row(mined, signal, np.nan_to_num(measurement.score, nan=-20.0))
                    for signal, measurement in mined.result.measurements.items()
                ]
            combiner = pairs.combiner(name, time)
            log_odds = combiner.log_odds(mined.result.features)
            rows.append(row(mined, "combiner, other histories", log_odds, combiner))
            for title, variant in (
                ("without precedents", replace(combiner, precedents=())),
                ("without planted errors", replace(combiner, planted=None)),
            ):
                rows.append(row(mined, title, variant.log_odds(mined.result.features), variant))
            if time != arguments.time[-1]:
                continue
            if arguments.signals:
                parts.append(significance(mined, log_odds))
            if name in arguments.planted:
                parts.append(planted_figure(mined, combiner))
    return [table(HEADER, rows), *parts]


def review_report(arguments: argparse.Namespace, pairs: MinedPairs) -> list[str]:
    """The simulated review of each pair."""
    time, parts = arguments.time[-1], []
    for name in arguments.pair:
        mined = pairs.mined(name, time)
        log_odds = pairs.combiner(name, time).log_odds(mined.result.features)
        parts.append(review_figures(mined, log_odds, arguments.answers))
    return parts


def own_history_report(arguments: argparse.Namespace, pairs: MinedPairs) -> list[str]:
    """What the history of other documents of the same treebank adds."""
    time, rows = arguments.time[-1], []
    for name in arguments.pair:
        mined = pairs.mined(name, time)
        log_odds = pairs.combiner(name, time).log_odds(mined.result.features)
        own = own_history(mined, pairs.others(name, time), pairs.planted_in_others(name, time))
        rows.append((name, time, *ratio_of_precisions(mined, log_odds, own)))
    return [table(("treebank", "time", "AP, history held out", "AP, half of it known", "ratio %"), rows)]


def ratio_of_precisions(mined: MinedPair, held_out: Floats, own: Floats) -> tuple[str, str, str]:
    """AP of two rankings and their ratio."""
    at, wrong = mined.measured, mined.revisions.revised
    a, b = (average_precision(scores[at], wrong[at]) for scores in (held_out, own))
    return f"{a:.3f}", f"{b:.3f}", f"{100 * a / b:.0f}"


def timing_report(arguments: argparse.Namespace, folders: Folders) -> list[str]:
    """Seconds of ``arcwise mine`` in two processes on the whole of each treebank."""
    rows = []
    for name in arguments.pair:
        pair = next(pair for pair in PAIRS if pair.name == name)
        treebank = pair.older(folders.revisions)
        for time in arguments.time:
            with TemporaryDirectory() as folder:
                path = Path(folder) / "bank.conllu"
                treebank.write(path)
                command = [
                    sys.executable,
                    "-c",
                    "import sys; from arcwise.cli.main import run; run(sys.argv[1:])",
                ]
                command += [
                    "mine",
                    str(path),
                    "--time",
                    time,
                    "--threads",
                    "2",
                    "--out",
                    f"{folder}/list.tsv",
                ]
                before, started = resource.getrusage(resource.RUSAGE_CHILDREN), monotonic()
                subprocess.run(command, check=True, capture_output=True)
                wall, after = monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
            processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            cells = (f"{processor / 60:.1f}", f"{wall / 60:.1f}", f"{os.getloadavg()[1]:.1f}")
            rows.append((name, time, f"{treebank.word_count:,}", *cells))
    header = ("treebank", "time", "words", "processor time, min", "wall time, min", "load of the machine")
    return [table(header, rows)]


def ship(arguments: argparse.Namespace, pairs: MinedPairs) -> None:
    """Train the combiner that comes with arcwise, on the freely licensed histories."""
    time, names = arguments.time[0], [pair.name for pair in PAIRS if pair.free]
    planted = {name: pairs.mined(name, time).planted.history for name in arguments.planted if name in names}
    histories = {name: pairs.mined(name, time).history for name in names}
    Combiner.train(histories, planted=planted).save(arguments.ship)


def main() -> None:
    """Run the benchmark."""
    arguments = _arguments()
    folders = Folders(
        Path(arguments.revisions), Path(arguments.treebanks), arguments.evidence, "", arguments.threads
    )
    pairs = MinedPairs(arguments, folders)
    if arguments.ship:
        ship(arguments, pairs)
    for name, subtitle, parts in _sections(arguments, folders, pairs):
        body = "\n\n".join(parts)
        print(body, flush=True)
        if arguments.write:
            write_section(name, f"Annotation errors{subtitle}", body, module="mining")


def _sections(
    arguments: argparse.Namespace, folders: Folders, pairs: MinedPairs
) -> Iterator[tuple[str, str, list[str]]]:
    """The name and subtitle of each section of RESULTS.md, and its tables."""
    if arguments.rankings or arguments.signals:
        slower = [time for time in arguments.time if time != "fast"]
        name, subtitle = (
            ("mining-" + "-".join(slower), f": --time {' '.join(slower)}") if slower else ("mining", "")
        )
        yield name, subtitle, report(arguments, pairs)
    if arguments.own_history:
        yield "mining-own-history", ": own history", own_history_report(arguments, pairs)
    if arguments.answers:
        yield "mining-review", ": a simulated review", review_report(arguments, pairs)
    if arguments.timing:
        yield "mining-time", ": time", timing_report(arguments, folders)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--revisions", required=True, help="folder of older (and newer) releases")
    parser.add_argument("--treebanks", required=True, help="folder of treebanks, for newer releases")
    names = [pair.name for pair in PAIRS]
    parser.add_argument("--pair", nargs="*", choices=names, default=names)
    parser.add_argument("--time", nargs="+", choices=list(EFFORTS), default=["fast"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--evidence", type=Path, required=True, help="folder of cross-fitted evidence")
    parser.add_argument("--rankings", action="store_true", help="measure the rankings of the combiner")
    parser.add_argument("--signals", action="store_true", help="measure those of each signal as well")
    parser.add_argument("--history-time", choices=list(EFFORTS), help="effort for the other pairs")
    parser.add_argument("--own-history", action="store_true", help="compare with half of its own history")
    parser.add_argument("--timing", action="store_true", help="measure arcwise mine in two processes")
    parser.add_argument("--answers", type=int, default=0)
    parser.add_argument("--planted", nargs="*", default=[], choices=names)
    parser.add_argument("--ship")
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
