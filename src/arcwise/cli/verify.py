"""``arcwise verify``: check the certificate of an induced grammar."""

from __future__ import annotations

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo

FILES = Files(reads=("certificate", "corpus", "rules"))


def run(
    certificate: str = typer.Argument(..., help="File written by 'arcwise induce --certificate'."),
    corpus: str = typer.Argument(..., help="CoNLL-U file that the certificate is about."),
    constrain: float = typer.Option(
        0.0,
        help="Accept a proof about parses constrained by rules: the fraction of all arcs that follow "
        "them, as given to 'arcwise induce'. By default only a proof about all parses is accepted.",
        min=0.0,
        max=1.0,
    ),
    rules: str | None = typer.Option(
        None, help="With --constrain: file of rules (default: the universal rules of Naseem et al. 2010)."
    ),
    threads: int = typer.Option(1, help="Number of threads; does not affect the result.", min=1),
) -> None:
    """Verify a certificate: its parses have the stated likelihood, and no parses exceed the stated bound.

    The verifier shares no code with the search, needs no solver, and uses exact arithmetic. It prints what
    was proved, with the rules that constrain the parses, if any. The exit status is 0 if the certificate
    holds, and 1 if it does not (or concerns other parses than those you asked for); the message says why.
    """
    from arcwise.cli._support.corpus_tags import Selection, arc_share
    from arcwise.distributed.progress import ProgressLine
    from arcwise.errors import InputError
    from arcwise.induction.dmv import read_json
    from arcwise.induction.verifier import CertificateError, verify
    from arcwise.treebanks import Treebank

    constraint = arc_share(constrain, rules)
    data = read_json(certificate)
    selection = Selection.of(data)
    if selection is None:
        raise InputError(
            f"{certificate}: does not name its sentences; expected a certificate written by 'arcwise induce'"
        )
    tags = selection.tags(Treebank.read(corpus))
    echo(f"{len(tags)} sentences, {tags.words} words ({selection})")
    blocks = data.get("blocks")
    try:
        with ProgressLine() as line:
            proved = verify(
                data,
                tags.strings,
                constraint=constraint,
                threads=threads,
                progress=lambda done, total: line.count(done, total, "nodes" if blocks is None else "blocks"),
            )
    except CertificateError as error:
        echo(f"rejected: {error}", err=True)
        if data.get("constraint") is not None and constraint is None:
            echo(
                "use --constrain SHARE, and --rules FILE for rules of your own, to accept a proof about "
                "such parses",
                err=True,
            )
        raise typer.Exit(1) from None
    echo(f"verified: {proved.claim} (gap {100 * proved.gap:.2f} %); {proved.leaves} leaves")
