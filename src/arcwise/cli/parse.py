"""``arcwise parse``: trees for the sentences of a CoNLL-U file."""

from __future__ import annotations

from typing import Annotated

import typer


def run(
    input_file: Annotated[
        str, typer.Argument(metavar="INPUT", help="CoNLL-U file (.gz, .xz, - for standard input).")
    ] = "-",
    model: Annotated[str, typer.Option("--model", help="Model file of 'arcwise train'.")] = ...,  # type: ignore[assignment]
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write; - is standard output.")
    ] = "-",
    decode: Annotated[
        str | None,
        typer.Option(
            help="map: the best tree; mbr: the tree with the most expected right heads; max-z: with best latent clusters; greedy: the best head of each word, tree or not."
        ),
    ] = None,
    projective: Annotated[
        bool | None, typer.Option("--projective/--non-projective", help="Whether arcs may not cross.")
    ] = None,
    single_root: Annotated[
        bool | None, typer.Option("--single-root/--multi-root", help="Whether exactly one word is the root.")
    ] = None,
    k_best: Annotated[
        int, typer.Option("--k-best", min=1, help="Write the K best trees of every sentence, best first.")
    ] = 1,
    confidence: Annotated[
        bool,
        typer.Option(
            "--confidence",
            help="Write how sure the parser is: HeadProb and DeprelProb in MISC, tree_prob and tree_entropy in comments.",
        ),
    ] = False,
    keep_heads: Annotated[
        bool,
        typer.Option("--keep-heads", help="Keep the heads that the input has; parse the rest around them."),
    ] = False,
    beam: Annotated[int | None, typer.Option(min=1, help="Beam of a transition-based parser.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads; the result does not depend on them.")] = 1,
) -> None:
    """Parse the sentences of a CoNLL-U file: HEAD and DEPREL are written, everything else stays as it is."""
    from arcwise.learning.parser import ParseOptions, check_decoder
    from arcwise.pipeline.models import open_model
    from arcwise.treebanks import open_output, stream

    options = ParseOptions(
        check_decoder(decode), projective, single_root, k_best, confidence, keep_heads, beam
    )
    parser = open_model(model)
    with open_output(output) as target:
        for batch in stream(input_file):
            target.write(parser.parse(batch, options=options, threads=threads).data)
