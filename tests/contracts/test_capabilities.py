"""A parser says what it can do: what its capabilities promise works, what they lack is refused by name."""

from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from arcwise.errors import InputError
from arcwise.inference import TreeDistributionBatch
from arcwise.parsing import Capabilities, ParseOptions, Parser
from arcwise.parsing.parser import DECODERS
from arcwise.treebanks import Treebank
from contracts.every_parser import PARSERS
from contracts.small_treebank import small_treebank

PROBES: dict[str, tuple[Any, ...]] = {
    "decode": DECODERS,
    "projective": (True, False),
    "single_root": (True, False),
    "k_best": (3,),
    "confidence": (True,),
    "keep": (("upos",), ("head",), ("deps",)),
    "keep_heads": (True,),
    "misc_constraints": (True,),
    "alternatives": (2,),
    "legal": ("ud",),
    "beam": (1, 4),
    "device": ("cpu",),
    "max_words": (3, 1000),
}
"""Values of every option of a parse, to ask for."""
ASKED = [(name, value) for name, values in PROBES.items() for value in values]


@pytest.fixture(params=PARSERS.values(), ids=PARSERS, scope="module")
def parser(request: pytest.FixtureRequest) -> Parser:
    return request.param()  # type: ignore[no-any-return]


def promised(can: Capabilities, name: str, value: Any) -> bool:
    """Whether the capabilities promise this value of an option."""
    if name == "keep":
        return set(value) <= set(can.keep)
    if name == "max_words":  # every parser takes sentences of any length
        return True
    said = getattr(can, {"decode": "decoders", "misc_constraints": "constraints"}.get(name, name))
    return value in said if isinstance(said, tuple) else said


def test_every_option_of_a_parse_is_asked_for() -> None:
    assert set(PROBES) == {field.name for field in fields(ParseOptions)}


@pytest.mark.parametrize("name, value", ASKED)
def test_what_is_promised_works_and_what_is_not_is_refused(parser: Parser, name: str, value: Any) -> None:
    treebank = small_treebank()
    options = ParseOptions(**{name: value})
    if not promised(parser.capabilities, name, value):
        shown = ", ".join(value) if name == "keep" else value
        with pytest.raises(InputError, match=rf"{name.replace('_', '.')}: found {shown}, which a .* parser"):
            parser.parse(treebank, options=options)
    elif (name, value) == ("decode", "greedy"):
        assert len(parser.parse(treebank, options=options).data) > 0  # best heads need not be trees
    else:
        parsed = parser.parse(treebank, options=options)
        assert [s.forms for s in parsed if is_first(s)] == [s.forms for s in treebank]
        check(name, value, treebank, parsed)


def is_first(sentence: Any) -> bool:
    """Whether a sentence is no further tree of the one before."""
    return sentence.comments.get("parse_rank", "1") == "1"


def check(name: str, value: Any, treebank: Treebank, parsed: Treebank) -> None:
    """What the option promises is seen in the parse."""
    for sentence in parsed:
        assert sentence.tree.is_complete
        if (name, value) == ("projective", True):
            assert sentence.tree.is_projective
        if (name, value) == ("single_root", True):
            assert len(sentence.tree.roots) == 1
    if name == "k_best":
        found = [(s.text, int(s.comments["parse_rank"]), float(s.comments["parse_score"])) for s in parsed]
        assert sum(rank == 1 for _, rank, _ in found) == len(treebank)
        assert all(0 <= float(s.comments["tree_prob"]) <= 1 for s in parsed)
        for (_, rank, score), (_, following, next_score) in pairwise(found):
            assert following in (1, rank + 1)
            assert following <= value
            assert following == 1 or next_score <= score
        trees = [(text, *s.heads, *s.deprels) for (text, _, _), s in zip(found, parsed, strict=True)]
        assert len(set(trees)) == len(trees)
    if name == "confidence":
        said = [float(m.split("HeadProb=")[1].split("|")[0]) for m in parsed.column("misc")]
        assert min(said) > 0
        assert max(said) <= 1
    if name == "keep_heads":
        assert parsed.heads.tolist() == treebank.heads.tolist()
        assert parsed.column("deprel") == treebank.column("deprel")
    if name == "keep":
        assert all(parsed.column(column) == treebank.column(column) for column in value)
    if name == "alternatives":
        assert all("Alternatives=" in misc for misc in parsed.column("misc"))


def test_heads_that_are_kept_are_those_of_the_input_and_the_rest_is_a_tree(parser: Parser) -> None:
    treebank = small_treebank()
    wanted = np.full(treebank.word_count, -1, np.int32)
    wanted[0] = 3  # "The" hangs on the verb, against everything learned
    known = treebank.annotate(heads=wanted)
    options = ParseOptions(keep_heads=True)
    if not parser.capabilities.keep_heads:
        with pytest.raises(InputError, match=r"keep.heads: found True"):
            parser.parse(known, options=options)
        return
    parsed = parser.parse(known, options=options)
    assert parsed.heads[0] == 3
    assert parser.capabilities.writes == "graphs" or all(sentence.tree.is_complete for sentence in parsed)


def test_distributions_are_there_exactly_if_promised(parser: Parser) -> None:
    assert hasattr(parser, "distributions") == parser.capabilities.distributions
    if parser.capabilities.distributions:
        own: Any = parser
        trees = own.distributions(small_treebank())
        assert isinstance(trees, TreeDistributionBatch)
        assert len(trees) == len(small_treebank())
        assert (np.asarray(trees.log_prob(trees.best())) <= 0).all()


def test_it_writes_trees_or_graphs_and_leaves_the_rest(parser: Parser) -> None:
    treebank = small_treebank()
    blank = treebank.annotate(
        heads=np.full(treebank.word_count, -1, np.int32), deprel=["_"] * treebank.word_count
    )
    parsed = parser.parse(blank)
    if parser.capabilities.writes == "graphs":
        assert "_" not in parsed.column("deps")
        assert set(parsed.column("head")) == set(parsed.column("deprel")) == {"_"}
    else:
        assert set(parsed.column("deps")) == {"_"}
        assert all(sentence.tree.is_complete for sentence in parsed)
    assert parsed.column("form") == treebank.column("form")


def test_a_parser_without_any_capability_refuses_every_option() -> None:
    for name, value in ASKED:
        if name == "max_words":
            continue  # takes nothing of a parser
        with pytest.raises(InputError, match=r"which a plain parser does not (support|keep)"):
            ParseOptions(**{name: value}).check("plain", Capabilities(keep=()))
    ParseOptions().check("plain", Capabilities())
