"""Search for the best grammar with a certificate of how good it is."""

from arcwise.induction.global_search.count import CountOptions
from arcwise.induction.global_search.result import Result, TracePoint
from arcwise.induction.global_search.search import induce_globally

__all__ = ["CountOptions", "Result", "TracePoint", "induce_globally"]
