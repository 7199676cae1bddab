"""Training objectives for a neural parser, after Koo et al. 2007 and Smith & Smith 2007.

The same network trained with the likelihood of trees, a softmax per word, softmax-margin and a hinge loss;
trees with one root or any number, projective or not; decoded by the best tree or by minimum Bayes risk. Four
treebanks, forms and gold UPOS.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from measuring.trainings import Training

from arcwise.evaluation.significance import permutation_test
from arcwise.neural import NeuralConfig
from arcwise.parsing.parser import ParseOptions
from experiments.page import Page, Settings, p_value, percent, settings
from experiments.sentences import LEVEL, points

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
"""Differences from the defaults, by name of the objective; the first is the baseline."""
FIRST = next(iter(OBJECTIVES))
DECODERS = ("map", "mbr")
DIFFERENCES = """Both papers use linear models, this experiment a BiLSTM with bilinear scores (size
base, otherwise the defaults); their data are CoNLL-X, ours those of ACCURACY; one seed. As there, the
epoch is selected on development data; the decoder is not, so that decoders can be compared. Clusters
are latent values of labels, summed out; in Smith & Smith they are on arcs."""


def cells(options: Settings) -> dict[tuple[str, str], Training]:
    """Trainings by (treebank, objective)."""
    return {
        (treebank, name): options.training(
            treebank,
            NeuralConfig(**changes),
            measures=[_options(decoder, changes) for decoder in DECODERS],
        )
        for treebank in LANGUAGES
        for name, changes in OBJECTIVES.items()
    }


def rows(trainings: Mapping[tuple[str, str], Training], decoder: str) -> list[list[object]]:
    """UAS and LAS of each objective with a decoder, with p of the difference in heads from the baseline."""
    table_rows: list[list[object]] = []
    for name, changes in OBJECTIVES.items():
        row: list[object] = [name]
        for treebank in LANGUAGES:
            parse_options = _options(decoder, changes)
            scores = trainings[treebank, name].scores(parse_options)
            cell = f"{percent(scores.uas)} / {percent(scores.las)}"
            if name != FIRST:
                first = trainings[treebank, FIRST].right_heads(_options(decoder, OBJECTIVES[FIRST]))
                right = trainings[treebank, name].right_heads(parse_options)
                cell += f" ({p_value(permutation_test(first, right))})"
            row.append(cell)
        table_rows.append(row)
    return table_rows


def decoder_rows(trainings: Mapping[tuple[str, str], Training]) -> list[list[object]]:
    """UAS of minimum Bayes risk minus UAS of the best tree, in points, and p."""
    table_rows: list[list[object]] = []
    for name, changes in OBJECTIVES.items():
        row: list[object] = [name]
        for treebank in LANGUAGES:
            training = trainings[treebank, name]
            best, risk = (_options(decoder, changes) for decoder in DECODERS)
            gain = 100 * (training.scores(risk).uas - training.scores(best).uas)
            p = permutation_test(training.right_heads(best), training.right_heads(risk))
            row.append(f"{gain:+.2f} ({p_value(p)})")
        table_rows.append(row)
    return table_rows


def findings(trainings: Mapping[tuple[str, str], Training]) -> str:
    """Each objective against the first, and minimum risk against the best tree: what is significant."""

    def outcome(
        pairs: Mapping[str, tuple[tuple[Training, ParseOptions], tuple[Training, ParseOptions]]],
    ) -> str:
        parts = []
        for treebank, ((a, a_options), (b, b_options)) in pairs.items():
            gain = b.scores(b_options).uas - a.scores(a_options).uas
            p = permutation_test(a.right_heads(a_options), b.right_heads(b_options))
            if p < LEVEL:
                parts.append(f"{treebank} {points(gain)} UAS (p {p_value(p)})")
        return "; ".join(parts) or "no significant difference"

    best, risk = (_options(decoder, OBJECTIVES[FIRST]) for decoder in DECODERS)
    lines = [
        f"{name} against {FIRST}: "
        + outcome(
            {
                t: ((trainings[t, FIRST], best), (trainings[t, name], _options("map", changes)))
                for t in LANGUAGES
            }
        )
        for name, changes in OBJECTIVES.items()
        if name != FIRST
    ]
    by_risk = outcome({t: ((trainings[t, FIRST], best), (trainings[t, FIRST], risk)) for t in LANGUAGES})
    lines.append(f"Minimum Bayes risk against the best tree, {FIRST}: {by_risk}")
    return "\n".join(f"- {line}." for line in lines)


def _options(decoder: str, changes: Mapping[str, Any]) -> ParseOptions:
    """Parse with the class of trees used in training."""
    return ParseOptions(
        decode=decoder,  # type: ignore[arg-type]
        projective=bool(changes.get("projective", False)),
        single_root=bool(changes.get("single_root", True)),
    )


def main(argv: Sequence[str] | None = None) -> None:
    options = settings("neural_objectives", __doc__, argv)
    trainings = cells(options)
    options.run(trainings.values())
    page = Page(
        "neural_objectives",
        "Training objectives for a neural parser: trees or words, margins or probabilities",
        options,
    )
    for decoder, decoder_name in zip(DECODERS, ("the best tree", "minimum risk"), strict=True):
        page.heading(f"UAS / LAS on test, decoded by {decoder_name}")
        page.text(f"In brackets the p-value of a permutation test of right heads against {FIRST}.")
        page.table(["objective", *LANGUAGES], rows(trainings, decoder))
    page.heading("Minimum risk against the best tree: UAS, in points")
    page.table(["objective", *LANGUAGES], decoder_rows(trainings))
    page.close(DIFFERENCES, findings(trainings), about="the papers")


if __name__ == "__main__":
    main()
