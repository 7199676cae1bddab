"""``LookAlikes``: read rare characters as equivalent frequent ones (``’`` as ``'``).

A treebank uses one set of quotes, dashes and letters; texts use many. A model treats a character that it has
hardly seen as an equivalent one that it has seen often, in all features of tokenizer, tagger, lemmatizer and
parser. The text itself does not change. The replacements are learned: a character that is frequent in the
treebank stands for itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from arcwise import native
from arcwise.treebanks import Treebank

OFTEN = 20
"""Minimum count of a replacement; a character that is a word this often keeps its own features."""
SHARE = 0.1
"""A character stands for itself if its count is at least this fraction of the replacement's."""


def _stand_ins() -> dict[str, tuple[str, ...]]:
    """Character → possible replacements, best first."""
    replacements: dict[str, tuple[str, ...]] = {}
    for characters, texts in (
        ("’‘‛ʼ′´`＇", ("'", "’")),
        ("'", ("’",)),
        ("“‟〝", ('"', "``", "«", "„")),
        ("”〞", ('"', "''", "»", "“")),
        ("„", ('"', "``", "«", "“")),
        ("″＂", ('"', "”", "''")),
        ('"', ("“", "«", "``")),
        ("«", ('"', "“", "``", "„")),
        ("»", ('"', "”", "''", "“")),
        ("‹", ("'", '"')),
        ("›", ("'", '"')),
        ("‐‑‒−﹣－⁃", ("-",)),
        ("–", ("-", "--")),
        ("—―", ("--", "-", "–")),
        ("…", ("...", "..", ".")),
        ("•●○◦▪■□‣∙", ("*", "-")),
        ("ﬀ", ("ff",)),
        ("ﬁ", ("fi",)),
        ("ﬂ", ("fl",)),
        ("ﬃ", ("ffi",)),
        ("ﬄ", ("ffl",)),
    ):
        replacements |= dict.fromkeys(characters, texts)
    wide = {chr(0xFEE0 + ord(c)): (c,) for c in map(chr, range(0x21, 0x7F))}  # full-width letters and digits
    return wide | replacements


STAND_INS: Mapping[str, tuple[str, ...]] = _stand_ins()


@dataclass(frozen=True)
class LookAlikes:
    """Replacements of single characters.

    >>> LookAlikes({"’": "'"}).read("don’t")
    "don't"
    """

    stand_ins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def learn(cls, treebank: Treebank) -> LookAlikes:
        """Learn the first frequent replacement of each character that is rare in the treebank.

        >>> row = "{}\\t{}" + "\\t_" * 8 + "\\n"
        >>> rows = "".join(row.format(i, w) for i, w in enumerate(["it", "'s"] * 20, 1))
        >>> LookAlikes.learn(Treebank.from_string(rows + "\\n")).stand_ins["’"]
        "'"
        """
        words = Counter(treebank.column("form"))
        characters: Counter[str] = Counter()
        texts: Counter[str] = Counter()
        longer = {text for texts in STAND_INS.values() for text in texts if len(text) > 1}
        for word, count in words.items():
            for character in word:
                characters[character] += count
            for text in longer:
                if text in word:
                    texts[text] += count
        replacements: dict[str, str] = {}
        for character, choices in STAND_INS.items():
            if words[character] >= OFTEN:
                continue
            for text in choices:
                seen = characters[text] if len(text) == 1 else texts[text]
                if seen >= OFTEN:
                    if characters[character] < SHARE * seen:
                        replacements[character] = text
                    # The best frequent choice decides, even if the character then stands for itself.
                    break
        return cls(replacements)

    @classmethod
    def unpack(cls, header: Any) -> LookAlikes:
        """Read the header of a model; models of 0.1 have no replacements."""
        replacements = {str(character): str(text) for character, text in dict(header or {}).items()}
        if any(len(character) != 1 or not text for character, text in replacements.items()):
            raise ValueError("look_alikes: expected single characters and their replacements")
        return cls(replacements)

    def pack(self) -> dict[str, str]:
        """Plain values for the header of a model."""
        return dict(self.stand_ins)

    @cached_property
    def native(self) -> native.LookAlikes:
        """The native replacements."""
        return native.LookAlikes(list(self.stand_ins), list(self.stand_ins.values()))

    def __getstate__(self) -> dict[str, Any]:
        # The native object does not pickle and is rebuilt on first use.
        return {"stand_ins": dict(self.stand_ins)}

    def read(self, text: str) -> str:
        """Apply the replacements to a text."""
        return self.native.read(text)

    def view(self, treebank: Treebank) -> Treebank:
        """The treebank with replacements applied to FORM; all other columns are the same."""
        forms = self.native.forms(*treebank.fields) if self.stand_ins else None
        return treebank if forms is None else treebank.with_forms(forms)
