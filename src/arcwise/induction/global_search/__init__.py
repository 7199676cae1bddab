"""Global search for the most likely grammar, with a certificate of its optimality gap."""

from arcwise.deprecation import renamed
from arcwise.induction.global_search.count import CountSearch
from arcwise.induction.global_search.estimate import TreeEstimate, estimate_tree
from arcwise.induction.global_search.options import CountOptions, ThetaOptions
from arcwise.induction.global_search.problem import InductionTask, Result, TracePoint
from arcwise.induction.global_search.search import induce_globally
from arcwise.induction.global_search.theta import ThetaSearch

__all__ = [
    "CountOptions",
    "CountSearch",
    "InductionTask",
    "Result",
    "ThetaOptions",
    "ThetaSearch",
    "TracePoint",
    "TreeEstimate",
    "estimate_tree",
    "induce_globally",
]

__getattr__ = renamed(__name__, {"Task": "arcwise.induction.global_search:InductionTask"})
