"""The optimisers of Koo et al. (2007): part of the page of ``experiments.koo2007``.

Max-margin training by the paper's own steps of exponentiated gradient, log-linear training by conjugate
gradient, both with C; and log-linear training by exponentiated gradient, which its section 5 leaves to
Globerson et al. (2007). Features, labels and trees as in the paper, on fewer sentences: a pass of a batch
optimiser is an epoch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from measuring.trainings import Training, best_on_dev

from arcwise.graph import GraphConfig
from experiments.page import Page, Settings, percent
from experiments.sentences import between

SENTENCES = 500
ITERATIONS = 40
EG, CG = "log-linear by EG", "log-linear by CG"
OPTIMISERS: dict[str, tuple[GraphConfig, ...]] = {
    "perceptron": (GraphConfig(trainer="perceptron"),),
    "max-margin by EG": tuple(GraphConfig(trainer="eg", violators=0, epochs=20, C=C) for C in (0.01, 0.04)),
    CG: tuple(
        GraphConfig(trainer="log-linear-batch", solver="cg", epochs=ITERATIONS // 10, C=C) for C in (0.1, 1.0)
    ),
    EG: tuple(GraphConfig(trainer="eg-log-linear", epochs=20, gap=0.01, C=C) for C in (0.1, 1.0)),
}
"""Trainers with the values of C to select from on dev."""
PAPER_COLUMN = {"perceptron": 0, "max-margin by EG": 1, CG: 2, EG: 2}
"""The column of the paper's tables that each belongs to."""
Cell = tuple[str, str, bool]


def optimiser_cells(options: Settings, languages: Sequence[str]) -> dict[Cell, list[Training]]:
    """Trainings by (treebank, optimiser, projective), one per C."""
    return {
        (treebank, name, projective): [
            options.training(
                treebank,
                replace(config, projective=projective, labelled=False, features="mcdonald2005"),
                sentences=SENTENCES,
                measures=["report"] if name == EG else [],
            )
            for config in configs
        ]
        for treebank in languages
        for name, configs in OPTIMISERS.items()
        for projective in (True, False)
    }


def write_optimisers(
    page: Page, cells: Mapping[Cell, Sequence[Training]], paper: Mapping[str, Sequence[float]]
) -> None:
    """Add the table to the page. ``paper``: its table 2, projective and not for each of three trainers."""
    page.heading("With the paper's optimisers (their table 2)")
    page.text(
        f"Unlabelled, with the features of McDonald et al. (2005), the first {SENTENCES:,} training "
        "sentences; projective (p) and non-projective (np) trees. Max-margin by the steps of the paper's "
        f"figure 2 alone (`violators = 0`), log-linear by at most {ITERATIONS} iterations of conjugate "
        "gradient (CG), and by exponentiated gradient (EG; Globerson et al. 2007, to which the paper points) "
        "until the duality gap is below 1 %. C and epoch are selected on dev. UAS on test, the paper's on "
        "its data (it has one column for log-linear models), and the CPU time of the selected training."
    )
    kinds = [(name, projective) for name in OPTIMISERS for projective in (True, False)]
    header = [f"{name}, {'p' if projective else 'np'}" for name, projective in kinds]
    rows: list[list[object]] = []
    for treebank, figures in paper.items():
        best = [best_on_dev(cells[treebank, name, projective]) for name, projective in kinds]
        rows.append([treebank, *(percent(training.scores().uas) for training in best)])
        at = [2 * PAPER_COLUMN[name] + (not projective) for name, projective in kinds]
        rows.append(["paper", *(f"{figures[column]:.2f}" for column in at)])
        rows.append(["CPU s", *(f"{training.run().seconds:.0f}" for training in best)])
    page.table(["treebank", *header], rows)
    page.text(agreement(cells))


def agreement(cells: Mapping[Cell, Sequence[Training]]) -> str:
    """How far the two optimisers of the log-linear objective are apart at the same C, and their gap."""
    differences, gaps = [], []
    for (treebank, name, projective), trainings in cells.items():
        if name != EG:
            continue
        for eg, cg in zip(trainings, cells[treebank, CG, projective], strict=True):
            differences.append(100 * (eg.scores().uas - cg.scores().uas))
            gaps.append(100 * eg.report()["history"][-1]["gap"])
    return (
        f"Log-linear models by EG minus by CG at the same C, which have the same optimum (CG ends after "
        f"{ITERATIONS} iterations, before it has converged): "
        f"{between(differences)} points of UAS. The duality gap of EG at its end: {between(gaps, '.2f')} % "
        "of the primal."
    )
