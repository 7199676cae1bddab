"""Koo et al. 2007 and Smith & Smith 2007, one generation later: what a network should learn from.

The same network with the likelihood of whole trees, with a softmax for each word, with softmax-margin and with a hinge; trees with one root or
any number, projective or not; decoded by the best tree or by minimum risk. Four treebanks, forms and gold UPOS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from measuring.trainings import Training

from arcwise.evaluation.significance import permutation_test
from arcwise.neural import NeuralConfig
from arcwise.parsing.parser import ParseOptions
from experiments.page import Page, Settings, p_value, percent, settings

LANGUAGES = ("English-EWT", "Danish-CDT", "Dutch-Alpino-cdbl", "Turkish-IMST")
OBJECTIVES: dict[str, dict[str, Any]] = {
    "likelihood of trees": {},
    "likelihood, any number of roots": {"single_root": False},
    "likelihood, projective": {"projective": True},
    "softmax for each word": {"objective": "head-by-head"},
    "softmax-margin": {"objective": "softmax-margin"},
    "hinge": {"objective": "hinge"},
    "likelihood, two clusters a label": {"clusters": 2},
}
"""Name → what differs from the defaults; the first is what the others are compared with."""
FIRST = next(iter(OBJECTIVES))
DECODERS = ("map", "mbr")
DIFFERENCES = """Both papers have linear models of features, ours a BiLSTM with bilinear scores (size base, the defaults otherwise); their data are those of
CoNLL-X, ours those of ACCURACY; one seed. As there, the epoch is chosen on development data; the decoder is not, so that decoders can be compared.
Clusters are latent values of labels, summed out, where Smith & Smith have them on arcs."""
FINDINGS = "To be written when the cells are there."


def cells(options: Settings) -> dict[tuple[str, str], Training]:
    """(treebank, objective)."""
    return {
        (treebank, name): options.training(treebank, NeuralConfig(**changes))
        for treebank in LANGUAGES
        for name, changes in OBJECTIVES.items()
    }


def rows(trainings: Mapping[tuple[str, str], Training], decoder: str) -> list[list[object]]:
    """UAS and LAS of each objective with a decoder; behind, p of the difference in heads to the first objective."""
    found: list[list[object]] = []
    for name, changes in OBJECTIVES.items():
        row: list[object] = [name]
        for treebank in LANGUAGES:
            own = _options(decoder, changes)
            scores = trainings[treebank, name].scores(own)
            told = f"{percent(scores.uas)} / {percent(scores.las)}"
            if name != FIRST:
                first = trainings[treebank, FIRST].right_heads(_options(decoder, OBJECTIVES[FIRST]))
                told += f" ({p_value(permutation_test(first, trainings[treebank, name].right_heads(own)))})"
            row.append(told)
        found.append(row)
    return found


def decoder_rows(trainings: Mapping[tuple[str, str], Training]) -> list[list[object]]:
    """UAS by minimum risk less UAS of the best tree, in points, and p."""
    found: list[list[object]] = []
    for name, changes in OBJECTIVES.items():
        row: list[object] = [name]
        for treebank in LANGUAGES:
            training = trainings[treebank, name]
            best, risk = (_options(decoder, changes) for decoder in DECODERS)
            gain = 100 * (training.scores(risk).uas - training.scores(best).uas)
            p = permutation_test(training.right_heads(best), training.right_heads(risk))
            row.append(f"{gain:+.2f} ({p_value(p)})")
        found.append(row)
    return found


def _options(decoder: str, changes: Mapping[str, Any]) -> ParseOptions:
    """The trees are those of training."""
    return ParseOptions(
        decode=decoder,  # type: ignore[arg-type]
        projective=bool(changes.get("projective", False)),
        single_root=bool(changes.get("single_root", True)),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    options = settings("neural_objectives", __doc__, arguments)
    trainings = cells(options)
    options.run(trainings.values())
    page = Page(
        "neural_objectives",
        "What a network should learn from: trees or words, margins or probabilities",
        options,
    )
    for decoder, told in zip(DECODERS, ("the best tree", "minimum risk"), strict=True):
        page.heading(f"UAS / LAS on test, decoded by {told}")
        page.text(f"In brackets the p-value of a permutation test of right heads against {FIRST}.")
        page.table(["objective", *LANGUAGES], rows(trainings, decoder))
    page.heading("Minimum risk against the best tree: UAS, in points")
    page.table(["objective", *LANGUAGES], decoder_rows(trainings))
    commits = [t.trained.commit for t in trainings.values() if t.trained is not None]
    page.close(DIFFERENCES, FINDINGS, commits, about="the papers")


if __name__ == "__main__":
    main()
