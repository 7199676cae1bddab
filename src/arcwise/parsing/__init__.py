"""What a parser is: the protocol, the options of a parse, its probabilities, how it is written to CoNLL-U."""

from arcwise.parsing.parser import ParseOptions, Parser

__all__ = ["ParseOptions", "Parser"]
