"""``arcwise coverage``: measure the share of a treebank that a transition system can build."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo

if TYPE_CHECKING:
    from arcwise.transition import TransitionSystem
    from arcwise.treebanks import Treebank

_LONGEST = 20_000  # words of a sentence that systems with unbounded capacity take
_MAX_BOUND = 1000  # of -K and -D

FILES = Files(reads=("treebank",), may_read=("system",), plots=("plot",))


def run(
    treebank: str = typer.Argument(..., help="CoNLL-U file with trees (- for standard input)."),
    system: list[str] | None = typer.Option(
        None,
        help="A name, a name with parameters such as 'bounded(K=4,D=3)', or a .toml file; may be "
        "repeated. [default: all named systems]",
    ),
    capacities: str | None = typer.Option(
        None, "-K", help="Try bounded systems with these capacities, e.g. 2-5,inf."
    ),
    distances: str | None = typer.Option(
        None, "-D", help="Try bounded systems with these arc distances, e.g. 1-4."
    ),
    single_root: bool = typer.Option(False, "--single-root", help="Require exactly one root."),
    show_arcs: int = typer.Option(0, help="Also list up to this many arcs that cannot be built."),
    plot: str | None = typer.Option(None, help="Plot coverage over K and D to this file (.svg, .png, .pdf)."),
    threads: int = typer.Option(1, help="Number of threads."),
) -> None:
    """Measure how much of a treebank each transition system can build: exact sentences, and arcs of the
    nearest tree.

    A sentence is covered if some transition sequence builds its tree. Otherwise the broken arcs are those
    missing from a similar tree that the system can build.
    """
    from arcwise.errors import InputError
    from arcwise.transition import every_named
    from arcwise.transition import system as parse_system
    from arcwise.transition.coverage import coverage, grid
    from arcwise.treebanks import Treebank

    if (capacities is None) != (distances is None):
        raise InputError("-K and -D: each needs the other")
    systems = [parse_system(text) for text in system or []]
    if capacities is not None and distances is not None:
        systems += grid(_numbers("-K", capacities, least=2), _numbers("-D", distances, least=1))
    systems = systems or [s for s in every_named() if not s.many_heads]
    data = Treebank.read(treebank)
    _check_lengths(systems, data)
    results = [coverage(s, data, single_root=single_root, threads=threads) for s in systems]
    width = max(len(s.name) for s in systems)
    echo(f"{'system':{width}}  {'sentences':>9}  {'arcs':>7}  {'broken':>7}")
    for s, result in zip(systems, results, strict=True):
        echo(f"{s.name:{width}}  {result.sentences:9.2%}  {result.arcs:7.2%}  {len(result.broken):7}")
    if show_arcs:
        from arcwise.transition.coverage import broken_arcs

        for result in results:
            for line in broken_arcs(result, data, at_most=show_arcs):
                echo(f"{result.system.name}: {line}")
    if plot:
        from arcwise.visual.plots import plot_coverage, save

        save(plot_coverage(results), plot)


def _check_lengths(systems: list[TransitionSystem], data: Treebank) -> None:
    """Refuse very long sentences where the number of transitions to consider is not bounded."""
    from arcwise.errors import InputError

    unbounded = next((s for s in systems if not s.is_linear), None)
    longest = int(data.sentence_lengths.argmax()) if len(data) else 0
    if unbounded is not None and len(data) and data.sentence_lengths[longest] > _LONGEST:
        line = data.line_at(int(data.layout.sentence_bytes[longest]))
        raise InputError(
            f"{data.source}:{line}: the sentence has {data.sentence_lengths[longest]} words; "
            f"{unbounded.name} takes quadratic time and at most {_LONGEST} words (see --system)"
        )


def _is_bound(text: str) -> bool:
    return text.isdecimal() and len(text) <= len(str(_MAX_BOUND)) and int(text) <= _MAX_BOUND


def _numbers(option: str, text: str, *, least: int) -> list[int | None]:
    """``2-4,inf`` as [2, 3, 4, None]."""
    from arcwise.errors import InputError

    numbers: list[int | None] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if part.strip() in ("inf", "∞"):
            numbers.append(None)
        elif _is_bound(first) and (not dash or _is_bound(last)) and int(first) >= least:
            numbers += range(int(first), int(last or first) + 1)
        else:
            raise InputError(
                f"{option}: found {text[:40]!r}, expected numbers from {least} to {_MAX_BOUND} such as "
                f"{least}-5,inf"
            )
    return numbers
