"""``arcwise verify``: check the certificate of an induced grammar."""

from __future__ import annotations

from typing import Annotated

import typer

from arcwise.cli._support.files import Files

FILES = Files(reads=("certificate", "corpus", "rules"))


def run(
    certificate: Annotated[
        str, typer.Argument(help="The file that 'arcwise induce --certificate' wrote.", show_default=False)
    ],
    corpus: Annotated[str, typer.Argument(help="The CoNLL-U file it is about.", show_default=False)],
    constrain: Annotated[
        float,
        typer.Option(
            help="The proof is about parses that keep to rules, and you know it: the share of all arcs that follow them, as it was given "
            "to 'arcwise induce'. Without, only a proof about all parses is accepted.",
            min=0.0,
            max=1.0,
        ),
    ] = 0.0,
    rules: Annotated[
        str | None,
        typer.Option(
            help="With --constrain: the file of rules (else the universal rules of Naseem et al. 2010).",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[
        int, typer.Option(help="Processor cores to use; the outcome does not depend on them.", min=1)
    ] = 1,
) -> None:
    """Check a certificate: that its parses are as likely as it says, and that none are likelier than it says.

    The check shares no code with the search, needs no solver, and computes in exact arithmetic. What was proved is printed, with the
    rules that the parses keep to, if there are any. The exit status is 0 if the certificate holds, 1 if it does not (or is about
    other parses than you asked for); the message says why.
    """
    from arcwise.cli._support.corpus_tags import Selection, arc_share
    from arcwise.cli._support.search_progress import ProgressLine
    from arcwise.errors import InputError
    from arcwise.induction.dmv import read_json
    from arcwise.induction.verifier import CertificateError, verify
    from arcwise.treebanks import Treebank

    wanted = arc_share(constrain, rules)
    data = read_json(certificate)
    selection = Selection.of(data)
    if selection is None:
        raise InputError(
            f"{certificate}: does not say which sentences it is about; 'arcwise induce' writes that"
        )
    chosen = selection.tags(Treebank.read(corpus))
    typer.echo(f"{len(chosen)} sentences, {chosen.words} words ({selection})")
    blocks = data.get("blocks")
    try:
        with ProgressLine() as line:
            proved = verify(
                data,
                chosen.strings,
                constraint=wanted,
                threads=threads,
                progress=lambda done, total: line.count(done, total, "nodes" if blocks is None else "blocks"),
            )
    except CertificateError as error:
        typer.echo(f"rejected: {error}", err=True)
        if data.get("constraint") is not None and wanted is None:
            typer.echo(
                "--constrain SHARE, and --rules FILE if they are your own, ask for the proof about such parses",
                err=True,
            )
        raise typer.Exit(1) from None
    typer.echo(f"verified: {proved.claim} (gap {100 * proved.gap:.2f} %); {proved.leaves} leaves")
