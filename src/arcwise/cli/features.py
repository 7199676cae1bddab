"""``arcwise features``: the feature templates of the graph-based parser."""

from __future__ import annotations

import typer

from arcwise.cli._support.files import Files

ALIASES = {"feature_columns": "feature_column"}
"""Argument of the library → option, where they differ."""

FILES = Files(reads=("config",), may_read=("model",))


def run(
    model: str | None = typer.Option(
        None, help="Show the templates of this model instead of the built-in ones."
    ),
    config: str | None = typer.Option(None, help="Show the templates of this TOML file."),
    feature_column: list[str] | None = typer.Option(
        None, help="Include templates for an additional column, e.g. MISC:Cluster."
    ),
) -> None:
    """Print the feature templates of the graph-based parser as TOML, to edit and pass to 'arcwise train
    --config'.

    h is the head, m the modifier; h-1 is the word before the head, m< the nearest frequent word left of the
    modifier; between.set is the set of tags between them. The part after @ says what the feature is combined
    with: nothing, direction, or distance (with direction).
    """
    from arcwise.graph.config import GraphConfig
    from arcwise.graph.table import template_lines
    from arcwise.learning.config import from_dict, from_toml

    options = {"feature_columns": feature_column or None}
    if model is not None:
        from arcwise.graph import GraphParser

        alphabets = GraphParser.load(model).model.alphabets
        arc, label = list(alphabets.arc_templates), list(alphabets.label_templates)
    else:
        templates = (
            from_toml(GraphConfig, config, **options)
            if config
            else from_dict(GraphConfig, {k: v for k, v in options.items() if v})
        )
        arc, label = template_lines(templates)
    for name, lines, comment in (
        ("arc_templates", arc, "one weight, for the arc"),
        ("label_templates", label, "a weight for the arc and one for each label"),
    ):
        typer.echo(f"# {comment}\n{name} = [")
        for line in lines:
            typer.echo(f'  "{line}",')
        typer.echo("]")
