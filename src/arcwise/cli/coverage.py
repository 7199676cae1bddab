"""``arcwise coverage``: how much of a treebank a transition system can build."""

from __future__ import annotations

import typer

from arcwise.cli._support.files import Files

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
    distances: str | None = typer.Option(None, "-D", help="… and these arc distances, e.g. 1-4."),
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
        raise InputError("-K and -D: found one of them, expected both")
    systems = [parse_system(text) for text in system or []]
    if capacities is not None and distances is not None:
        systems += grid(_numbers("-K", capacities, least=2), _numbers("-D", distances, least=1))
    systems = systems or [s for s in every_named() if not s.many_heads]
    data = Treebank.read(treebank)
    results = [coverage(s, data, single_root=single_root, threads=threads) for s in systems]
    width = max(len(s.name) for s in systems)
    typer.echo(f"{'system':{width}}  {'sentences':>9}  {'arcs':>7}  {'broken':>7}")
    for s, result in zip(systems, results, strict=True):
        typer.echo(f"{s.name:{width}}  {result.sentences:9.2%}  {result.arcs:7.2%}  {len(result.broken):7}")
    if show_arcs:
        from arcwise.transition.coverage import broken_arcs

        for result in results:
            for line in broken_arcs(result, data, at_most=show_arcs):
                typer.echo(f"{result.system.name}: {line}")
    if plot:
        from arcwise.visual.plots import plot_coverage, save

        save(plot_coverage(results), plot)


def _numbers(option: str, text: str, *, least: int) -> list[int | None]:
    """``2-4,inf`` as [2, 3, 4, None]."""
    from arcwise.errors import InputError

    numbers: list[int | None] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if part.strip() in ("inf", "∞"):
            numbers.append(None)
        elif first.isdecimal() and (not dash or last.isdecimal()) and int(first) >= least:
            numbers += range(int(first), int(last or first) + 1)
        else:
            raise InputError(
                f"{option}: found {text!r}, expected numbers from {least} up such as {least}-5,inf"
            )
    return numbers
