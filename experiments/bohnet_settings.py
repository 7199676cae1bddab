"""The settings of Bohnet et al. (2016) beside ours: part of the page of ``experiments.bohnet2016``.

The paper trains a structured perceptron with early updates on the features of Zhang & Nivre (2011), towards
the derivation of a static oracle (arc-standard, arc-eager) or, where a tree has many derivations, towards one
chosen as by Ma et al. (2013). Its tags come from 5-fold jack-knifed taggers, and its scores leave punctuation
out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from measuring.trainings import Training

from arcwise.transition import TransitionConfig
from arcwise.transition.templates import (
    CHILDREN,
    DISTANCE,
    LABEL_SETS,
    PAIRS,
    SINGLE,
    THIRD_ORDER,
    TRIPLES,
    VALENCY,
)
from experiments.page import Page, Settings, percent

TREEBANK = "English-WSJsample"
SYSTEMS = ("arc-standard", "arc-eager", "easy-first", "hybrid")
CAPACITIES = (2, 3, 4, 5, 6, 8, 12, 16, 32)
BEAM = 16
TAG_FOLDS = 5
GREEDY_EPOCHS = 20
ZHANG_NIVRE = (*SINGLE, *PAIRS, *TRIPLES, *DISTANCE, *VALENCY, *CHILDREN, *THIRD_ORDER, *LABEL_SETS)
STATIC = ("arc-standard", "arc-eager")
"""Systems with a static oracle in the paper; the others have many derivations of a tree."""


class Setting(NamedTuple):
    """A row of table 1: a system, whose settings, and whose tags."""

    system: str
    settings: str
    """``ours`` or ``paper's``."""
    tags: str
    """``gold`` or ``predicted``."""


def paper_config(name: str, beam: int, epochs: int = 10) -> TransitionConfig:
    """The training of the paper, as far as it says: no exploration, no greedy start, no word dropout."""
    return TransitionConfig(
        system=name,
        beam=beam,
        epochs=epochs,
        update="early",
        oracle="static" if name in STATIC else "correct",
        warm_epochs=0,
        word="form",
        word_dropout=0,
        move_templates=ZHANG_NIVRE,
    )


def setting_cells(options: Settings) -> dict[Setting, Training]:
    """Table 1 by system, settings and tags, with a beam."""
    cells = {}
    for name in SYSTEMS:
        for settings in ("ours", "paper's"):
            config = (
                TransitionConfig(system=name, beam=BEAM) if settings == "ours" else paper_config(name, BEAM)
            )
            for tags in ("gold", "predicted"):
                training = options.training(TREEBANK, config)
                cells[Setting(name, settings, tags)] = _with_tags(training, tags)
    return cells


def capacity_cells(options: Settings) -> dict[int, Training]:
    """Figure 3 in the settings of the paper, by K: a beam of 1 with early updates, predicted tags.

    Twice the epochs: an early update of a beam of 1 learns from the sentence up to its first wrong move only.
    """
    names = {k: "arc-standard" if k == 2 else f"bounded(K={k})" for k in CAPACITIES}
    return {
        k: _with_tags(options.training(TREEBANK, paper_config(name, 1, GREEDY_EPOCHS)), "predicted")
        for k, name in names.items()
    }


def _with_tags(training: Training, tags: str) -> Training:
    return replace(training, tag_folds=TAG_FOLDS if tags == "predicted" else 0)


def write_settings(page: Page, cells: Mapping[Setting, Training], capacities: Mapping[int, Training]) -> None:
    """Add both tables to the page."""
    page.heading("Settings of the paper beside ours (their table 1)")
    page.text(
        f"{TREEBANK}, beam of {BEAM}. Ours: max-violation updates after three greedy epochs with "
        "exploration, word dropout, all templates. Paper's: early updates, features of Zhang & "
        "Nivre (2011), one derivation of a static oracle for arc-standard and arc-eager, else the best "
        f"correct one (Ma et al. 2013). Predicted tags: {TAG_FOLDS}-fold jack-knifed taggers. The last two "
        "columns leave punctuation out, as the paper does. The paper does not tell its beam size in the copy "
        "used here. Hybrid is in its section 4.4, not in its table."
    )
    header = ["system", "settings", "tags", "dev UAS", "dev LAS", "test UAS", "test LAS"]
    header += ["test UAS, no punct.", "test LAS, no punct."]
    page.table(header, [[*setting, *_figures(training)] for setting, training in cells.items()])
    page.heading("Active tokens in the settings of the paper (their figure 3)")
    page.text(
        f"{TREEBANK}, beam of 1 with early updates, {GREEDY_EPOCHS} epochs, predicted tags. K = 2 is "
        "arc-standard."
    )
    page.table(["K", *header[3:]], [[k, *_figures(training)] for k, training in capacities.items()])


def _figures(training: Training) -> list[str]:
    scores = [
        training.scores(part="dev"),
        training.scores(),
        training.scores(punctuation=False),
    ]
    return [percent(share) for s in scores for share in (s.uas, s.las)]
