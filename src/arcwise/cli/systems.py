"""``arcwise systems``: the properties of transition systems."""

from __future__ import annotations

import typer

from arcwise.cli._support.files import Files

FILES = Files(may_read=("system",))


def run(
    system: list[str] | None = typer.Option(
        None,
        help="Show only this system: a name, a name with parameters such as 'bounded(K=4,D=3)', or a "
        ".toml file; may be repeated.",
    ),
) -> None:
    """List transition systems with their parameters and properties.

    K is the number of active tokens, D the maximum distance between the ends of an arc (in tokens not yet
    attached). A projective system builds no crossing arcs; a linear one takes time proportional to sentence
    length; a DAG system may give a word several heads (column DEPS); dynamic means that there is a dynamic
    oracle, so that training can explore errors.
    """
    from rich.table import Table

    from arcwise.cli._support.output import print_tables
    from arcwise.transition import every_named
    from arcwise.transition import system as parse_system

    shown = [parse_system(text) for text in system] if system else every_named()
    table = Table(box=None, pad_edge=False)
    for heading in ("system", "transitions", "K", "D", "root", "projective", "linear", "DAG", "dynamic"):
        table.add_column(heading, justify="right" if heading in ("K", "D") else "left")
    for s in shown:
        table.add_row(
            s.name,
            " ".join(map(repr, s.transitions)),
            str(s.capacity or "∞"),
            str(s.max_distance or "∞"),
            s.root,
            *(
                "yes" if value else "no"
                for value in (s.is_projective, s.is_linear, s.many_heads, s.is_arc_decomposable)
            ),
        )
    print_tables(table, width=160)
