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
FINDINGS = """- **Trees against words.** The likelihood of whole trees and a softmax for each word are equally good on all four treebanks (p ≥ 0.5 with the best tree): what the network
  sees of the whole sentence leaves little for the structure to add. Koo et al. compare with margins, not with this; for linear models Smith & Smith need the trees. We keep the likelihood of trees: it is as fast, it learns from partial trees, and its
  probabilities are those of trees.
- **Margins.** Koo et al. find likelihood and margins alike. Softmax-margin is: 0.4 UAS better on English (p = 0.03), no different elsewhere. The hinge, which sees one wrong tree at a step, is 0.8 to 6.4 UAS and more LAS behind: a
  network wants the gradient of all trees.
- **One root or many.** No difference but for English (+0.3 UAS for any number, p = 0.05), as Smith & Smith and Koo et al. have it; decoding keeps one root either way.
- **Projective or not.** Training and parsing without crossing arcs costs 4.4 UAS on Dutch and 0.6 on Danish, and nothing on English and Turkish: as in both papers, it depends on how many crossing arcs a treebank has.
- **Minimum risk.** +0.5 UAS on Turkish (p = 0.004), the treebank with most doubt; nothing on the others. Both papers report small gains of this kind.
- **Latent clusters.** Two clusters a label change nothing that can be told from chance: the network has hidden states of its own.
"""


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
