"""Exact inference beyond arcs: factors over the dependents of a head, and legal trees."""

from arcwise.factors.batch import FactoredTreeDistributionBatch
from arcwise.factors.distribution import FactoredTreeDistribution
from arcwise.factors.eisner_siblings import (
    eisner_siblings_decode,
    eisner_siblings_log_partition,
    eisner_siblings_marginals,
)
from arcwise.factors.head_automaton import HeadAutomaton
from arcwise.factors.legal_rules import AtMostOne, Leaf, LegalRules, learned_rules, ud_rules
from arcwise.factors.legal_trees import LegalTrees, legal_trees
from arcwise.factors.sibling_trees import CertifiedTree, best_tree_with_siblings
from arcwise.factors.siblings import Siblings

__all__ = [
    "AtMostOne",
    "CertifiedTree",
    "FactoredTreeDistribution",
    "FactoredTreeDistributionBatch",
    "HeadAutomaton",
    "Leaf",
    "LegalRules",
    "LegalTrees",
    "Siblings",
    "best_tree_with_siblings",
    "eisner_siblings_decode",
    "eisner_siblings_log_partition",
    "eisner_siblings_marginals",
    "learned_rules",
    "legal_trees",
    "ud_rules",
]
