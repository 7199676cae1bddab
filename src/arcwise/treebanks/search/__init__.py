"""Search treebanks with a query language over words, trees and sentences, and edit all matches."""

from arcwise.treebanks.search.grew import looks_like_grew, translate_grew
from arcwise.treebanks.search.hit_list import HitList
from arcwise.treebanks.search.mass_edit import MassEdit, Plan, RefusedHit, with_edits
from arcwise.treebanks.search.query import Hit, Query, frequencies, hint_texts, read_table, table_rows, unseen
from arcwise.treebanks.search.syntax import QueryError
from arcwise.treebanks.search.values import Columns

__all__ = [
    "Columns",
    "Hit",
    "HitList",
    "MassEdit",
    "Plan",
    "Query",
    "QueryError",
    "RefusedHit",
    "frequencies",
    "hint_texts",
    "looks_like_grew",
    "read_table",
    "table_rows",
    "translate_grew",
    "unseen",
    "with_edits",
]
