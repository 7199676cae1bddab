"""Grammar induction with the DMV: EM, Viterbi EM, and global search with certificates of optimality."""

from arcwise.induction.constraints import UNIVERSAL_RULES, ArcShare
from arcwise.induction.corpus import TagSentences
from arcwise.induction.dmv import DMV, Features
from arcwise.induction.em import LocalSearch, em, viterbi_em
from arcwise.induction.global_search import Result, induce_globally

__all__ = [
    "DMV",
    "UNIVERSAL_RULES",
    "ArcShare",
    "Features",
    "LocalSearch",
    "Result",
    "TagSentences",
    "em",
    "induce_globally",
    "viterbi_em",
]
