"""Exact inference beyond arcs: factors over the dependents of a head, for projective trees."""

from arcwise.factors.distribution import FactoredTreeDistribution
from arcwise.factors.head_automaton import HeadAutomaton
from arcwise.factors.siblings import Siblings

__all__ = ["FactoredTreeDistribution", "HeadAutomaton", "Siblings"]
