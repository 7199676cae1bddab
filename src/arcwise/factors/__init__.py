"""Exact inference beyond arcs: factors over the dependents of a head, and legal trees."""

from arcwise.factors.batch import FactoredTreeDistributionBatch
from arcwise.factors.distribution import FactoredTreeDistribution
from arcwise.factors.head_automaton import HeadAutomaton
from arcwise.factors.legal_rules import AtMostOne, Leaf, LegalRules, learned_rules, ud_rules
from arcwise.factors.legal_trees import LegalTrees, legal_trees
from arcwise.factors.siblings import Siblings

__all__ = [
    "AtMostOne",
    "FactoredTreeDistribution",
    "FactoredTreeDistributionBatch",
    "HeadAutomaton",
    "Leaf",
    "LegalRules",
    "LegalTrees",
    "Siblings",
    "learned_rules",
    "legal_trees",
    "ud_rules",
]
