"""Checking treebanks against CoNLL-U and Universal Dependencies: rules with names, reasons and repairs."""

from arcwise.treebanks.validation.checks import MAX_LEVEL, check_files, check_sentence, check_treebank
from arcwise.treebanks.validation.consistency import (
    Inconsistency,
    Occurrence,
    Variant,
    find_inconsistencies,
)
from arcwise.treebanks.validation.findings import Finding, Repair
from arcwise.treebanks.validation.inventory import RELATIONS, UPOS_TAGS, Inventory
from arcwise.treebanks.validation.language import LANGUAGE_FILE, LanguageData, find_language, language_file
from arcwise.treebanks.validation.rules import RULES, Rule

__all__ = [
    "LANGUAGE_FILE",
    "MAX_LEVEL",
    "RELATIONS",
    "RULES",
    "UPOS_TAGS",
    "Finding",
    "Inconsistency",
    "Inventory",
    "LanguageData",
    "Occurrence",
    "Repair",
    "Rule",
    "Variant",
    "check_files",
    "check_sentence",
    "check_treebank",
    "find_inconsistencies",
    "find_language",
    "language_file",
]
