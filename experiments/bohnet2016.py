"""Bohnet, McDonald, Pitler & Ma 2016, "Generalized transition-based dependency parsing via control
parameters".

Reproduces table 1 (in part), figure 3 and table 2: standard systems in one engine, greedy and with a beam;
the number of active tokens K between arc-standard (2) and easy-first (all); arcs between tokens at distance
D, which may cross.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from measuring.timing import interleaved
from measuring.trainings import Training, crossing_words, read

from arcwise.transition import TransitionConfig, coverage, system
from arcwise.treebanks import Treebank
from experiments.page import Page, Settings, percent, settings

ENGLISH = ("English-EWT", "English-WSJsample")
SYSTEMS = ("arc-standard", "arc-eager", "easy-first")
BEAMS = (1, 16)
CAPACITIES = (2, 3, 4, 5, 6, 8, 12, 16, 32)
CROSSING = {
    "Danish-CDT": (
        (90.22, 85.51), (90.28, 85.85), (90.68, 86.07), (90.58, 85.53), (90.84, 86.11),
        (90.78, 86.31), (90.64, 85.91), (90.74, 85.87), (91.00, 86.21),
    ),
    "Dutch-Alpino-cdbl": (
        (79.11, 75.41), (84.73, 81.01), (85.03, 81.65), (85.99, 82.73), (85.21, 81.93),
        (84.57, 81.13), (85.07, 82.01), (86.51, 82.91), (86.03, 82.73),
    ),
}  # fmt: skip
"""The paper's UAS and LAS by treebank, in the order of ``GRID``."""
GRID = [f"non-projective(D={d})" for d in range(1, 8)] + ["bounded(K=5,D=4)", "bounded(K=6,D=5)"]
GRID_EPOCHS = 6
FINDINGS = """On the Wall Street Journal, the paper's corpus, more than two active tokens help as the
paper reports: over arc-standard, K = 3 gains 0.6 points of LAS on test, K = 4 1.3 and K = 8 1.5 (0.1,
0.2 and 0.7 on dev); beyond that accuracy keeps rising slowly towards easy-first, by 2.1 with K = 32
(1.4 on dev). On English-EWT there is a gain on dev only (0.3 with K = 8, 0.9 with K = 32); on test
every K is level with arc-standard or behind it. Greedy easy-first beats greedy arc-standard on both; a
beam of 16 gains 1.2 to 2.5 points for arc-standard and arc-eager; easy-first loses 0.4 with it on
English-EWT and gains 0.2 on the Wall Street Journal (on dev it loses 0.3 on both), where the paper
reports a gain. Time grows with K up to about 16. The table over D has the paper's shape: on Dutch D = 2
is 5 points above D = 1, D = 4 is the best, and recall of crossing arcs rises from 32 to above 75
percent; on Danish, with few crossing arcs, all D are within a point. Few active tokens (K = 5 and 6)
score below all active tokens in all four rows (see the differences under the tables; with one seed the
smaller ones may be chance), while they score above in all four rows of the paper."""


def standard_cells(options: Settings) -> dict[tuple[str, str, int], Training]:
    """Trainings by (treebank, system, beam)."""
    return {
        (treebank, name, beam): options.training(treebank, TransitionConfig(system=name, beam=beam))
        for treebank in ENGLISH
        for name in SYSTEMS
        for beam in BEAMS
    }


def capacity_cells(options: Settings) -> dict[tuple[str, int], Training]:
    """Bounded easy-first, greedy, by (treebank, K)."""
    return {
        (treebank, k): options.training(
            treebank,
            TransitionConfig(system="arc-standard" if k == 2 else f"bounded(K={k})"),
        )
        for treebank in ENGLISH
        for k in CAPACITIES
    }


def grid_cells(options: Settings) -> dict[tuple[str, str], Training]:
    """Easy-first with crossing arcs by (treebank, system), trained on the sentences the system can
    derive.
    """
    return {
        (treebank, name): options.training(
            treebank,
            TransitionConfig(system=name, epochs=GRID_EPOCHS, single_root=False, unreachable="skip"),
        )
        for treebank in CROSSING
        for name in GRID
    }


def standard_rows(trainings: Mapping[tuple[str, str, int], Training]) -> list[list[object]]:
    """Table 1: dev and test scores, and words per second on the test data."""
    return [
        [
            treebank,
            name,
            beam,
            *_both(training, "dev"),
            *_both(training, "test"),
            f"{words_per_second(training):,.0f}",
        ]
        for (treebank, name, beam), training in trainings.items()
    ]


def grid_rows(trainings: Mapping[tuple[str, str], Training], treebank: str) -> list[list[object]]:
    """Table 2: scores, recall of crossing arcs, share of training sentences that the system can derive."""
    rows: list[list[object]] = []
    crossed = _crossed(read(treebank, "test"))
    for name, paper in zip(GRID, CROSSING[treebank], strict=True):
        training, shape = trainings[treebank, name], system(name)
        recall = float(training.judged().head_right[crossed].mean()) if crossed.any() else 0.0
        covered = coverage(shape, training.data("train")).sentences
        figures = (*_both(training, "test"), percent(recall), percent(covered))
        rows.append([shape.max_distance, shape.capacity or "∞", *figures, f"{paper[0]:.2f} / {paper[1]:.2f}"])
    return rows


def few_active_tokens(rows: Sequence[Sequence[object]]) -> str:
    """LAS of the rows with bounded K minus that with all tokens active and the same D, here and in the
    paper.
    """
    everything = {row[0]: row for row in rows if row[1] == "∞"}
    differences = []
    for row in rows:
        if row[1] == "∞":
            continue
        difference, paper = (_las(row, at) - _las(everything[row[0]], at) for at in (3, -1))
        differences.append(f"K = {row[1]}, D = {row[0]}: {difference:+.2f} (paper: {paper:+.2f})")
    return (
        f"LAS with few active tokens minus LAS with all of them, same D: {'; '.join(differences)}. One seed."
    )


def _las(row: Sequence[object], at: int) -> float:
    """The LAS in a cell: alone, or after the UAS."""
    return float(str(row[at]).rpartition("/")[2])


def _crossed(treebank: Treebank) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Words whose arc crosses another one."""
    flags: list[bool] = []
    for sentence in treebank:
        crossed = crossing_words(sentence.tree)
        flags += [word in crossed for word in range(1, len(sentence.tree) + 1)]
    return np.array(flags, bool)


def words_per_second(training: Training) -> float:
    """Read, parse and write the test data on one thread: the best of three."""
    data, parser = training.data("test"), training.parser()
    seconds = interleaved({"parse": lambda: parser.parse(Treebank(data.data)).data}, repeat=3)["parse"]
    return data.word_count / seconds


def _both(training: Training, part: str) -> tuple[str, str]:
    scores = training.scores(part=part)
    return percent(scores.uas), percent(scores.las)


def capacity_part(page: Page, trainings: Mapping[tuple[str, int], Training]) -> None:
    """Figure 3: accuracy on dev and throughput against K."""
    from matplotlib import pyplot

    _, axes = pyplot.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
    rows = []
    for treebank in ENGLISH:
        results = [trainings[treebank, k] for k in CAPACITIES]
        las, speed = [100 * t.scores(part="dev").las for t in results], [words_per_second(t) for t in results]
        axes[0].plot(CAPACITIES, las, marker="o", label=treebank)
        axes[1].plot(CAPACITIES, speed, marker="o", label=treebank)
        for k, training, words in zip(CAPACITIES, results, speed, strict=True):
            rows.append([treebank, k, *_both(training, "dev"), *_both(training, "test"), f"{words:,.0f}"])
    for axis, name in zip(axes, ("LAS on dev", "words per second"), strict=True):
        axis.set_xscale("log", base=2)
        axis.set_xticks(CAPACITIES, labels=map(str, CAPACITIES))
        axis.set(xlabel="active tokens K", ylabel=name)
        axis.legend()
    page.table(["treebank", "K", "dev UAS", "dev LAS", "test UAS", "test LAS", "words/s"], rows)
    page.picture("capacity", axes[0], "accuracy and throughput against the number of active tokens")


def main(argv: Sequence[str] | None = None) -> None:
    options = settings("bohnet2016", __doc__, argv)
    standard, capacity, grid = standard_cells(options), capacity_cells(options), grid_cells(options)
    trainings = [*standard.values(), *capacity.values(), *grid.values()]
    options.run(trainings)
    page = Page("bohnet2016", "Bohnet et al. 2016: transition systems as control parameters", options)
    page.text(
        "Forms and gold UPOS; all words counted; label subtypes cut. Words/s: one thread, reading and "
        "writing included."
    )
    page.heading("Three systems in one engine (their table 1)")
    page.table(
        ["treebank", "system", "beam", "dev UAS", "dev LAS", "test UAS", "test LAS", "words/s"],
        standard_rows(standard),
    )
    page.heading("Bounded easy-first: K active tokens (their figure 3)")
    page.text("Greedy. K = 2 is arc-standard.")
    capacity_part(page, capacity)
    for treebank in CROSSING:
        page.heading(f"Arcs at distance D, {treebank} (their table 2)")
        page.text(
            "Greedy easy-first on test. CUR: recall of arcs that cross another one. NPS: training sentences "
            "that the system can derive."
        )
        rows = grid_rows(grid, treebank)
        page.table(["D", "K", "UAS", "LAS", "CUR", "NPS", "paper's UAS / LAS"], rows)
        page.text(few_active_tokens(rows))
    page.close(
        f"""Treebanks of Universal Dependencies and a sample of the Wall Street Journal (which has three
labels only), with gold tags, where the paper has the whole Penn Treebank with predicted tags, and CoNLL
2006. Greedy parsers are trained with exploration (the dynamic oracle where a system has one), the
paper's by static oracles; beams by max-violation. The table over D: {GRID_EPOCHS} epochs, several roots
allowed, the root node on the right, as in the paper; one seed. The distance D is in the templates of
moves, not in those of labels: there it gains on one of three treebanks and loses on two
(`distance_in_labels`; on dev, `python -m benchmarks.feature_choices distance`).""",
        FINDINGS,
        (t.trained.commit for t in trainings if t.trained),
    )


if __name__ == "__main__":
    main()
