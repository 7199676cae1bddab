"""For each rule a defect in the sound treebank: what is changed, and which other rules it breaks besides."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from treebanks.validation.sound import SOUND, with_field


@dataclass(frozen=True)
class Defect:
    """A change to the sound treebank; ``row`` and ``column`` are where it is found, ``repaired``: what the
    repair writes there."""

    change: Callable[[str], str]
    row: str | None = None
    column: str | None = None
    repaired: str | None = None
    also: frozenset[str] = frozenset()

    @property
    def text(self) -> str:
        """The treebank with the defect."""
        text = self.change(SOUND)
        assert text != SOUND
        return text


def swap(
    old: str,
    new: str,
    row: str | None = None,
    column: str | None = None,
    *,
    also: str = "",
    repaired: str | None = None,
) -> Defect:
    """One piece of text in the place of another."""
    assert SOUND.count(old) == 1, old
    return Defect(lambda text: text.replace(old, new), row, column, repaired, frozenset(also.split()))


def put(
    where: str,
    column: str,
    value: str,
    *,
    at: str | None = None,
    to: str | None = None,
    repaired: str | None = None,
    also: str = "",
) -> Defect:
    """Another value in a field; ``where``: sentence and row, ``b 10.1``. Found in row ``at`` and column
    ``to``, if these are others."""
    sentence, row = where.split()
    return Defect(
        lambda text: with_field(text, sentence, row, column, value),
        at or row,
        to or column,
        repaired,
        frozenset(also.split()),
    )


def both(first: Defect, second: Defect) -> Defect:
    """Two changes; the second one is where the rule is broken."""
    return Defect(
        lambda text: second.change(first.change(text)),
        second.row,
        second.column,
        second.repaired,
        second.also,
    )


def _with_line(before: str, line: str) -> Defect:
    return swap(before, f"{line}\n{before}")


DEFECTS: Mapping[str, Defect] = {
    # level 1
    "invalid-utf": swap("Rex is a", "R\ufffdx is a", also="text-form-mismatch"),
    "unicode-normalization": both(
        swap("a big dog", "a bíg dog"),
        Defect(lambda text: unicodedata.normalize("NFD", with_field(text, "c", "4", "form", "bíg"))),
    ),
    "non-unix-newline": Defect(lambda text: text.replace("\n", "\r\n")),
    "misplaced-comment": _with_line("2\tis\t", "# here"),
    "pseudo-empty-line": swap("SpaceAfter=No\n\n# sent_id = d", "SpaceAfter=No\n \n# sent_id = d"),
    "empty-sentence": swap("\n\n# sent_id = c", "\n\n\n# sent_id = c"),
    "invalid-line": _with_line("2\tis\t", "- is"),
    "missing-empty-line": Defect(lambda text: text.removesuffix("\n")),
    "number-of-columns": swap("2\tis\t", "2 is\t", "2 is"),
    "invalid-whitespace": put("c 2", "upos", "AU X", repaired="AUX", also="unknown-upos rel-upos-cop"),
    "invalid-whitespace-mwt": put("a 3-4", "form", "do n't", also="text-form-mismatch"),
    "empty-column": put("c 2", "lemma", "", repaired="_"),
    "leading-whitespace": put("c 2", "lemma", " be", repaired="be"),
    "trailing-whitespace": put("c 2", "lemma", "be ", repaired="be"),
    "repeated-whitespace": put("c 2", "lemma", "be  so", repaired="be so"),
    "invalid-word-id": put("c 4", "id", "4x", at="4x", also="word-id-sequence"),
    "misplaced-word-interval": swap(
        "\tSpaceAfter=No\n7\t.", "\tSpaceAfter=No\n6-7\tx\t_\t_\t_\t_\t_\t_\t_\t_\n7\t.", "6-7", "id"
    ),
    "misplaced-empty-node": put("b 10.1", "id", "10.2", at="10.2"),
    "word-id-sequence": put("c 9", "id", "10", at="10", to="id"),
    "reversed-word-interval": put("a 3-4", "id", "3-2", at="3-2"),
    "word-interval-out": put("a 3-4", "id", "3-9", at="3-9"),
    "overlapping-word-intervals": swap("4\tn't", "4-5\tx\t_\t_\t_\t_\t_\t_\t_\t_\n4\tn't", "4-5", "id"),
    # level 2: rows
    "mwt-nonempty-field": put("a 3-4", "lemma", "do", repaired="_"),
    "empty-node-nonempty-field": put("b 10.1", "deprel", "conj", repaired="_"),
    "unknown-upos": put("c 5", "upos", "NOUNS", repaired="NOUN"),
    "unsorted-features": put("c 2", "feats", "VerbForm=Fin|Mood=Ind", repaired="Mood=Ind|VerbForm=Fin"),
    "invalid-feature": put("c 2", "feats", "Mood=Ind|VerbForm=fin", repaired="Mood=Ind|VerbForm=Fin"),
    "repeated-feature": put(
        "c 2", "feats", "Mood=Ind|Mood=Ind|VerbForm=Fin", repaired="Mood=Ind|VerbForm=Fin"
    ),
    "repeated-feature-value": put(
        "c 2", "feats", "Mood=Ind,Ind|VerbForm=Fin", repaired="Mood=Ind|VerbForm=Fin"
    ),
    "unsorted-feature-values": put(
        "c 2", "feats", "Mood=Sub,Ind|VerbForm=Fin", repaired="Mood=Ind,Sub|VerbForm=Fin"
    ),
    "invalid-deprel": put("c 4", "deprel", "AMOD", repaired="amod"),
    "unknown-udeprel": put("c 4", "deprel", "amodd", repaired="amod"),
    "invalid-deps": put("c 4", "deps", "5"),
    "invalid-ehead": put("c 4", "deps", "five:amod"),
    "unknown-ehead": put("c 4", "deps", "5.1:amod"),
    "unsorted-deps": put("c 4", "deps", "8:dep|5:amod", repaired="5:amod|8:dep"),
    "unsorted-deps-2": put("c 4", "deps", "5:dep|5:amod", repaired="5:amod|5:dep"),
    "repeated-deps": put("c 4", "deps", "5:amod|5:amod", repaired="5:amod"),
    "deps-self-loop": put("c 4", "deps", "4:dep|5:amod"),
    "invalid-edeprel": put("c 4", "deps", "5:amod:In"),
    "unknown-eudeprel": put("c 4", "deps", "5:adjmod"),
    "empty-misc": put("c 4", "misc", "A=b|", repaired="A=b"),
    "empty-misc-key": put("c 4", "misc", "=b"),
    "misc-extra-space": put("c 4", "misc", "A= b", repaired="A=b"),
    "misc-attr-typo": put("c 4", "misc", "gloss=b", repaired="Gloss=b"),
    "repeated-misc": put("c 4", "misc", "Gloss=b|Gloss=b", repaired="Gloss=b"),
    # level 2: trees
    "invalid-head": put("c 4", "head", "x"),
    "unknown-head": put("c 4", "head", "10"),
    "head-self-loop": put("c 4", "head", "4"),
    "multiple-roots": put("c 4", "head", "0", at="5", also="0-is-not-root"),
    "non-tree": put("c 5", "head", "8"),
    "edeps-only-sometimes": Defect(
        lambda text: text + "# sent_id = e\n# text = Hi\n1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\t_\n\n"
    ),
    "unconnected-egraph": put("c 4", "deps", "_"),
    # level 2: comments
    "invalid-sent-id": swap("sent_id = c", "sent_id = c d", also="missing-sent-id"),
    "missing-sent-id": swap("# sent_id = c\n", ""),
    "multiple-sent-id": swap("# sent_id = c\n", "# sent_id = c\n# sent_id = e\n"),
    "non-unique-sent-id": swap("# sent_id = c\n", "# sent_id = b\n"),
    "slash-in-sent-id": swap("# sent_id = c\n", "# sent_id = c/d/e\n"),
    "invalid-parallel-id": swap("zoo/1/alt1", "zoo"),
    "multiple-parallel-id": swap(
        "# parallel_id = zoo/1/alt1\n", "# parallel_id = zoo/1/alt1\n# parallel_id = zoo/2\n"
    ),
    "non-unique-parallel-id": swap("# sent_id = d\n", "# sent_id = d\n# parallel_id = zoo/1/alt1\n"),
    "parallel-id-alt": swap("zoo/1/alt1", "zoo/1/alt2"),
    "parallel-id-part": swap("zoo/1/alt1", "zoo/1/part2"),
    "multiple-newdoc": swap("# newdoc\n", "# newdoc\n# newdoc\n"),
    "multiple-newpar": swap("# newdoc\n", "# newpar\n# newpar\n"),
    "spaceafter-newdocpar": swap("# sent_id = d\n", "# newpar\n# sent_id = d\n"),
    "missing-text": swap("# text = Rex is a big dog with one ear!\n", ""),
    "multiple-text": swap("# text = Rex", "# text = Rex\n# text = Rex"),
    "empty-text": swap("# text = Rex is a big dog with one ear!\n", "# text =\n", also="text-form-mismatch"),
    "text-trailing-whitespace": swap("one ear!\n", "one ear! \n", also="text-extra-chars"),
    "nospaceafter-yes": put(
        "a 6", "misc", "NoSpaceAfter=Yes", repaired="SpaceAfter=No", also="missing-spaceafter"
    ),
    "spaceafter-value": put("c 4", "misc", "SpaceAfter=Yes", repaired="_"),
    "spaceafter-empty-node": put("b 10.1", "misc", "SpaceAfter=No", repaired="_"),
    "spaceafter-mwt-node": put("a 3", "misc", "SpaceAfter=No", repaired="_"),
    "text-form-mismatch": put("c 4", "form", "large"),
    "missing-spaceafter": put("a 6", "misc", "_", repaired="SpaceAfter=No"),
    "text-extra-chars": swap("one ear!\n", "one ear! Yes\n"),
    # level 3
    "0-is-not-root": put("c 5", "deprel", "parataxis", repaired="root"),
    "root-is-not-0": put("c 4", "deprel", "root"),
    "enhanced-0-is-not-root": put("c 5", "deps", "0:parataxis", repaired="0:root"),
    "enhanced-root-is-not-0": put("c 4", "deps", "5:root"),
    "edeps-identical-to-basic-trees": Defect(
        lambda text: text.split("\n\n")[0].replace("# newdoc\n", "") + "\n\n"
    ),
    "empty-node-after-eorphan": put("a 6", "deps", "5:orphan", at="10.1", to="deps"),
    "eorphan-after-empty-node": put("c 4", "deps", "5:orphan"),
    "pron-det-without-prontype": put("c 3", "feats", "_"),
    "verbform-fin-without-mood": put("c 2", "feats", "VerbForm=Fin"),
    "fixed-without-extpos": put("b 1", "feats", "_"),
    "rel-upos-det": put("c 3", "upos", "ADP"),
    "rel-upos-nummod": put("c 7", "upos", "ADJ"),
    "rel-upos-advmod": put("d 9", "upos", "NOUN"),
    "rel-upos-expl": put("d 4", "upos", "NOUN"),
    "rel-upos-aux": put("a 3", "upos", "VERB", repaired="AUX"),
    "rel-upos-cop": put("c 2", "upos", "VERB", repaired="AUX"),
    "rel-upos-case": put("c 6", "upos", "ADJ"),
    "rel-upos-mark": put("d 11", "upos", "PRON", also="pron-det-without-prontype"),
    "rel-upos-cc": put("b 9", "upos", "NOUN"),
    "rel-upos-punct": put("c 9", "upos", "SYM", repaired="PUNCT"),
    "upos-rel-punct": put("c 9", "deprel", "discourse", repaired="punct"),
    "rel-upos-fixed": put("b 2", "upos", "PROPN", to="deprel"),
    "flat-foreign-upos-feats": put("d 8", "upos", "NOUN"),
    "right-to-left-conj": put("c 4", "deprel", "conj", to="head"),
    "right-to-left-fixed": put("c 4", "deprel", "fixed", to="head", also="fixed-without-extpos"),
    "right-to-left-flat": put("c 4", "deprel", "flat", to="head"),
    "right-to-left-goeswith": put(
        "c 4",
        "deprel",
        "goeswith",
        to="head",
        also="goeswith-gap goeswith-missing-typo goeswith-lemma goeswith-upos goeswith-feats goeswith-edeps",
    ),
    "right-to-left-appos": put("c 4", "deprel", "appos", to="head"),
    "too-many-subjects": put("c 8", "deprel", "nsubj", at="5"),
    "too-many-objects": put("d 9", "deprel", "obj", at="2"),
    "obl-should-be-nmod": both(put("d 12", "upos", "PRON"), put("d 14", "deprel", "obl", repaired="nmod")),
    "orphan-parent": put("d 8", "deprel", "orphan", to="head"),
    "leaf-mark-case": put("c 7", "head", "6"),
    "leaf-aux-cop": put("c 8", "head", "2"),
    "leaf-det": put("c 4", "head", "3"),
    "leaf-clf": both(put("c 3", "deprel", "clf"), put("c 4", "head", "3")),
    "leaf-cc": put("b 8", "head", "9"),
    "leaf-fixed": put("b 3", "head", "2", also="fixed-without-extpos"),
    "leaf-goeswith": put("b 13", "head", "12", also="orphan-parent"),
    "leaf-punct": put("b 6", "head", "5"),
    "fixed-gap": put("b 2", "deprel", "advmod", at="1", to="deprel", also="rel-upos-advmod"),
    "goeswith-gap": both(
        put("b 12", "deps", "10:goeswith"),
        put("b 12", "head", "10", at="10", to="deprel", also="goeswith-missing-typo"),
    ),
    "goeswith-nospace": both(swap("to day pears", "today pears"), put("b 11", "misc", "SpaceAfter=No")),
    "goeswith-missing-typo": put("b 11", "feats", "_", repaired="Typo=Yes"),
    "goeswith-lemma": put("b 12", "lemma", "day", repaired="_"),
    "goeswith-upos": put("b 12", "upos", "NOUN", repaired="X"),
    "goeswith-feats": put("b 12", "feats", "Number=Sing", repaired="_"),
    "goeswith-edeps": put("b 12", "deps", "11:goeswith|13:dep", repaired="11:goeswith"),
    "punct-causes-nonproj": both(put("d 9", "head", "5"), put("d 6", "head", "2")),
    "punct-is-nonproj": put("d 3", "head", "9"),
}
