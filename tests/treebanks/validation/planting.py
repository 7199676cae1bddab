"""Defects for real sentences: each changes a sentence in place, and says whether it could."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from random import Random

from arcwise.treebanks import COLUMNS, Sentence
from arcwise.treebanks.validation import RELATIONS, UPOS_TAGS

_RELATIONS, _TAGS = sorted(RELATIONS), sorted(UPOS_TAGS)


class Planted:
    """A sentence that is being damaged."""

    def __init__(self, sentence: Sentence, number: int, before: str) -> None:
        self.before = before  # the sent_id of the sentence before
        lines = sentence.to_conllu().rstrip("\n").split("\n")
        self.comments = [line for line in lines if line.startswith("#")]
        for key, value in (("sent_id", f"number-{number}"), ("text", sentence.text)):
            if not any(
                line.startswith(f"# {key} =") for line in self.comments
            ):  # not all treebanks have them
                self.comments.append(f"# {key} = {value}")
        self.rows = [line.split("\t") for line in lines if not line.startswith("#")]
        self.end = "\n"

    @property
    def words(self) -> list[list[str]]:
        return [row for row in self.rows if row[0].isdigit()]

    @property
    def text(self) -> str:
        rows = ["\t".join(row) for row in self.rows]
        return "".join(f"{line}\n" for line in [*self.comments, *rows]) + self.end


Plant = Callable[[Planted, Random], bool]


def _set(column: str, *values: str) -> Plant:
    """One of some values in a column of some word."""

    def plant(planted: Planted, rng: Random) -> bool:
        value = rng.choice(values)
        # the validator itself breaks down at these under the root
        words = [w for w in planted.words if value not in ("orphan", "flat:foreign") or w[6] != "0"]
        if not words:
            return False
        row = rng.choice(words)
        new = value.format(old=row[COLUMNS.index(column)], n=len(planted.words), id=row[0])
        changed = new != row[COLUMNS.index(column)]
        row[COLUMNS.index(column)] = new
        return changed

    return plant


def _reordered(column: str) -> Plant:
    def plant(planted: Planted, rng: Random) -> bool:
        at = COLUMNS.index(column)
        rows = [row for row in planted.words if "|" in row[at]]
        if not rows:
            return False
        row = rng.choice(rows)
        row[at] = "|".join(reversed(row[at].split("|")))
        return True

    return plant


def _comment(old: str, *new: str) -> Plant:
    """The comment that starts so becomes others (``{0}`` is the value it had)."""

    def plant(planted: Planted, rng: Random) -> bool:
        at = [i for i, line in enumerate(planted.comments) if line.startswith(old)]
        if not at:
            return False
        value = planted.comments[at[0]].partition("=")[2].strip()
        planted.comments[at[0] : at[0] + 1] = [line.format(value, before=planted.before) for line in new]
        return True

    return plant


def _added(*lines: str) -> Plant:
    def plant(planted: Planted, rng: Random) -> bool:
        planted.comments += lines
        return True

    return plant


def _row_before(identifier: str, **fields: str) -> Plant:
    """A further row before some word ``i`` (``{i}``, ``{j}`` the next, ``{h}`` the one before, ``{n}`` the
    last)."""

    def plant(planted: Planted, rng: Random) -> bool:
        if len(planted.words) < 3:
            return False
        at = rng.randrange(1, len(planted.words) - 1)
        row = planted.words[at]
        numbers = {"h": at, "i": at + 1, "j": at + 2, "n": len(planted.words) + 1}
        new = [identifier.format(**numbers), "x", *["_"] * 8]
        for name, value in fields.items():
            new[COLUMNS.index(name)] = value.format(**numbers)
        planted.rows.insert(planted.rows.index(row), new)
        return True

    return plant


def _line(text: str) -> Plant:
    def plant(planted: Planted, rng: Random) -> bool:
        planted.rows.insert(rng.randrange(1, len(planted.rows) + 1), [text])
        return True

    return plant


def _any_head(planted: Planted, rng: Random) -> bool:
    words = planted.words
    row = rng.choice(words)
    if row[6] == "0":
        return False
    row[6] = str(rng.randrange(1, len(words) + 1))
    return True


def _decomposed(planted: Planted, rng: Random) -> bool:
    before = planted.text
    planted.rows = [[unicodedata.normalize("NFD", field) for field in row] for row in planted.rows]
    return planted.text != before


def _several(plant: Plant, times: int) -> Plant:
    return lambda planted, rng: sum(plant(planted, rng) for _ in range(times)) > 0


def _without_column(planted: Planted, rng: Random) -> bool:
    rng.choice(planted.rows).pop()
    return True


def _end(text: str) -> Plant:
    def plant(planted: Planted, rng: Random) -> bool:
        planted.end = text
        return True

    return plant


PLANTS: Mapping[str, Plant] = {
    "any label": _several(_set("deprel", *_RELATIONS), 4),
    "any tag": _several(_set("upos", *_TAGS), 4),
    "any head": _several(_any_head, 3),
    "punctuation anywhere": _several(_set("deprel", "punct"), 3),
    "function words anywhere": _several(_set("deprel", "case", "mark", "aux", "cop", "cc", "det", "clf"), 4),
    "fixed and goeswith anywhere": _several(
        _set("deprel", "fixed", "goeswith", "goeswith", "flat:foreign", "orphan"), 3
    ),
    "arguments anywhere": _several(_set("deprel", "nsubj", "csubj", "obj", "obl", "nsubj:outer"), 4),
    "unknown tag": _set("upos", "SUBST", "noun", "CONJ"),
    "unknown label": _set("deprel", "subjekt", "dobj", "Nsubj", "nsubj:pass:x", "nsubj:Pass", "root"),
    "features in another order": _reordered("feats"),
    "features": _set(
        "feats",
        "Case=Nom|Case=Acc",
        "Case=Nom|Case=Nom",
        "Case=Nom,Acc",
        "Case=Nom,Nom",
        "Case",
        "case=Nom",
        "Case=nom",
        "Case=Nom|",
        "A=B|a=B",
    ),
    "features of meaning": _several(
        _set(
            "feats",
            "VerbForm=Fin",
            "Polarity=Neg",
            "ExtPos=ADP",
            "ExtPos=PROPN",
            "Typo=Yes",
            "Foreign=Yes",
            "_",
        ),
        3,
    ),
    "head": _set("head", "x", "{n}1", "{id}", "_", "-1", "01", "", "1.1"),
    "two roots": _set("head", "0"),
    "deps": _set(
        "deps",
        "1",
        "x:dep",
        "2:dep|1:dep",
        "1:dep|1:dep",
        "1:nsubj|1:dep",
        "{id}:dep",
        "1:subjekt",
        "{n}1:dep",
        "1:Dep",
        "1:obl:ät_ö:gen",
        "0:dep",
        "1:root",
        "1:orphan",
        "1:ref",
        "01:dep",
        ":dep",
        "1:",
        "1:dep|",
    ),
    "misc": _set(
        "misc",
        "A=b|",
        "|",
        "=b",
        " A=b",
        "A =b",
        "A= b",
        "A=b ",
        "gloss=b",
        " Gloss=b",
        "Gloss=b|Gloss=c",
        "Ref=a|ref=b",
        "NoSpaceAfter=Yes",
        "SpaceAfter=Yes",
        "SpaceAfter=No",
        "_",
        "SpaceAfter=No|SpaceAfter=No",
        "Subject=Outer",
    ),
    "blanks": _set("lemma", " x", "x ", "x  y", "x y", "", "\u00a0x"),
    "blanks where there are none": _set("upos", "NO UN", " NOUN", ""),
    "blank in the features": _set("feats", "Case=Nom |A=B", " ", "A= B"),
    "no xpos": _set("xpos", "", "a b"),
    "replacement character": _set("lemma", "\ufffd"),
    "form": _set("form", "x{old}", "_", "{old}x", "x  y", "{old} "),
    "decomposed": _decomposed,
    "column": _without_column,
    "multiword token": _row_before("{i}-{j}", form="xy"),
    "multiword token with a lemma": _row_before("{i}-{j}", lemma="x", feats="Typo=Yes"),
    "multiword token backwards": _row_before("{i}-{h}"),
    "multiword token too long": _row_before("{i}-{n}"),
    "multiword token in the wrong place": _row_before("{h}-{i}"),
    "multiword token with a blank": _row_before("{i}-{j}", form="x y"),
    "empty node": _row_before("{h}.1", deps="{i}:dep"),
    "empty node with a head": _row_before(
        "{h}.1", deps="{i}:dep", head="{i}", deprel="dep", upos="VRB", misc="SpaceAfter=No"
    ),
    "empty node with another number": _row_before("{h}.2", deps="{i}:dep"),
    "empty node in the wrong place": _row_before("{i}.1", deps="{i}:dep"),
    "id": _set("id", "{id}x", "{n}1", "0", "{id}.0", "01"),
    "comment inside": _line("# here"),
    "no line of CoNLL-U": _line("here"),
    "no sent_id": _comment("# sent_id"),
    "odd sent_id": _comment("# sent_id", "# sent_id = {0} x"),
    "two sent_ids": _comment("# sent_id", "# sent_id = {0}", "# sent_id = {0}b"),
    "slashes in sent_id": _comment("# sent_id", "# sent_id = a/{0}/b"),
    "the same sent_id": _comment("# sent_id", "# sent_id = {before}"),
    "no text": _comment("# text ="),
    "two texts": _comment("# text =", "# text = {0}", "# text = {0}"),
    "empty text": _comment("# text =", "# text ="),
    "text with more": _comment("# text =", "# text = {0} and more"),
    "text with a blank": _comment("# text =", "# text = {0} "),
    "another text": _comment("# text =", "# text = x{0}"),
    "parallel_id": _added("# parallel_id = zoo/1/alt1"),
    "alternative of a parallel_id": _added("# parallel_id = zoo/3/alt3"),
    "part of a parallel_id": _added("# parallel_id = zoo/4/part4"),
    "odd parallel_id": _added("# parallel_id = Zoo"),
    "two parallel_ids": _added("# parallel_id = zoo/1", "# parallel_id = zoo/2"),
    "new paragraph": _added("# newpar"),
    "two new paragraphs": _added("# newpar", "# newpar"),
    "two new documents": _added("# newdoc", "# newdoc"),
    "two blank lines": _end("\n\n"),
    "a blank line with blanks": _end(" \t\n"),
}
"""What is changed → how. The validator itself breaks down at UPOS and DEPREL ``_``, so these are not here."""


def plant_all(sentences: list[Sentence], seed: int) -> tuple[str, dict[str, int]]:
    """A treebank with a defect in every second sentence, in turn, and perhaps one at the end; and how many of
    each could be planted."""
    rng, names = Random(seed), list(PLANTS)
    counts = dict.fromkeys(names, 0)
    rng.shuffle(names)
    parts: list[str] = []
    before = ""
    for number, sentence in enumerate(sentences):
        planted = Planted(sentence, number, before)
        before = (
            next(line for line in planted.comments if line.startswith("# sent_id ="))
            .partition("=")[2]
            .strip()
        )
        if number % 2:
            name = names[number // 2 % len(names)]
            counts[name] += PLANTS[name](planted, rng)
        parts.append(planted.text)
    sound_end = len(sentences) % 2 == 1
    return "".join(parts).removesuffix("\n" * (sound_end and seed % 2)), counts
