"""Trace a greedy derivation step by step: operative tokens, input, arcs, and scored moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arcwise import native
from arcwise.errors import InputError
from arcwise.transition.oracle import Move, State, start
from arcwise.transition.parser import TransitionParser
from arcwise.treebanks import Treebank


@dataclass(frozen=True)
class ScoredMove:
    """A legal move, its score, and a readable form such as ``left-arc(det) The ← cat``."""

    move: Move
    score: float
    words: str


@dataclass(frozen=True)
class Step:
    """One state of a derivation: operative tokens, remaining input, arcs so far, and legal moves."""

    operative: tuple[int, ...]
    active: tuple[int, ...]
    """The operative tokens that a move may involve."""
    input: tuple[int, ...]
    arcs: tuple[tuple[int, int, str], ...]
    """Head, modifier, label."""
    moves: tuple[ScoredMove, ...]
    """Legal moves, the best (and chosen) one first; empty in the final state."""


@dataclass(frozen=True)
class Trace:
    """A greedy derivation of one sentence."""

    system: str
    tokens: tuple[str, ...]
    """The forms, with the root as token 0."""
    steps: tuple[Step, ...]


def trace(parser: TransitionParser, treebank: Treebank, *, sentence: int = 0, alternatives: int = 8) -> Trace:
    """Replay the greedy parse of one sentence with all scores.

    ``alternatives``: number of moves to keep per step.
    """
    if not 0 <= sentence < len(treebank):
        raise InputError(f"sentence: found {sentence}, expected 0..{len(treebank) - 1}")
    model = parser.model
    tokens = ("(root)", *treebank[sentence].forms)
    view = model.look_alikes.view(treebank)
    data = native.TransitionData(model.scorer, *view.fields)
    state = start(model.system, len(tokens) - 1, single_root=model.config.single_root)
    labels: dict[tuple[int, int], str] = {}
    steps = []
    while True:
        scored = native.transition_scored_moves(model.scorer, data, sentence, state, False)
        moves = [ScoredMove(Move(*m[:4]), m[4], _words(parser, tokens, Move(*m[:4]))) for m in scored]
        moves.sort(key=lambda m: -m.score)
        steps.append(_step(parser, state, labels, moves[:alternatives]))
        if state.is_final or not moves:
            return Trace(model.system.name, tokens, tuple(steps))
        best = moves[0].move
        arc = _arc(parser, best)
        if arc is not None:
            labels[arc] = model.labels[best.label] if model.labels else ""
        state = state.after(best)


def _step(
    parser: TransitionParser, state: State, labels: dict[tuple[int, int], str], moves: Sequence[ScoredMove]
) -> Step:
    operative = tuple(state.operative)
    capacity = parser.model.system.capacity or len(operative)
    arcs = tuple((h, m, label) for (h, m), label in sorted(labels.items(), key=lambda item: item[0][1]))
    return Step(operative, operative[-capacity:], tuple(state.input), arcs, tuple(moves))


def _arc(parser: TransitionParser, move: Move) -> tuple[int, int] | None:
    kind = parser.model.system.transitions[move.transition].kind
    if kind == "left-arc":
        return move.right, move.left
    return (move.left, move.right) if kind == "right-arc" else None


def _words(parser: TransitionParser, tokens: Sequence[str], move: Move) -> str:
    kind = parser.model.system.transitions[move.transition].kind
    if kind == "shift":
        return kind
    if kind == "reduce":
        return f"{kind} {tokens[move.left]}"
    label = f"({parser.model.labels[move.label]})" if parser.model.labels else ""
    arrow = "←" if kind == "left-arc" else "→"
    return f"{kind}{label} {tokens[move.left]} {arrow} {tokens[move.right]}"


def trace_text(derivation: Trace) -> str:
    """The derivation as plain text, one block per step, with active tokens in brackets."""
    tokens = derivation.tokens
    lines = [f"system {derivation.system}: {' '.join(tokens[1:])}", ""]
    for number, step in enumerate(derivation.steps):
        operative = " ".join(f"[{tokens[t]}]" if t in step.active else tokens[t] for t in step.operative)
        lines.append(
            f"{number:3}  O: {operative or '–'}   U: {' '.join(tokens[t] for t in step.input) or '–'}"
        )
        lines += [
            f"     {'→' if k == 0 else ' '} {m.score:10.3f}  {m.words}" for k, m in enumerate(step.moves)
        ]
    lines += [
        "",
        *(f"     {tokens[h]} → {tokens[m]}  {label}" for h, m, label in derivation.steps[-1].arcs),
    ]
    return "\n".join(lines) + "\n"
