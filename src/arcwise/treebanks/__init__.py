"""Read, write and annotate CoNLL-U and CoNLL-X treebanks, preserving every byte that is not annotated."""

from arcwise.treebanks.coerce import as_treebank
from arcwise.treebanks.columns import COLUMNS, Coded, column_number
from arcwise.treebanks.files import open_input, open_output, read_bytes
from arcwise.treebanks.problems import Problem, ProblemKind
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.streaming import stream
from arcwise.treebanks.treebank import Treebank
from arcwise.treebanks.words import Token, Word, Words

__all__ = [
    "COLUMNS",
    "Coded",
    "Problem",
    "ProblemKind",
    "Sentence",
    "Token",
    "Treebank",
    "Word",
    "Words",
    "as_treebank",
    "column_number",
    "open_input",
    "open_output",
    "read_bytes",
    "stream",
]
