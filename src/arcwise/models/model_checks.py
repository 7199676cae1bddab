"""Checks of a model when it is opened: values, ranges, and references between its parts.

Components check their parts when they are built. These checks cover errors that would otherwise appear only
while parsing, as an exception in the middle of a text or a read outside an array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from arcwise.errors import ModelError
from arcwise.learning.model_file import Packed
from arcwise.parsing.parser import DECODERS, Parser
from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.files import PathLike


def check_packed(packed: Packed) -> None:
    """Check a model before it is rebuilt; raises ``ModelError``."""
    if not isinstance(packed.header, Mapping):
        raise _damaged(packed, "the header is not an object")
    for name, values in packed.arrays.items():
        # Grammars have logarithms of 0; the shape of a network checks its arrays.
        is_exempt = packed.kind in ("dmv", "neural")
        if values.dtype.kind == "f" and not is_exempt and not np.isfinite(values).all():
            raise _damaged(packed, f"array {name!r} has values that are not finite")
    check = _PACKED.get(packed.kind)
    if check is not None:
        check(packed)


def check_parser(parser: Parser, packed: Packed) -> None:
    """Check a model after it was rebuilt; raises ``ModelError``."""
    checked: Any = parser
    check = _REBUILT.get(packed.kind)
    if check is not None:
        check(checked, packed)


def _damaged(packed: Packed, reason: str) -> ModelError:
    return ModelError(f"{packed.path}: is a damaged {packed.kind} model ({reason})")


# ---- before


def _check_graph(packed: Packed) -> None:
    alphabets = packed.header["alphabets"]
    atoms = alphabets["atoms"]
    if not (type(alphabets["word_atom"]) is int and 0 <= alphabets["word_atom"] < len(atoms)):
        raise _damaged(packed, f"word_atom: found {alphabets['word_atom']!r}, expected a place in atoms")
    _check_names(packed, "tags", alphabets["tags"])
    _check_names(packed, "labels", alphabets["labels"])
    _check_bits(packed, "config", ("arc_bits", "row_bits"))


def _check_siblings(packed: Packed) -> None:
    _check_graph(packed)
    _check_bits(packed, "config", ("sibling_bits",), of="siblings")


def _check_transition(packed: Packed) -> None:
    _check_names(packed, "labels", packed.header["labels"])
    _check_bits(packed, "config", ("move_bits", "label_bits"))


def _check_neural(packed: Packed) -> None:
    _check_names(packed, "labels", packed.header["labels"])


def _check_grammar(packed: Packed) -> None:
    _check_names(packed, "tags", packed.header["tags"])


def _check_pipeline(packed: Packed) -> None:
    _check_tagger(packed, packed.header["tagger"])
    card = packed.header.get("card")
    if not (card is None or isinstance(card, Mapping)):
        raise _damaged(packed, "card: expected an object")


def _check_tag_averaged(packed: Packed) -> None:
    for tagger in packed.header["taggers"]:
        _check_tagger(packed, tagger)
    if not isinstance(packed.header["report"], Mapping):
        raise _damaged(packed, "report: expected an object")


def _check_tagger(packed: Packed, tagger: Mapping[str, Any]) -> None:
    _check_names(packed, "upos", tagger["upos"])
    for name in ("bundles_of_state", "scripts_of_upos"):
        # The tagger chooses one of them for each word.
        if not all(isinstance(numbers, list) and numbers for numbers in tagger[name]):
            raise _damaged(packed, f"{name}: found an empty list")
    for _, xpos in tagger["states"]:
        if not (xpos is None or isinstance(xpos, str)):
            raise _damaged(packed, f"states: found XPOS {xpos!r}, expected text")
    if not all(isinstance(value, str) for bundle in tagger["bundles"] for value in bundle):
        raise _damaged(packed, "bundles: expected pairs of texts")
    kinds = [str, int, int, str, str, bool]
    for script in tagger["scripts"]:
        if [type(part) for part in script] != kinds or script[0] not in ("l", "k", "t"):
            raise _damaged(packed, f"scripts: found {script!r}, expected a lemma script")
    for length, *affixes in tagger.get("script_fits", ()):
        texts = [isinstance(part, list) and all(isinstance(text, str) for text in part) for part in affixes]
        if type(length) is not int or not 0 <= length < 2**16 or texts != [True, True]:
            raise _damaged(packed, "script_fits: expected a number and two lists of texts for each script")


_PACKED: Mapping[str, Callable[[Packed], None]] = {
    "graph": _check_graph,
    "siblings": _check_siblings,
    "transition": _check_transition,
    "neural": _check_neural,
    "dmv": _check_grammar,
    "pipeline": _check_pipeline,
    "tag-averaged": _check_tag_averaged,
}


def _check_names(packed: Packed, name: str, values: Sequence[Any]) -> None:
    """Codes stand for these names, which are written into a column."""
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) and value for value in values):
        raise _damaged(packed, f"{name}: expected a list of texts")
    if len(set(values)) < len(values):
        raise _damaged(packed, f"{name}: found one twice")
    for value in values:
        if any(character in value for character in "\t\n\r\x00"):
            raise _damaged(packed, f"{name}: found {value!r}, expected one without tabs and line breaks")


def _check_bits(packed: Packed, part: str, names: Sequence[str], *, of: str = "weights") -> None:
    """A table of hashed weights must fit the bits stored of it, before memory is reserved for it."""
    bits = [packed.header[part].get(name, 0) for name in names]
    if not all(type(value) is int and 0 <= value <= 40 for value in bits):
        raise _damaged(packed, f"{' and '.join(names)}: found {bits}")
    stored = 8 * packed.array(f"{of}.bits").size
    if max(2**value for value in bits) > stored:
        raise _damaged(packed, f"{of}: found {stored} cells, expected at least {2 ** max(bits)}")


# ---- after


def _check_scored(parser: Any, packed: Packed) -> None:
    """A parser over scores: its decoder, its calibration and its weights."""
    decoding, warm = parser.decoding, parser.temperatures
    if decoding.decode not in DECODERS:
        raise _damaged(packed, f"decode: found {decoding.decode!r}, expected one of {', '.join(DECODERS)}")
    if type(decoding.projective) is not bool or type(decoding.single_root) is not bool:
        raise _damaged(packed, "decoding: expected projective and single_root to be true or false")
    values = [float(value) for value in (warm.heads, warm.labels, warm.smoothing)]
    if not (all(map(math.isfinite, values)) and values[0] > 0 and values[1] > 0 and values[2] >= 0):
        raise _damaged(packed, f"temperatures: found {values}, expected positive, finite numbers")


def _check_graph_parser(parser: Any, packed: Packed) -> None:
    _check_scored(parser, packed)
    _check_finite(parser, packed)


def _check_sibling_parser(parser: Any, packed: Packed) -> None:
    _check_graph_parser(parser, packed)
    if not np.isfinite(parser.model.siblings).all():
        raise _damaged(packed, "siblings: found some that are not finite")


def _check_transition_parser(parser: Any, packed: Packed) -> None:
    _check_finite(parser, packed)
    if not (math.isfinite(parser.model.temperature) and parser.model.temperature > 0):
        raise _damaged(packed, f"temperature: found {parser.model.temperature}, expected a positive number")


def _check_finite(parser: Any, packed: Packed) -> None:
    if not np.isfinite(parser.model.weights).all():
        raise _damaged(packed, "weights: found some that are not finite")


def _check_neural_parser(parser: Any, packed: Packed) -> None:
    _check_scored(parser, packed)
    expected = parser.model.shape.arrays
    for number, member in enumerate(parser.model.members):
        scales = {f"{name}.scale" for name, values in member.items() if values.dtype == np.int8}
        for name in member:
            if name not in expected and name not in scales:
                raise _damaged(packed, f"array 'member.{number}.{name}': the network has none of that name")


def check_column(column: str, path: PathLike) -> None:
    """Check the column that a grammar reads its tags from; raises ``ModelError``."""
    if column not in COLUMNS:
        reason = f"column: found {column[:100]!r}, expected one of {', '.join(COLUMNS)}"
        raise ModelError(f"{path}: is a damaged dmv model ({reason})")


def _check_grammar_parser(parser: Any, packed: Packed) -> None:
    check_column(parser.column, packed.path)


_REBUILT: Mapping[str, Callable[[Any, Packed], None]] = {
    "graph": _check_graph_parser,
    "siblings": _check_sibling_parser,
    "transition": _check_transition_parser,
    "neural": _check_neural_parser,
    "dmv": _check_grammar_parser,
    "tag-averaged": _check_scored,
}
