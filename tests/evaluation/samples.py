"""Small hand-written treebanks."""

from __future__ import annotations

from arcwise import Treebank


def sentence(*rows: str, sent_id: str | None = None) -> str:
    """CoNLL-U of rows like ``1 Birds bird NOUN NN Number=Plur 2 nsubj``; columns left out are ``_``."""
    comment = f"# sent_id = {sent_id}\n" if sent_id else ""
    lines = ["\t".join((row.split(" ") + ["_"] * 10)[:10]) for row in rows]
    return comment + "\n".join(lines) + "\n\n"


def treebank(*sentences: str, source: str = "<sample>") -> Treebank:
    """A treebank of sentences, however broken."""
    return Treebank.from_string("".join(sentences), source=source, strict=False)


BIRDS = sentence(
    "1 The the DET DT Definite=Def 2 det",
    "2 birds bird NOUN NNS Number=Plur 3 nsubj",
    "3 sing sing VERB VBP Tense=Pres 0 root",
    "4 in in ADP IN _ 6 case",
    "5 the the DET DT Definite=Def 6 det",
    "6 trees tree NOUN NNS Number=Plur 3 obl:loc",
    "7 . . PUNCT . _ 3 punct",
    sent_id="birds",
)

CONTRACTION = sentence(
    "1 Wir wir PRON _ Case=Nom|Number=Plur 2 nsubj",
    "2 gehen gehen VERB _ Number=Plur|Style=Coll 0 root",
    "3-4 zum",
    "3 zu zu ADP _ _ 5 case",
    "4 dem der DET _ Case=Dat 5 det",
    "5 See See NOUN _ Case=Dat 2 obl",
    "5.1 gehen",
    "6-7 !?",
    "6 ! _ PUNCT _ _ 2 punct",
    "7 ? ? PUNCT _ _ 2 punct",
    sent_id="contraction",
)
