"""Regular expressions of queries: the same answers as Python's re, in bounded time."""

from __future__ import annotations

import random
import re

import pytest

from arcwise import Treebank
from arcwise.errors import InputError
from arcwise.treebanks.search import Query
from arcwise.treebanks.search import regex as module
from arcwise.treebanks.search.regex import RegexError, compiled

ITEMS = [
    "a",
    "b",
    "A",
    ".",
    "[ab]",
    "[^a]",
    r"\w",
    r"\d",
    r"\s",
    r"\b",
    r"\B",
    "^",
    "$",
    r"\A",
    r"\Z",
    "é",
    "",
]
REPETITIONS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}?", "{2,}"]
AROUND = ["(?=%s)", "(?!%s)", "(?<=%s)", "(?<!%s)", "(?i:%s)", "(?m:%s)", "(?s:%s)"]


def random_regex(chance: random.Random, depth: int = 0) -> str:
    """An expression in which repetitions are nested at most twice, so that re is fast too."""
    kind = chance.randrange(7)
    if depth == 2 or kind < 2:
        return chance.choice(ITEMS)
    inner = random_regex(chance, depth + 1)
    if kind == 2:
        return inner + random_regex(chance, depth + 1)
    if kind == 3:
        return f"(?:{inner}|{random_regex(chance, depth + 1)})"
    if kind == 4:
        return chance.choice(AROUND) % inner
    return f"({inner}){chance.choice(REPETITIONS)}"


@pytest.mark.parametrize("seed", range(8))
def test_expressions_match_where_re_matches(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # No text is left to re.
    monkeypatch.setattr(module, "_FEW_STEPS", 0)
    compiled.cache_clear()
    chance = random.Random(seed)
    compared = 0
    while compared < 1500:
        pattern = random_regex(chance) + random_regex(chance)
        if chance.random() < 0.2:
            pattern = rf"({chance.choice(ITEMS)}{chance.choice(REPETITIONS)}){pattern}\1"
        pattern = "(?i)" * (chance.random() < 0.1) + pattern
        try:
            expected = re.compile(pattern)
        except re.error:  # a lookbehind without a fixed width, a repeated anchor
            continue
        matches = compiled(pattern)
        for _ in range(6):
            text = "".join(chance.choice("abAB \n1éx") for _ in range(chance.randrange(8)))
            assert matches(text) == (expected.search(text) is not None), (pattern, text)
            compared += 1
    compiled.cache_clear()


@pytest.mark.parametrize(
    "pattern, text",
    [
        ("^(a+)+$", "a" * 50_000 + "!"),
        ("(x+x+)+y", "x" * 50_000),
        ("a*b", "a" * 200_000),
        ("(a?){30}a{30}", "a" * 29),
        ("(a|a|aa)+b", "a" * 50_000),
        ("(?=(a+)+$)b", "a" * 20_000),
        (r"^(\w+\s?)*$", "a" * 50_000 + "!"),
    ],
)
def test_backtracking_expressions_take_linear_time(pattern: str, text: str) -> None:
    assert not compiled(pattern)(text)


@pytest.mark.slow
def test_a_backreference_that_takes_too_many_steps_is_one_line() -> None:
    assert compiled(r"^(.+)\1$")("walawala")
    with pytest.raises(RegexError, match="it takes more than 200000 steps on a text of 60 characters"):
        compiled(r"^((a+)+)+\1b$")("a" * 60)
    treebank = Treebank.from_string(f"1\t{'a' * 60}\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(InputError, match=r"^query: form~.*: it takes more than"):
        list(Query.parse(r'form~"^((a+)+)+\1b$"').hits(treebank))


@pytest.mark.slow
def test_backtracking_in_many_texts_is_bounded_together() -> None:
    """Each of these words is below the bound of one text; a treebank has thousands of words."""
    words = ["a" * n + "b" for n in range(100, 200)]
    treebank = Treebank.from_string("".join(f"1\t{w}\t_\tX\t_\t_\t0\troot\t_\t_\n\n" for w in words))
    assert not compiled(r"^(a+)+\1\1$")(words[0])
    with pytest.raises(InputError, match=r"^query: form~.*: it takes more than 1000000 steps in one search"):
        list(Query.parse(r'form~"^(a+)+\1\1$"').hits(treebank))
    # The next search has its own bound.
    assert not list(Query.parse(r'form~"^(a+)+\1\1$"').hits(treebank[:3]))


@pytest.mark.parametrize(
    "pattern, message",
    [
        ("a{99999999999}", "a number of repetitions is too large"),
        ("(a{1000}){1000}", "it is too large"),
        ("(" * 5000 + "a" + ")" * 5000, "nested too deeply"),
        ("(a)(?(1)b|c)", "not supported"),
        (r"(?=(a))\1", "backreference between a lookahead"),
        (r"(a)(?=\1)", "backreference between a lookahead"),
        ("[", "unterminated"),
    ],
)
def test_expressions_that_cannot_run_are_errors_of_the_query(pattern: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Query.parse(f'form~"{pattern}"')


def test_the_automaton_forgets_states_beyond_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MAX_TRANSITIONS", 16)
    monkeypatch.setattr(module, "_FEW_STEPS", 0)
    compiled.cache_clear()
    matches = compiled("(a|b)+c.{3}d$")
    text = "".join(random.Random(1).choice("abcd") for _ in range(2000))
    expected = re.compile("(a|b)+c.{3}d$")
    for end in range(0, 2000, 97):
        assert matches(text[:end]) == (expected.search(text[:end]) is not None)
    compiled.cache_clear()
