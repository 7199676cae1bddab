"""Planted faults: each changes one line of the search, and what the slow twin says must then differ, or a
named test fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest
from hypothesis import Phase, settings

from arcwise.treebanks.search import Query
from faults.python_faults import planted
from treebanks.search import test_bounds, test_mass_edit, test_odd_treebanks
from treebanks.search.every_query import every_query, fixed_treebank
from treebanks.search.test_against_slow_search import treebank_of

Case = tuple[str, list[tuple[int, dict[str, int]]]]


@dataclass(frozen=True)
class Fault:
    """``old`` is replaced by ``new`` in a function of arcwise.treebanks.search."""

    function: str
    old: str
    new: str
    test: Callable[[], object] | None = None
    """What must then fail; without it, the search of the pool of queries."""


FAULTS = [
    Fault("query_parser.QueryParser._without", "if name not in self.matched_names\n", "if True\n"),
    Fault("query_parser.QueryParser._negated", "negated=True", "negated=False"),
    Fault("query_parser.ConditionParser._bounds", "else None if match[2] else low", "else low"),
    Fault("query_parser.ConditionParser._condition", "return Not(exists) if negated else "
        "exists", "return exists"),
    Fault("query_parser.ConditionParser._label", '"~", (regex,)', '"!~", (regex,)'),
    Fault("syntax.Scanner.values", "values.append(self.value())", "self.value()"),
    Fault("matching.evaluate_test", "return ~_equal(test, values)", "return _equal(test, values)"),
    Fault("matching._is_one_of", "np.isnan(numbers) if value == MISSING "
        "else", "False if value == MISSING else"),
    Fault("matching._bounded", "compiled(test.values[0])", "compiled('^' + test.values[0])"),
    Fault("matching._combined", "return ~holds(part.condition)", "return holds(part.condition)"),
    Fault("matching.has_related", "relation.kind is "
        "RelationKind.DESCENDANT:", "relation.kind is RelationKind.ANCESTOR:"),
    Fault("matching.has_related", "flags & label if label is not None", "flags if label is not None"),
    Fault("matching.ancestors", "relation.low - 1", "relation.low"),
    Fault("matching.ancestors", "relation.high)", "None)"),
    Fault("matching._has_descendant", "ancestors(relation,", "ancestors(Relation(RelationKind.DESCENDANT, "
        "1, relation.high),"),
    Fault(
        "matching._has_ancestor",
        "ancestors(relation,",
        "ancestors(Relation(RelationKind.ANCESTOR, relation.low, (relation.high or 99) + 1),",
    ),
    Fault("matching._has_sibling", "- right > 0", "> 0"),
    Fault("matching.window", "np.minimum(left + relation.low, end)", "np.minimum(left + 1, end)"),
    Fault("matching.window", "np.minimum(left + high + 1, end)", "np.minimum(left + high, end)"),
    Fault("matching.window", "np.maximum(left - relation.low + 1, "
        "first)", "np.maximum(left - relation.low, first)"),
    Fault("matching.holds", "& (families[left] >= 0)", ""),
    Fault("matching.holds", "return flags if label is None else flags & label[right]", "return flags"),
    Fault("matching.holds", "ancestors(relation,", "ancestors(Relation(RelationKind.DESCENDANT, 1, "
        "relation.high),"),
    Fault("matching.RelationIndex.pairs", "different = right != left[rows]", "different = right == right"),
    Fault("matching.RelationIndex._ancestor_pairs", "ancestors(self.relation,", "ancestors(Relation(RelationKind.ANCESTOR, 1, self.relation.high),"),
    Fault("matching._by_ancestor", "ancestors(relation,", "ancestors(Relation(RelationKind.DESCENDANT, "
        "relation.low, (relation.high or 99) + 1),"),
    Fault("joining._without", "matches.at(~join", "matches.at(join"),
    Fault("joining._ordered", "order = np.lexsort(", "order = np.arange(len(matches.sentence)) if True else "
        "np.lexsort("),
    Fault("joining._Join._with_next_word", "if self.distinct:", "if False:"),
    Fault("joining._Join._check_label", "or lower in self.candidates:", "or True:"),
    Fault("joining._Join._filtered", "hold != link.negated", "hold"),
    Fault("joining._Join._filtered", "rows = rows.at(_compared(", "(_compared("),
    Fault("joining._compared", 'flags if operator == "=" else ~flags', "flags"),
    Fault("joining._compared", '(equal == (operator == "=="))', "equal",
          lambda: test_bounds.test_two_missing_values_are_equal_and_other_operators_require_both()),
    Fault("joining._compared", "& ~missing_left & ~missing_right", "",
          lambda: test_bounds.test_two_missing_values_are_equal_and_other_operators_require_both()),
    Fault("joining._Join.extend", "for start in reversed(starts)", "for start in starts",
          lambda: test_bounds.test_a_sentence_with_very_many_matches_is_searched_in_parts_and_in_order(pytest.MonkeyPatch())),
    Fault("joining._Join.blocks", 'int(np.searchsorted(sentences, last, '
        'side="right"))', "min(start + _BLOCK, len(words))",
          lambda: blocks_fail()),
    Fault("values.Columns.family", "self.size + self.sentence", "self.size"),
    Fault("values.Columns.step", "positions + 1 < self.end, positions + 1, "
        "-1", "positions + 1 < self.size, positions + 1, -1"),
    Fault("values.Columns.step", "positions > self.first, positions - 1, "
        "-1", "positions > 0, positions - 1, -1"),
    Fault("values.Columns.depth", "steps[:-1] + 1.0", "steps[:-1] + 2.0"),
    Fault("values.Columns._tops", "np.where(self.up[above] >= 0, -1, above)", "above",
          lambda: test_odd_treebanks.test_cycles_and_impossible_heads_end("projective=no")),
    Fault("values._comment", "return value.strip()", "return value"),
    Fault("values._comments", "lines.clear()", "pass", test_odd_treebanks.test_comments_are_those_of_the_sentence),
    Fault("values.value_of_key", "if name == key", "if name != key"),
    Fault("mass_edit._Draft.apply", "reason = self._conflict(place, values)", "reason = None",
          test_mass_edit.test_hits_that_clash_are_told_and_the_first_stands),
    Fault("mass_edit._Draft._head_problem", "if not cycle:", "if True:",
          lambda: test_mass_edit.test_heads_that_make_no_tree_are_refused("1.head=@2", "words 1 -> 2 -> 1 "
              "would form a cycle")),
    Fault("mass_edit._Draft._head_problem", "{**earlier, **new}", "new", lambda: edits_fail()),
    Fault("mass_edit._Draft.edits", "if text != self._original((word, column))", "",
          test_mass_edit.test_what_is_so_already_is_no_edit),
    Fault("mass_edit.with_key", "k.lower() > key.lower()", "False", lambda: edits_fail()),
    Fault("mass_edit.with_key", "[] if value == MISSING else", "", lambda: edits_fail()),
]  # fmt: skip


@cache
def pool() -> list[Case]:
    """Every kind of query, with what the slow twin finds."""
    sentences = fixed_treebank()
    return [(query.text, list(query.hits(sentences))) for query in every_query()]


def pool_fails() -> None:
    treebank = treebank_of(fixed_treebank())
    for text, expected in pool():
        assert [(h.sentence, h.words) for h in Query.parse(text).hits(treebank)] == expected, text


def blocks_fail() -> None:
    with pytest.MonkeyPatch.context() as patch:
        test_odd_treebanks.test_hits_come_in_blocks_that_make_no_difference(patch)


def edits_fail() -> None:
    edits = settings(
        max_examples=200, derandomize=True, deadline=None, database=None, phases=[Phase.generate]
    )(test_mass_edit.test_any_edit)
    edits()


def test_without_a_fault_the_pool_is_as_expected() -> None:
    assert sum(bool(expected) for _, expected in pool()) > 200
    pool_fails()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.function}: {f.old[:40]}")
def test_a_fault_is_caught(fault: Fault) -> None:
    module, _, function = fault.function.partition(".")
    planting = planted(f"arcwise.treebanks.search.{module}", function, fault.old, fault.new)
    with planting, pytest.raises(Exception):  # noqa: B017, PT011 - an error is noticed, too
        (fault.test or pool_fails)()
