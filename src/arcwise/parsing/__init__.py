"""Parsers: the protocol, scorers, parse options, parses with probabilities, and their CoNLL-U form."""

from arcwise.parsing.ensemble import MarginalEnsemble
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
    "MarginalEnsemble",
    "Note",
    "ParseOptions",
    "Parser",
    "Parses",
    "Probabilities",
    "ScoredParser",
    "Scorer",
    "Temperatures",
]
