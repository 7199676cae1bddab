"""``arcwise search``: find words and trees with a query, count them, edit the matches."""

from __future__ import annotations

import typer

from arcwise.cli._support.files import Files

FILES = Files(reads=("files",), writes=("output",))


def run(
    query: str = typer.Argument(..., help="Query, in single quotes: 'upos=VERB > nsubj'."),
    files: list[str] = typer.Argument(..., help="CoNLL-U files (.gz, .xz, - for standard input)."),
    count: bool = typer.Option(False, "--count", help="Print only the number of hits."),
    conllu: bool = typer.Option(
        False, "--conllu", help="Write the sentences with a hit, each once and unchanged."
    ),
    json: bool = typer.Option(False, "--json", help="Print hits, counts or a table as JSON."),
    table: str | None = typer.Option(
        None, help="Frequency table of values among the hits: properties such as 2.lemma or upos,2.deprel."
    ),
    max_hits: int = typer.Option(0, help="Stop after this many hits; 0 shows all.", min=0),
    changes: str | None = typer.Option(
        None,
        "--set",
        help="Edit the hits of one file: '2.deprel=obl; feats.Case=Nom'. The whole treebank is written "
        "to --output.",
    ),
    preview: bool = typer.Option(
        False, "--preview", help="With --set: show the changes without writing anything."
    ),
    output: str = typer.Option(
        "-", "--output", "-o", help="Output file of --set and --conllu (- for standard output)."
    ),
) -> None:
    """Find words and trees with a query.

    'upos=VERB lemma=go' finds words, 'upos=VERB > nsubj' verbs with their subjects, 'upos=VERB > nsubj
    [upos=PRON] > obj' those with a pronoun as subject and with an object, '[upos=VERB !> obj]' verbs without
    object, 'upos=DET . upos=VERB' a determiner right before a verb. Words are numbered 1, 2, … in the order
    of the query, or named: '@v[upos=VERB] > nsubj @s; @v .. @s'. '->' is an arc of the enhanced graph (DEPS),
    'empty=yes' an empty node of it: '[empty=yes] -> nsubj'. See docs/reference/search.md for the full query
    language, with examples.

    Each hit is a line, path:line (sent_id): the sentence, with the matched words in brackets. Files are never
    edited in place: --set writes the edited treebank to --output.
    """
    from arcwise.cli._support import search_output as show
    from arcwise.treebanks.search import MassEdit, Query, read_table

    show.check_options(count=count, conllu=conllu, json=json, table=table, changes=changes, preview=preview)
    show.check_output_option(output, conllu=conllu, changes=changes, files=files)
    if changes is not None:
        edit = MassEdit.parse(query, changes)
        if preview:
            show.print_preview(edit, files[0])
        else:
            show.write_edited(edit, files[0], output)
        return
    parsed = Query.parse(query)
    if count:
        show.print_counts(parsed, files, as_json=json)
    elif table is not None:
        show.print_table(parsed, files, read_table(table, parsed.names), as_json=json)
    elif conllu:
        show.write_sentences(parsed, files, output, most=max_hits)
    else:
        show.print_hits(parsed, files, as_json=json, most=max_hits)
