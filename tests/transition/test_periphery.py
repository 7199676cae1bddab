"""The control parameters of Bohnet et al. (2016), section 3.4, against an engine written from that section.

The engine below knows O, U and arcs only. It shares no code with the kernels or with the exhaustive twin.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from arcwise.errors import InputError
from arcwise.transition import (
    State,
    Transition,
    TransitionConfig,
    TransitionParser,
    TransitionSystem,
    system,
)
from arcwise.transition import start as native_start
from arcwise.treebanks import Treebank


class Configuration(NamedTuple):
    operative: tuple[int, ...]
    """From the right: O[1] first."""
    unread: tuple[int, ...]
    arcs: frozenset[tuple[int, int]]


def initial(chosen: TransitionSystem, n: int) -> Configuration:
    tokens = (0, *range(1, n + 1)) if chosen.root == "left" else (*range(1, n + 1), 0)
    populated = chosen.start or chosen.capacity or len(tokens)  # K, unless the system says otherwise
    return Configuration(tokens[:populated][::-1], tokens[populated:], frozenset())


def active(chosen: TransitionSystem, configuration: Configuration) -> tuple[int, ...]:
    """{O[min(|O|, K)], ..., O[1]}."""
    size = len(configuration.operative)
    return configuration.operative[: min(size, chosen.capacity or size)]


def steps(chosen: TransitionSystem, c: Configuration) -> Iterator[tuple[tuple[int, int, int], Configuration]]:
    """Each legal transition as (its number, left token, right token), and what it leads to."""
    tokens = active(chosen, c)
    heads = {modifier: head for head, modifier in c.arcs}
    for number, t in enumerate(chosen.transitions):
        if t.kind == "shift" and c.unread:
            yield (number, -1, -1), Configuration((c.unread[0], *c.operative), c.unread[1:], c.arcs)
        elif t.kind == "reduce":
            for token in tokens:
                if token in heads and at_periphery(t, tokens, token, token):
                    yield (number, token, -1), without(c, token)
        elif t.is_arc:
            for j, right in enumerate(tokens):
                for i, left in enumerate(tokens):
                    if i <= j or i - j > (chosen.max_distance or len(tokens)):
                        continue
                    head, modifier = (right, left) if t.kind == "left-arc" else (left, right)
                    if not at_periphery(t, tokens, left, right) or modifier == 0 or modifier in heads:
                        continue
                    if modifier in ancestors(head, heads):
                        continue
                    following = c._replace(arcs=c.arcs | {(head, modifier)})
                    if t.bottom_up:
                        following = without(following, modifier)
                    if t.arc_shift and c.unread:
                        following = following._replace(
                            operative=(c.unread[0], *following.operative), unread=c.unread[1:]
                        )
                    yield (number, left, right), following


def at_periphery(t: Transition, tokens: tuple[int, ...], left: int, right: int) -> bool:
    match t.periphery:
        case "left":
            return tokens[-1] in (left, right)
        case "right":
            return tokens[0] in (left, right)
        case "not-right":
            return tokens[0] not in (left, right)
    return True


def without(c: Configuration, token: int) -> Configuration:
    return c._replace(operative=tuple(t for t in c.operative if t != token))


def ancestors(token: int, heads: dict[int, int]) -> set[int]:
    above = {token}
    while token in heads:
        token = heads[token]
        above.add(token)
    return above


def random_system(generator: random.Random) -> TransitionSystem:
    """Any setting of all control parameters that arcwise accepts."""
    peripheries = ("none", "left", "right", "not-right")

    def transition(kind: Any) -> Transition:
        if kind == "shift":
            return Transition("shift")
        periphery: Any = generator.choice(peripheries)
        if kind == "reduce":
            return Transition("reduce", periphery=periphery)
        return Transition(kind, generator.random() < 0.6, generator.random() < 0.3, periphery)

    kinds = ["left-arc", "right-arc", *generator.choices(["left-arc", "right-arc", "reduce", "shift"], k=3)]
    try:
        return TransitionSystem(
            tuple(transition(kind) for kind in kinds),
            generator.choice([2, 3, 4, None]),
            generator.choice([1, 2, None]),
            root=generator.choice(["left", "right"]),
            start=generator.choice([None, 2]),
        )
    except InputError:
        return random_system(generator)


@pytest.mark.parametrize("seed", range(240))
def test_a_random_system_moves_as_the_paper_defines(seed: int) -> None:
    chosen = random_system(random.Random(seed))
    for n in (1, 2, 3):
        agree_everywhere(chosen, native_start(chosen, n, single_root=False), initial(chosen, n), n)


def agree_everywhere(chosen: TransitionSystem, state: State, c: Configuration, n: int) -> None:
    """The same moves in every configuration that any moves lead to."""
    waiting, seen = [(state, c)], set()
    while waiting:
        state, c = waiting.pop()
        if c in seen:
            continue
        seen.add(c)
        assert tuple(reversed(state.operative)) == c.operative
        assert tuple(state.input) == c.unread
        following = dict(steps(chosen, c))
        may_reduce = any(chosen.transitions[number].kind == "reduce" for number, _, _ in following)
        if not c.unread and len(c.arcs) == n and not may_reduce:
            assert state.is_final
            continue
        assert {tuple(move)[:3] for move in state.moves()} == set(following)
        waiting += [(state.after((*move, 0)), after) for move, after in following.items()]


def test_the_left_periphery_is_the_leftmost_active_token_while_there_is_input() -> None:
    """With two tokens of at most three in O the leftmost one is the second, not an empty third place."""
    arcs = Transition("left-arc", periphery="left"), Transition("right-arc", periphery="left")
    chosen = TransitionSystem((*arcs, Transition("shift")), 3, 1, root="right", start=2)
    moves = native_start(chosen, 3, single_root=False).moves()
    assert {tuple(move)[:3] for move in moves} == {(0, 1, 2), (1, 1, 2), (2, -1, -1)}


@pytest.mark.parametrize("name", ["hybrid", "dag"])
def test_a_model_file_from_before_the_left_periphery_was_defined_parses_the_same(
    name: str, tmp_path: Path
) -> None:
    text = "\n".join(f"{m}\tw{m}\t_\tX\t_\t_\t{h}\tdep\t{h}:dep\t_" for m, h in enumerate([2, 0, 2], 1))
    treebank = Treebank.from_string(text + "\n\n")
    config = TransitionConfig(system=name, epochs=1, move_bits=8, label_bits=6)
    parser = TransitionParser.train(treebank, config=config)
    packed = parser.model.pack()
    transitions = packed.header["system"]["transition"]
    former = [{**t, "periphery": "left"} if t.get("periphery") == "not-right" else t for t in transitions]
    header = {k: v for k, v in packed.header.items() if k != "left_periphery"}
    header["system"] = {**header["system"], "transition": former}
    older = type(parser.model).unpack(type(packed)(packed.kind, packed.version, header, packed.arrays))
    assert older.system == system(name)
    assert type(parser.model).unpack(packed).system == system(name)
