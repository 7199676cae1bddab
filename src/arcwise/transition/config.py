"""``TransitionConfig``: the training options of the transition-based parser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from arcwise.distillation import Distillation
from arcwise.errors import OptionError
from arcwise.learning.options import SEEDS, check_options, option, refuse_unread, short_repr
from arcwise.parsing.parser import MAX_BEAM
from arcwise.transition.named_systems import system
from arcwise.transition.templates import LABEL_TEMPLATES, MOVE_TEMPLATES, check_template

UpdateRule = Literal["local", "early", "max-violation"]
Unreachable = Literal["skip", "projectivise", "closest"]

_SYSTEM = "a system of 'arcwise systems', with parameters if it has any, or a .toml file"
_TEMPLATE = "a template such as 'a:p b:w distance'"


def _check_system(text: str) -> None:
    """Check a system's name; a TOML file is read only for training, so that a model does not need it."""
    if not text.endswith(".toml"):
        system(text)


@dataclass(frozen=True)
class TransitionConfig:
    """Options of ``arcwise train --parser transition``; a TOML file may set any of them."""

    system: str = option(
        "arc-eager",
        "Transition system: a name, with parameters if it has any (`bounded(K=4,D=3)`), or the path of a "
        "TOML file.",
        check=_check_system,
        form=_SYSTEM,
    )
    beam: int = option(
        1,
        "Beam size in training and parsing (1 is greedy).",
        low=1,
        high=MAX_BEAM,
    )
    update: UpdateRule | None = option(
        None,
        "When to update: local after every wrong transition (greedy); early when the gold derivation falls "
        "off the beam; "
        "max-violation at the largest margin violation. Default: local for beam 1, else max-violation.",
    )
    trainer: Literal["perceptron", "mira"] = option(
        "perceptron",
        "perceptron: steps of size 1; mira: passive-aggressive steps of at most C, with a margin.",
    )
    C: float = option(0.02, "Aggressiveness (mira): the largest step.", above=0)
    warm_epochs: int = option(
        3,
        "With a beam: number of initial epochs with local updates, which are faster.",
        low=0,
        high=10_000,
    )
    oracle: Literal["correct", "static"] = option(
        "correct",
        "Which moves count as correct: `correct`: all that leave the gold tree within reach; `static`: "
        "those of one derivation, which attaches as soon as it can (Bohnet et al. 2016 for arc-standard and "
        "arc-eager).",
    )
    explore: float = option(
        0.9,
        "Exploration: probability of following the parser's own wrong transition in greedy training, after "
        "the first epoch. Uses the dynamic oracle where the system has one (see `arcwise systems`); other "
        "bottom-up systems with K > 2 compute costs as if all tokens were active; the rest never explore.",
        low=0,
        high=1,
    )
    epochs: int = option(10, "Training epochs.", low=1, high=10_000)
    patience: int = option(
        0,
        "Early stopping: epochs without improvement on the development data before training stops (0 "
        "disables it).",
        low=0,
        high=10_000,
    )
    parts: int = option(
        1,
        "Data parallelism: split each epoch into this many parts, trained in parallel by the available "
        "workers. Parameters are mixed after each epoch, so more parts learn less per epoch.",
        low=1,
        high=1024,
    )
    labelled: bool = option(True, "Predict labels (DEPREL).")
    single_root: bool = option(True, "Require exactly one word to be attached to the root.")
    unreachable: Unreachable = option(
        "closest",
        "Sentences whose tree the system cannot derive: skip them, projectivise them, or train on the "
        "closest tree that it can derive. Their number is reported.",
    )
    seed: int = option(1, "Random seed; the same seed gives the same model.", low=0, high=SEEDS)
    word: Literal["form", "lower"] = option(
        "lower", "What `w` stands for in templates: the form or its lower case."
    )
    tag: Literal["upos", "xpos"] = option("upos", "What `p` stands for in templates: the tag column.")
    word_dropout: float = option(
        0.5,
        "Word dropout a: a word of frequency f is replaced by the unknown word with probability a/(a+f).",
        low=0,
    )
    move_bits: int = option(22, "Hash-table size for transition templates: 2^move_bits rows.", low=6, high=28)
    label_bits: int = option(18, "Hash-table size for label templates: 2^label_bits rows.", low=6, high=26)
    distance_in_labels: bool = option(
        False,
        "Systems with D > 1: conjoin label templates, like transition templates, with the distance of the "
        "two tokens (Bohnet et al. 2016 do so in all templates).",
    )
    move_templates: tuple[str, ...] = option(
        MOVE_TEMPLATES, "Feature templates that score the transition.", check=check_template, form=_TEMPLATE
    )
    label_templates: tuple[str, ...] = option(
        LABEL_TEMPLATES,
        "Feature templates that score the label of an arc.",
        check=check_template,
        form=_TEMPLATE,
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)
        if self.update == "local" and self.beam > 1:
            raise OptionError("update", "found 'local' with a beam, expected early or max-violation")

    @property
    def effective_update(self) -> UpdateRule:
        """The update rule, or the default for the beam."""
        return self.update or ("local" if self.beam == 1 else "max-violation")

    def refuse_unread(self) -> None:
        """Raise ``OptionError`` for an option that training would ignore."""
        unread = {}
        if self.trainer != "mira":
            unread["C"] = f"the trainer {self.trainer} ignores it (used by mira)"
        if self.effective_update == "local":
            unread["warm_epochs"] = "the update local ignores it (used by early and max-violation)"
        elif min(self.warm_epochs, self.epochs) < 2:
            unread["explore"] = (
                f"the update {self.effective_update} explores only in warm_epochs, after the first"
            )
        if self.oracle == "static":
            unread["explore"] = "the oracle static ignores it: it knows no correct move off its derivation"
        if system(self.system).max_distance == 1:
            unread["distance_in_labels"] = f"{self.system} only attaches neighbours (D = 1) and ignores it"
        if system(self.system).many_heads:
            for name in ("labelled", "single_root", "unreachable", "explore", "parts"):
                unread[name] = f"{self.system} builds graphs and ignores it"
        refuse_unread(self, unread)

    def check_distillation(self, distillation: Distillation) -> None:
        """Raise ``OptionError`` if the parser cannot use soft targets and there is no text."""
        built = system(self.system)
        if built.many_heads:
            raise OptionError(
                "teacher", f"found one, but {self.system} builds graphs, and teachers predict trees"
            )
        greedy = self.effective_update == "local" or min(self.warm_epochs, self.epochs) > 0
        if not (built.is_arc_decomposable and greedy and self.oracle == "correct"):
            update = f"{self.system} with the update {self.effective_update}"
            distillation.require_text(update, "arc-eager, hybrid and easy-first, as long as they are greedy,")
