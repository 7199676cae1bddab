"""What a parser is: the protocol, scorers, the options of a parse, its probabilities, how it is written to CoNLL-U."""

from arcwise.parsing.parser import Capabilities, ParseOptions, Parser
from arcwise.parsing.parses import Analysis, KBestParses, Note, Parses, Probabilities
from arcwise.parsing.scored import Decoding, ScoredParser, Temperatures
from arcwise.parsing.scorer import FunctionScorer, Scorer

__all__ = [
    "Analysis",
    "Capabilities",
    "Decoding",
    "FunctionScorer",
    "KBestParses",
    "Note",
    "ParseOptions",
    "Parser",
    "Parses",
    "Probabilities",
    "ScoredParser",
    "Scorer",
    "Temperatures",
]
