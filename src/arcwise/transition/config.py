"""``TransitionConfig``: everything that can be chosen when a transition-based parser is trained."""

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
    """A file is read when a parser is trained: a model that was trained with one needs it no more."""
    if not text.endswith(".toml"):
        system(text)


@dataclass(frozen=True)
class TransitionConfig:
    """Options of ``arcwise train --parser transition``; a TOML file may set any of them."""

    system: str = option(
        "arc-eager",
        "A named system, with parameters if it has any (`bounded(K=4,D=3)`), or the path of a TOML file.",
        check=_check_system,
        form=_SYSTEM,
    )
    beam: int = option(
        1,
        "How many derivations are followed at once, in training and in parsing; 1 is greedy.",
        low=1,
        high=MAX_BEAM,
    )
    update: UpdateRule | None = option(
        None,
        "local: after every wrong move (greedy); early: where no correct derivation is left in the beam; max-violation: where the beam is "
        "most wrong. None: local for beam 1, else max-violation.",
    )
    trainer: Literal["perceptron", "mira"] = option(
        "perceptron",
        "perceptron: steps of 1; mira: passive-aggressive steps of at most C, with a margin.",
    )
    C: float = option(0.02, "mira: the largest step.", above=0)
    warm_epochs: int = option(
        3,
        "With a beam: so many first epochs learn from single moves, which is faster.",
        low=0,
        high=10_000,
    )
    explore: float = option(
        0.9,
        "Greedy training: probability to go on from the parser's own wrong move, after the first epoch. With the dynamic oracle where the "
        "system has one (see `arcwise systems`); other bottom-up systems with K > 2 take what a move costs as if all tokens were active; "
        "the rest never explore.",
        low=0,
        high=1,
    )
    epochs: int = option(10, "Passes over the training data.", low=1, high=10_000)
    patience: int = option(
        0,
        "Stop after so many epochs without a better score on the development data; 0 never stops early.",
        low=0,
        high=10_000,
    )
    parts: int = option(
        1,
        "In so many parts each epoch is learned at the same time, by as many workers as there are; the weights are mixed after each epoch: "
        "more parts learn less per epoch.",
        low=1,
        high=1024,
    )
    labelled: bool = option(True, "Whether arcs have labels (DEPREL).")
    single_root: bool = option(True, "Whether exactly one word has the root as its head.")
    unreachable: Unreachable = option(
        "closest",
        "What becomes of sentences whose tree the system cannot build: skip them, make them projective, or train on a near tree that it can "
        "build. They are counted and told.",
    )
    seed: int = option(1, "The same seed gives the same model.", low=0, high=SEEDS)
    word: Literal["form", "lower"] = option("lower", "What `w` means in templates.")
    tag: Literal["upos", "xpos"] = option("upos", "What `p` means in templates.")
    word_dropout: float = option(
        0.5, "a: a word of frequency f is taken for an unknown one with probability a/(a+f).", low=0
    )
    move_bits: int = option(22, "The table of moves has 2^move_bits rows.", low=6, high=28)
    label_bits: int = option(18, "The table of labels has 2^label_bits rows.", low=6, high=26)
    distance_in_labels: bool = option(
        False,
        "Systems with D > 1: whether the templates of labels, like those of moves, are conjoined with how many places the two tokens are "
        "apart (Bohnet et al. 2016 have it in all templates).",
    )
    move_templates: tuple[str, ...] = option(
        MOVE_TEMPLATES, "Templates that score the move itself.", check=check_template, form=_TEMPLATE
    )
    label_templates: tuple[str, ...] = option(
        LABEL_TEMPLATES, "Templates that score the label of an arc.", check=check_template, form=_TEMPLATE
    )

    __repr__ = short_repr

    def __post_init__(self) -> None:
        check_options(self)
        if self.update == "local" and self.beam > 1:
            raise OptionError("update", "found 'local' with a beam, expected early or max-violation")

    @property
    def effective_update(self) -> UpdateRule:
        """The update rule, or what suits the beam if none was given."""
        return self.update or ("local" if self.beam == 1 else "max-violation")

    def refuse_unread(self) -> None:
        """``OptionError`` if an option is set that training will not read: asked when a parser is trained."""
        unread = {}
        if self.trainer != "mira":
            unread["C"] = f"the trainer {self.trainer} does not read it (mira does)"
        if self.effective_update == "local":
            unread["warm_epochs"] = "the update local does not read it (early and max-violation do)"
        elif min(self.warm_epochs, self.epochs) < 2:
            unread["explore"] = (
                f"the update {self.effective_update} explores in warm_epochs alone, after the first"
            )
        if system(self.system).max_distance == 1:
            unread["distance_in_labels"] = (
                f"{self.system} joins neighbours alone (D = 1) and does not read it"
            )
        if system(self.system).many_heads:
            for name in ("labelled", "single_root", "unreachable", "explore", "parts"):
                unread[name] = f"{self.system} builds graphs and does not read it"
        refuse_unread(self, unread)

    def check_distillation(self, distillation: Distillation) -> None:
        """``OptionError`` if the parser cannot learn what is taught: asked before the teacher reads anything."""
        built = system(self.system)
        if built.many_heads:
            raise OptionError(
                "teacher", f"found one, but {self.system} builds graphs, and teachers know trees"
            )
        greedy = self.effective_update == "local" or min(self.warm_epochs, self.epochs) > 0
        if not (built.is_arc_decomposable and greedy):
            update = f"{self.system} with the update {self.effective_update}"
            distillation.require_text(update, "arc-eager, hybrid and easy-first, as long as they are greedy,")
