"""Ablation of features from the papers on development data: ``python -m benchmarks.feature_choices [NAME
…]``.

Trained on the first sentences of each treebank; trained parsers are cached (``measuring.trainings``). Needs
ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from measuring.soft_clusters import COLUMN
from measuring.tables import table
from measuring.trainings import Config, Training, run_all

from arcwise.graph import GraphConfig
from arcwise.graph.templates import ARC_TEMPLATES, FEATS_PAIRS
from arcwise.transition import TransitionConfig
from benchmarks.report import write_section

SENTENCES = 2000
SMALL = ("Danish-CDT", "Turkish-IMST", "English-EWT")


@dataclass(frozen=True)
class Choice:
    """Configurations to compare on some treebanks; the first is the baseline."""

    about: str
    treebanks: Sequence[str]
    configs: Mapping[str, Config]
    all_columns: bool = False
    sentences: int = SENTENCES
    soft_clusters: Sequence[int] = ()
    """Number of soft word clusters of each configuration; none if empty."""

    def cells(self, sentences: int) -> dict[str, list[Training]]:
        """Trainings of each treebank, in the order of ``configs``."""
        kept = min(sentences, self.sentences)
        ways = list(zip(self.configs.values(), self.soft_clusters or [0] * len(self.configs), strict=True))
        return {
            name: [Training(name, way, self.all_columns, kept, soft_clusters=k) for way, k in ways]
            for name in self.treebanks
        }


_CROSSING = TransitionConfig(system="non-projective(D=4)", epochs=6, single_root=False, unreachable="skip")
_MIRA = GraphConfig(epochs=6)
_LOG_LINEAR = GraphConfig(trainer="log-linear", epochs=6, labelled=False)
_SQUEEZED = GraphConfig(trainer="log-linear", epochs=3, labelled=False, squeezed=True)

CHOICES: dict[str, Choice] = {
    "distance": Choice(
        "Distances D in the label templates, too (Bohnet et al. 2016): non-projective(D=4), greedy, 6 "
        "epochs.",
        ("Danish-CDT", "Dutch-Alpino-cdbl", "Slovenian-SSJ-rs"),
        {"in moves": _CROSSING, "in moves and labels": replace(_CROSSING, distance_in_labels=True)},
    ),
    "prefixes": Choice(
        "Every template with a word also with its five-character prefix (McDonald et al. 2005): MIRA, 6 "
        "epochs.",
        SMALL,
        {"as they are": _MIRA, "word_prefixes": replace(_MIRA, word_prefixes=True)},
    ),
    "feats": Choice(
        "Each value of FEATS of the head with each of the modifier, for arcs only or for arcs and labels: "
        "MIRA, 6 epochs, all columns.",
        ("Basque-BDT", "Slovenian-SSJ-rs", "Turkish-IMST"),
        {
            "as they are": _MIRA,
            "for arcs alone": replace(_MIRA, arc_templates=(*ARC_TEMPLATES, *FEATS_PAIRS)),
            "feats_pairs": replace(_MIRA, feats_pairs=True),
        },
        all_columns=True,
    ),
    "priors": Choice(
        "Gaussian priors of variance 10 and 1 (Smith & Smith 2007): log-linear, non-projective, unlabelled, "
        "6 epochs of SGD.",
        ("Danish-CDT", "Turkish-IMST"),
        {
            "no prior": _LOG_LINEAR,
            "variance 10": replace(_LOG_LINEAR, prior=1 / 10 / SENTENCES),
            "variance 1": replace(_LOG_LINEAR, prior=1 / SENTENCES),
        },
    ),
    "soft clusters": Choice(
        "Soft word clusters, learned from neighbouring words in the training text by EM, as values in MISC "
        "(proposed by Smith & Smith 2007): each cluster of the head with each of the modifier. MIRA, 6 "
        "epochs.",
        ("Danish-CDT", "Turkish-IMST"),
        {
            "without": _MIRA,
            **{f"{k} soft clusters": replace(_MIRA, list_columns=(COLUMN,)) for k in (16, 64)},
        },
        soft_clusters=(0, 16, 64),
    ),
    "squeezed": Choice(
        "No templates of two words or four tags, and latent clusters that have to make up for them (Smith & "
        "Smith 2007): log-linear, unlabelled, 3 epochs on 200 sentences.",
        ("Danish-CDT", "Turkish-IMST"),
        {
            "all templates": replace(_LOG_LINEAR, epochs=3),
            "squeezed": replace(_SQUEEZED, trainer="log-linear"),
            **{
                f"squeezed, {k} clusters": replace(_SQUEEZED, trainer="latent", clusters=k)
                for k in (32, 1000)
            },
        },
        sentences=200,
    ),
}


def choice_table(choice: Choice, cells: Mapping[str, Sequence[Training]]) -> str:
    """UAS / LAS on dev, LAS gain and relative CPU time of training over the baseline."""
    rows: list[list[object]] = []
    for name, trainings in cells.items():
        first = trainings[0].run()
        for way, training in zip(choice.configs, trainings, strict=True):
            result = training.run()
            gain = "" if training is trainings[0] else f"{100 * (result.dev.las - first.dev.las):+.2f}"
            scores = f"{100 * result.dev.uas:.2f} / {100 * result.dev.las:.2f}"
            rows.append([name, way, scores, gain, f"{result.seconds / first.seconds:.2f}"])
    return table(["treebank", "features", "dev UAS / LAS", "LAS gain", "training time"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*CHOICES, []], help="choices to run (default: all)")
    parser.add_argument(
        "--sentences", type=int, default=SENTENCES, help="maximum number of training sentences"
    )
    options = parser.parse_args()
    parts = []
    for name in options.names or CHOICES:
        choice = CHOICES[name]
        cells = choice.cells(options.sentences)
        run_all(training for trainings in cells.values() for training in trainings)
        parts.append(f"**{name}.** {choice.about}\n\n{choice_table(choice, cells)}")
        print(parts[-1], flush=True)
    if not options.names:
        about = (
            f"Trained on the first {options.sentences} sentences (or fewer, where stated) with gold "
            f"tags; one seed.\n\n"
        )
        write_section("feature_choices", "Features of the papers: ablation", about + "\n".join(parts))


if __name__ == "__main__":
    main()
