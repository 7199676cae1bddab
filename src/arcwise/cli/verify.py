"""``arcwise verify``: check the certificate of an induced grammar."""

from __future__ import annotations

from typing import Annotated

import typer

from arcwise.cli.files import Files

FILES = Files(reads=("certificate", "corpus"))


def run(
    certificate: Annotated[
        str, typer.Argument(help="The file that 'arcwise induce --certificate' wrote.", show_default=False)
    ],
    corpus: Annotated[str, typer.Argument(help="The CoNLL-U file it is about.", show_default=False)],
) -> None:
    """Check a certificate: that its parses are as likely as it says, and that none are likelier than it says.

    The check shares no code with the search, needs no solver, and computes in exact arithmetic. The exit status is 0 if the
    certificate holds, 1 if it does not; the message says why.
    """
    from arcwise.errors import InputError
    from arcwise.induction.corpus import TagSentences
    from arcwise.induction.dmv import read_json
    from arcwise.induction.verifier import CertificateError, verify
    from arcwise.treebanks import Treebank

    data = read_json(certificate)
    selection = data.get("selection") if isinstance(data, dict) else None
    if not isinstance(selection, dict) or not {"column", "max_length", "sentences"} <= selection.keys():
        raise InputError(
            f"{certificate}: does not say which sentences it is about; 'arcwise induce' writes that"
        )
    chosen = TagSentences.from_treebank(
        Treebank.read(corpus), column=selection["column"], max_length=selection["max_length"]
    ).first(selection["sentences"])
    typer.echo(
        f"{len(chosen)} sentences of at most {selection['max_length']} words, tags from the column {selection['column']}"
    )
    try:
        proved = verify(data, chosen.strings)
    except CertificateError as error:
        typer.echo(f"rejected: {error}", err=True)
        raise typer.Exit(1) from None
    typer.echo(
        f"verified: some parses have log-likelihood {proved.lower:.4f}, none have more than {proved.upper:.4f} "
        f"(gap {100 * proved.gap:.2f} %); {proved.leaves} leaves"
    )
