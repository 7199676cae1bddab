"""Searching treebanks: a small query language over words, trees and sentences, and edits of all that a query finds."""

from arcwise.treebanks.search.query import Hit, Query
from arcwise.treebanks.search.syntax import QueryError
from arcwise.treebanks.search.values import Columns

__all__ = ["Columns", "Hit", "Query", "QueryError"]
