"""The transition-based parser: transition systems, oracles, beam search, training, coverage."""

from arcwise.transition.config import TransitionConfig
from arcwise.transition.coverage import Coverage, coverage
from arcwise.transition.named_systems import NAMED, every_named, system
from arcwise.transition.oracle import Move, State, derivation, start
from arcwise.transition.parser import TransitionParser
from arcwise.transition.system import Transition, TransitionSystem, system_from_dict

__all__ = [
    "NAMED",
    "Coverage",
    "Move",
    "State",
    "Transition",
    "TransitionConfig",
    "TransitionParser",
    "TransitionSystem",
    "coverage",
    "derivation",
    "every_named",
    "start",
    "system",
    "system_from_dict",
]
