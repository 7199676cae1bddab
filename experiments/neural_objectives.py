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
FINDINGS = """- **Trees or words.** The likelihood of whole trees and a softmax per word are equally
  good on all four treebanks (p ≥ 0.5 with the best tree): the network sees the whole sentence, which
  leaves little for the structure to add. Koo et al. compare with margins, not with this; for linear
  models Smith & Smith need the trees. arcwise keeps the likelihood of trees: it is as fast, it learns
  from partial trees, and its probabilities are those of trees.
- **Margins.** Koo et al. find likelihood and margins equal. So is softmax-margin: 0.4 UAS better on
  English (p = 0.03), no different elsewhere. The hinge loss, which sees one wrong tree per step, is
  behind by 0.8 to 6.4 UAS and by more LAS: a network needs the gradient of all trees.
- **One root or many.** No difference except on English (+0.3 UAS for any number, p = 0.05), as in Smith
  & Smith and Koo et al.; decoding keeps one root either way.
- **Projective or not.** Training and parsing without crossing arcs costs 4.4 UAS on Dutch and 0.6 on
  Danish, and nothing on English and Turkish: as in both papers, it depends on how many crossing arcs a
  treebank has.
- **Minimum Bayes risk.** +0.5 UAS on Turkish (p = 0.004), the treebank with the most uncertainty;
  nothing on the others. Both papers report small gains of this kind.
- **Latent clusters.** Two clusters per label make no significant difference: the network has hidden
  states already.
"""


def cells(options: Settings) -> dict[tuple[str, str], Training]:
    """Trainings by (treebank, objective)."""
    return {
        (treebank, name): options.training(treebank, NeuralConfig(**changes))
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
    commits = [t.trained.commit for t in trainings.values() if t.trained is not None]
    page.close(DIFFERENCES, FINDINGS, commits, about="the papers")


if __name__ == "__main__":
    main()
