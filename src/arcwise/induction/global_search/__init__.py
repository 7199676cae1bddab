"""Search for the best grammar with a certificate of how good it is."""

from arcwise.induction.global_search.count import CountSearch
from arcwise.induction.global_search.count_options import CountOptions
from arcwise.induction.global_search.estimate import TreeEstimate, estimate_tree
from arcwise.induction.global_search.problem import Task
from arcwise.induction.global_search.result import Result, TracePoint
from arcwise.induction.global_search.search import induce_globally
from arcwise.induction.global_search.theta import ThetaOptions, ThetaSearch

__all__ = [
    "CountOptions",
    "CountSearch",
    "Result",
    "Task",
    "ThetaOptions",
    "ThetaSearch",
    "TracePoint",
    "TreeEstimate",
    "estimate_tree",
    "induce_globally",
]
