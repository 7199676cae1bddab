"""Regular expressions in bounded time: whether one matches anywhere in a text.

Python's ``re`` backtracks, and needs exponential time for ``^(a+)+$``. Here its parser reads the expression,
and a set of states runs over the text (Thompson, "Regular expression search algorithm", CACM 1968), as an
automaton that is built while it runs: O(text × expression). Backreferences need backtracking; the number of
its steps is bounded. ``re`` itself is many times faster, and takes the texts on which it needs few steps.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from typing import Any

from arcwise.errors import InputError

# The parser and the compiler of ``re`` have no public names; these two exist since Python 3.11.
if sys.version_info >= (3, 11):
    _parser: Any = re._parser  # type: ignore[attr-defined]
    _compiler: Any = re._compiler  # type: ignore[attr-defined]
else:
    import sre_compile as _compiler
    import sre_parse as _parser

_MAX_INSTRUCTIONS = 5_000  # counted repetitions are written out: x{1000} is 1000 instructions
_MAX_TRANSITIONS = 1 << 16  # of the automaton; beyond them it restarts
_MAX_STEPS = 200_000  # of backtracking in one text
_MAX_STEPS_OF_SEARCH = 1_000_000  # of backtracking in all texts of a search: some seconds
_FEW_STEPS = 1e6  # re does as many in a few milliseconds
_ATOM_OPS = ("LITERAL", "NOT_LITERAL", "ANY", "IN")
_ONLY_AT_ENDS = ("AT_BEGINNING", "AT_BEGINNING_STRING", "AT_END", "AT_END_STRING")


class RegexError(InputError):
    """A regular expression that is malformed, too large or not supported."""


class _Kind(Enum):
    CHARACTER = auto()
    SPLIT = auto()
    ASSERT = auto()
    SAVE = auto()
    BACKREFERENCE = auto()
    MATCH = auto()


@dataclass
class _Instruction:
    """One step of a program. ``targets`` are the next steps, the preferred one first."""

    kind: _Kind
    targets: list[int] = field(default_factory=list)
    argument: Any = None


_Test = Callable[[str], bool]
_Assertion = Callable[[str], Sequence[bool]]
"""For a text, whether the assertion holds at each of its positions, its end included."""


class _Character:
    """Whether one character matches an item such as ``[a-z]``, as ``re`` itself decides."""

    def __init__(self, node: Any, flags: int) -> None:
        self._matches = _pattern_of(node, flags).fullmatch
        self._seen: dict[str, bool] = {}

    def __call__(self, character: str) -> bool:
        if character not in self._seen:
            self._seen[character] = self._matches(character) is not None
        return self._seen[character]


def _pattern_of(node: Any, flags: int) -> re.Pattern[str]:
    """A compiled pattern of a single parsed item."""
    state = _parser.State()
    state.flags, state.str = flags, ""
    pattern: re.Pattern[str] = _compiler.compile(_parser.SubPattern(state, [node]), flags)
    return pattern


class _Program:
    """The instructions of an expression; ``reverse`` reads the text from its end."""

    def __init__(self, nodes: Any, flags: int, *, reverse: bool = False) -> None:
        self.instructions: list[_Instruction] = []
        self.assertions: list[_Assertion] = []
        self.only_at_ends = True
        self.groups: set[int] = set()
        self.backreferences: set[int] = set()
        self.reverse = reverse
        ends = self._sequence(nodes, flags, [])
        self._join(ends, self._add(_Kind.MATCH))
        if not self.backreferences <= self.groups:
            raise RegexError(
                "a backreference between a lookahead or lookbehind and the rest is not supported"
            )

    def _add(self, kind: _Kind, argument: Any = None) -> int:
        if len(self.instructions) >= _MAX_INSTRUCTIONS:
            raise RegexError("it is too large; use smaller numbers of repetitions")
        self.instructions.append(_Instruction(kind, [], argument))
        return len(self.instructions) - 1

    def _join(self, ends: list[int], target: int) -> None:
        for end in ends:
            self.instructions[end].targets.append(target)

    def _sequence(self, nodes: Any, flags: int, ends: list[int]) -> list[int]:
        """Append items in sequence after the open ``ends``; return the open ends of the last."""
        for node in reversed(nodes) if self.reverse else nodes:
            ends = self._item(node, flags, ends)
        return ends

    def _item(self, node: Any, flags: int, ends: list[int]) -> list[int]:
        name, value = str(node[0]), node[1]
        if name in _ATOM_OPS:
            return self._single(_Kind.CHARACTER, _Character(node, flags), ends)
        if name == "AT":
            return self._single(_Kind.ASSERT, self._anchor(node, flags), ends)
        if name in ("ASSERT", "ASSERT_NOT"):
            return self._single(_Kind.ASSERT, self._lookaround(node, flags), ends)
        if name == "SUBPATTERN":
            return self._group(value, flags, ends)
        if name == "BRANCH":
            split = self._add(_Kind.SPLIT)
            self._join(ends, split)
            return [end for branch in value[1] for end in self._sequence(branch, flags, [split])]
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._repeat(value, flags, ends, greedy=name == "MAX_REPEAT")
        if name == "GROUPREF":
            self.backreferences.add(value)
            return self._single(_Kind.BACKREFERENCE, (value, bool(flags & re.IGNORECASE)), ends)
        raise RegexError("atomic groups, possessive repetitions and conditions on groups are not supported")

    def _single(self, kind: _Kind, argument: Any, ends: list[int]) -> list[int]:
        instruction = self._add(kind, argument)
        self._join(ends, instruction)
        return [instruction]

    def _group(self, value: Any, flags: int, ends: list[int]) -> list[int]:
        group, added, removed, nodes = value
        flags = (flags | added) & ~removed
        if group is None:
            # One instruction, so that an empty group has a distinct end.
            return self._sequence(nodes, flags, self._single(_Kind.SPLIT, None, ends))
        self.groups.add(group)
        inside = self._sequence(nodes, flags, self._single(_Kind.SAVE, 2 * group, ends))
        return self._single(_Kind.SAVE, 2 * group + 1, inside)

    def _repeat(self, value: Any, flags: int, ends: list[int], *, greedy: bool) -> list[int]:
        low, high, nodes = value
        for _ in range(low):
            ends = self._sequence(nodes, flags, ends)
        if high == _parser.MAXREPEAT:
            split = self._add(_Kind.SPLIT)
            self._join(ends, split)
            return [*self._optional(nodes, flags, split, greedy=greedy, loop=True)]
        skipped: list[int] = []
        for _ in range(high - low):
            split = self._add(_Kind.SPLIT)
            self._join(ends, split)
            *ends, leave = self._optional(nodes, flags, split, greedy=greedy, loop=False)
            skipped.append(leave)
        return ends + skipped

    def _optional(self, nodes: Any, flags: int, split: int, *, greedy: bool, loop: bool) -> list[int]:
        """The item behind ``split``, and last the open end that passes it by; a loop returns to ``split``."""
        leave = self._add(_Kind.SPLIT) if not greedy else -1
        if not greedy:
            self._join([split], leave)
        inside = self._sequence(nodes, flags, [split])
        if greedy:
            leave = self._add(_Kind.SPLIT)
            self._join([split], leave)
        if loop:
            self._join([end for end in inside if end != split], split)
            return [leave]
        return [*inside, leave]

    def _anchor(self, node: Any, flags: int) -> int:
        if str(node[1]) not in _ONLY_AT_ENDS or flags & re.MULTILINE:
            self.only_at_ends = False
        match = _pattern_of(node, flags).match
        self.assertions.append(lambda text: _Lazy(lambda at: match(text, at) is not None))
        return len(self.assertions) - 1

    def _lookaround(self, node: Any, flags: int) -> int:
        direction, nodes = node[1]
        # What follows a position is found from the end of the text, what precedes it from the start.
        program = _Program(nodes, flags, reverse=direction > 0)
        if program.backreferences:
            raise RegexError("a backreference inside a lookahead or lookbehind is not supported")
        automaton = _Automaton(program)
        expected = str(node[0]) == "ASSERT"
        self.assertions.append(lambda text: [held == expected for held in automaton.ends(text)])
        self.only_at_ends = False
        return len(self.assertions) - 1


class _Lazy(Sequence[bool]):
    """A sequence whose items are computed when they are read."""

    def __init__(self, compute: Callable[[int], bool]) -> None:
        self._compute = compute

    def __getitem__(self, at: Any) -> Any:
        return self._compute(at)

    def __len__(self) -> int:
        raise TypeError("it has no length")


class _Automaton:
    """Runs a program as a deterministic automaton over sets of instructions, built on demand."""

    def __init__(self, program: _Program) -> None:
        self._program = program
        self._clear()

    def _clear(self) -> None:
        self._transitions: dict[tuple[int, str, int], int] = {}
        self._numbers: dict[tuple[frozenset[int], bool], int] = {}
        self._states: list[tuple[frozenset[int], bool]] = []

    def found(self, text: str) -> bool:
        """Whether the program matches anywhere."""
        return any(self._run(text))

    def ends(self, text: str) -> list[bool]:
        """At each position, whether a match ends there (reversed: whether one starts)."""
        held = list(self._run(text))
        return held[::-1] if self._program.reverse else held

    def _run(self, text: str) -> Any:
        """Yield, position by position, whether a match has ended."""
        length = len(text)
        tables = [assertion(text) for assertion in self._program.assertions]
        only_at_ends, reverse = self._program.only_at_ends, self._program.reverse
        letters = reversed(text) if reverse else text

        def holding(count: int) -> int:
            """The assertions that hold after this many letters, as bits."""
            at = length - count if reverse else count
            if not tables or (only_at_ends and 0 < at < length - 1):
                return 0
            return sum(1 << number for number, table in enumerate(tables) if table[at])

        number = self._number(*self._closed([0], holding(0)))
        yield self._states[number][1]
        for count, letter in enumerate(letters, 1):
            bits = holding(count)
            key = (number, letter, bits)
            following = self._transitions.get(key)
            if following is None:
                following = self._step(number, letter, bits)
                if len(self._transitions) >= _MAX_TRANSITIONS:
                    state = self._states[following]
                    self._clear()
                    following = self._number(*state)
                else:
                    self._transitions[key] = following
            number = following
            yield self._states[number][1]

    def _number(self, states: frozenset[int], matched: bool) -> int:
        key = (states, matched)
        if key not in self._numbers:
            self._numbers[key] = len(self._states)
            self._states.append(key)
        return self._numbers[key]

    def _step(self, number: int, letter: str, bits: int) -> int:
        code = self._program.instructions
        targets = [0]  # a match can start anywhere
        for state in self._states[number][0]:
            if code[state].argument(letter):
                targets += code[state].targets
        return self._number(*self._closed(targets, bits))

    def _closed(self, agenda: list[int], bits: int) -> tuple[frozenset[int], bool]:
        """The instructions that read a character, reachable without one; and whether there is a match."""
        code = self._program.instructions
        seen, reading, matched = set(agenda), [], False
        while agenda:
            at = agenda.pop()
            kind = code[at].kind
            if kind is _Kind.CHARACTER:
                reading.append(at)
            elif kind is _Kind.MATCH:
                matched = True
            elif kind is not _Kind.ASSERT or bits >> code[at].argument & 1:
                new = [target for target in code[at].targets if target not in seen]
                seen.update(new)
                agenda += new
        return frozenset(reading), matched


@dataclass
class StepBudget:
    """The steps of backtracking that are left to a search; many texts can each need many."""

    left: int = _MAX_STEPS_OF_SEARCH

    def take(self) -> None:
        """Count one step."""
        self.left -= 1
        if self.left < 0:
            raise RegexError(f"it takes more than {_MAX_STEPS_OF_SEARCH} steps in one search")


def _backtrack(program: _Program, text: str, budget: StepBudget) -> bool:
    """Whether a program with backreferences matches anywhere; an error after too many steps."""
    tables = [assertion(text) for assertion in program.assertions]
    code = program.instructions
    steps = 0
    for start in range(len(text) + 1):
        # A configuration that was tried before has failed: this also ends loops that read nothing.
        seen: set[tuple[int, int, tuple[tuple[int, int], ...]]] = set()
        agenda: list[tuple[int, int, tuple[tuple[int, int], ...]]] = [(0, start, ())]
        while agenda:
            configuration = agenda.pop()
            if configuration in seen:
                continue
            seen.add(configuration)
            steps += 1
            budget.take()
            if steps > _MAX_STEPS:
                raise RegexError(f"it takes more than {_MAX_STEPS} steps on a text of {len(text)} characters")
            at, position, saved = configuration
            instruction = code[at]
            if instruction.kind is _Kind.MATCH:
                return True
            if instruction.kind is _Kind.CHARACTER:
                if position >= len(text) or not instruction.argument(text[position]):
                    continue
                position += 1
            elif instruction.kind is _Kind.ASSERT:
                if not tables[instruction.argument][position]:
                    continue
            elif instruction.kind is _Kind.SAVE:
                slots = {**dict(saved), instruction.argument: position}
                saved = tuple(sorted(slots.items()))
            elif instruction.kind is _Kind.BACKREFERENCE:
                end = _after_group(text, position, dict(saved), *instruction.argument)
                if end is None:
                    continue
                position = end
            agenda += [(target, position, saved) for target in reversed(instruction.targets)]
    return False


def _after_group(
    text: str, position: int, saved: dict[int, int], group: int, ignore_case: bool
) -> int | None:
    """The position after a repetition of what a group matched; None if it does not follow."""
    first, last = saved.get(2 * group), saved.get(2 * group + 1)
    if first is None or last is None or last < first:
        return None
    captured, repeated = text[first:last], text[position : position + last - first]
    same = captured.lower() == repeated.lower() if ignore_case else captured == repeated
    return position + last - first if same else None


@dataclass(frozen=True)
class _Paths:
    """At most ``factor`` × n ** ``degree`` ways to match an item from one position of n characters."""

    factor: float = 1
    degree: int = 0

    def then(self, other: _Paths) -> _Paths:
        return _Paths(self.factor * other.factor, self.degree + other.degree)


def _paths(nodes: Any) -> _Paths:
    """The ways in which ``re`` could match a sequence; infinitely many where repetitions are nested."""
    paths = _Paths()
    for node in nodes:
        name, value = str(node[0]), node[1]
        if name == "SUBPATTERN":
            paths = paths.then(_paths(value[3]))
        elif name == "BRANCH":
            branches = [_paths(branch) for branch in value[1]]
            factor = sum(branch.factor for branch in branches)
            paths = paths.then(_Paths(factor, max(branch.degree for branch in branches)))
        elif name in ("ASSERT", "ASSERT_NOT"):
            paths = paths.then(_paths(value[1]))
        elif name == "GROUPREF":
            paths = paths.then(_Paths(1, 1))  # one way, but n characters are compared
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            low, high, repeated = value
            is_single = len(repeated) == 1 and str(repeated[0][0]) in _ATOM_OPS
            paths = paths.then(
                _Paths(1, 1) if is_single else _Paths(float("inf")) if low < high else _Paths()
            )
            for _ in range(min(low, 20) if low == high and not is_single else 0):
                paths = paths.then(_paths(repeated))
            if low == high > 20 and not is_single:
                return _Paths(float("inf"))
        elif name not in (*_ATOM_OPS, "AT"):
            return _Paths(float("inf"))
    return paths


def _longest_for_re(nodes: Any) -> int:
    """The length up to which ``re`` needs few steps: it tries all ways from all positions."""
    paths = _paths(nodes)
    factor = paths.factor * max(nodes.getwidth()[0], 1)  # characters that each way compares
    return int((_FEW_STEPS / factor) ** (1 / (paths.degree + 1))) if factor < _FEW_STEPS else -1


@dataclass(frozen=True)
class Expression:
    """A regular expression, made by ``compiled``; called with a text, whether it matches anywhere in it."""

    search: Callable[[str], object]
    longest: int
    """The length up to which ``re`` needs few steps."""
    program: _Program
    automaton: _Automaton | None
    """None for a program with backreferences."""

    def __call__(self, text: str, budget: StepBudget | None = None) -> bool:
        """Whether it matches; ``budget`` bounds the backtracking in several texts together."""
        if len(text) <= self.longest:
            return self.search(text) is not None
        if self.automaton is not None:
            return self.automaton.found(text)
        return _backtrack(self.program, text, budget or StepBudget())


@lru_cache(maxsize=64)
def compiled(regex: str) -> Expression:
    """Read an expression; raises ``RegexError``.

    >>> matches = compiled("^(a+)+$")
    >>> matches("a" * 1000), matches("a" * 1000 + "!")
    (True, False)
    """
    try:
        parsed = _parser.parse(regex)
        program = _Program(parsed, parsed.state.flags)
    except re.error as error:
        raise RegexError(error.msg) from None
    except OverflowError:
        raise RegexError("a number of repetitions is too large") from None
    except RecursionError:
        raise RegexError("its groups are nested too deeply") from None
    automaton = None if program.backreferences else _Automaton(program)
    return Expression(re.compile(regex).search, _longest_for_re(parsed), program, automaton)
