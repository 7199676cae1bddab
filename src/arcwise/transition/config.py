"""``TransitionConfig``: everything that can be chosen when a transition-based parser is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from arcwise.errors import InputError
from arcwise.transition.named import system
from arcwise.transition.templates import LABEL_TEMPLATES, MOVE_TEMPLATES

UpdateRule = Literal["local", "early", "max-violation"]
UPDATE_RULES: tuple[UpdateRule, ...] = ("local", "early", "max-violation")
Unreachable = Literal["skip", "projectivise", "closest"]


@dataclass(frozen=True)
class TransitionConfig:
    """Options of ``arcwise train --parser transition``; a TOML file may set any of them."""

    system: str = "arc-eager"
    """A named system, with parameters if it has any (``bounded(K=4,D=3)``), or the path of a TOML file."""
    beam: int = 1
    """How many derivations are followed at once, in training and in parsing; 1 is greedy."""
    update: UpdateRule | None = None
    """local: after every wrong move (greedy); early: where no correct derivation is left in the beam; max-violation: where the beam is
    most wrong. None: local for beam 1, else max-violation."""
    trainer: Literal["perceptron", "mira"] = "perceptron"
    """perceptron: steps of 1; mira: passive-aggressive steps of at most C, with a margin."""
    C: float = 0.02
    """mira: the largest step."""
    warm_epochs: int = 3
    """With a beam: so many first epochs learn from single moves, which is faster."""
    explore: float = 0.9
    """Greedy training: probability to go on from the parser's own wrong move, after the first epoch. With the dynamic oracle where the system has
    one (see ``arcwise systems``); other bottom-up systems with K > 2 take what a move costs as if all tokens were active; the rest
    never explore."""
    epochs: int = 10
    patience: int = 0
    """Stop after so many epochs without a better score on the development data; 0 never stops early."""
    labelled: bool = True
    """Whether arcs have labels (DEPREL)."""
    single_root: bool = True
    """Whether exactly one word hangs on the wall."""
    unreachable: Unreachable = "closest"
    """What becomes of sentences whose tree the system cannot build: skip them, make them projective, or train on a near tree that it can
    build. They are counted and told."""
    seed: int = 1
    word: Literal["form", "lower"] = "lower"
    """What ``w`` means in templates."""
    tag: Literal["upos", "xpos"] = "upos"
    """What ``p`` means in templates."""
    word_dropout: float = 0.5
    """a: a word of frequency f is taken for an unknown one with probability a/(a+f)."""
    move_bits: int = 22
    label_bits: int = 18
    """The tables have 2^move_bits rows for moves, and 2^label_bits rows for labels."""
    move_templates: tuple[str, ...] = MOVE_TEMPLATES
    label_templates: tuple[str, ...] = LABEL_TEMPLATES

    def __post_init__(self) -> None:
        limits = (("beam", 1, 64), ("epochs", 1, 10_000), ("move_bits", 6, 28), ("label_bits", 6, 26))
        for name, low, high in limits:
            value = getattr(self, name)
            if not low <= value <= high:
                raise InputError(f"{name}: found {value}, expected {low}..{high}")
        if not 0 <= self.explore <= 1:
            raise InputError(f"explore: found {self.explore}, expected a probability")
        if not self.C > 0:
            raise InputError(f"C: found {self.C}, expected a number above 0")
        if self.update == "local" and self.beam > 1:
            raise InputError("update: found local with a beam, expected early or max-violation")
        system(self.system) if not self.system.endswith(".toml") else None

    @property
    def effective_update(self) -> UpdateRule:
        """The update rule, or what suits the beam if none was given."""
        return self.update or ("local" if self.beam == 1 else "max-violation")
