"""``LookAlikes``: characters that a model reads as others, because it learned from those: ``don’t`` as ``don't``.

Treebanks are written in the characters of one time and place; texts are not. A model that has hardly seen a character, but often one that
stands for the same, reads the one as the other, in everything that features are made of: tokenizer, tagger, lemmas and parser. The text
itself stays as it is. Which characters these are is learned: one that the treebank has often enough is read as itself.
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
"""A treebank knows a text that it has so often; a character that is so often a word by itself keeps its own tags."""
SHARE = 0.1
"""A character is read as itself if the treebank has it at least so often for each time that it has the stand-in."""


def _stand_ins() -> dict[str, tuple[str, ...]]:
    """Character → what it may be read as, the best first."""
    found: dict[str, tuple[str, ...]] = {}
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
        found |= dict.fromkeys(characters, texts)
    wide = {chr(0xFEE0 + ord(c)): (c,) for c in map(chr, range(0x21, 0x7F))}  # full-width letters and digits
    return wide | found


STAND_INS: Mapping[str, tuple[str, ...]] = _stand_ins()


@dataclass(frozen=True)
class LookAlikes:
    """What each of some characters is read as.

    >>> LookAlikes({"’": "'"}).read("don’t")
    "don't"
    """

    stand_ins: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def learn(cls, treebank: Treebank) -> LookAlikes:
        """From the words of a treebank: of each character the first stand-in that the treebank has often, unless it has the character often itself.

        >>> rows = "".join(f"{i}\\t{w}\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n" for i, w in enumerate(["it", "'s"] * 20, 1))
        >>> LookAlikes.learn(Treebank.from_string(rows + "\\n")).stand_ins["’"]
        "'"
        """
        words = Counter(treebank.column("form"))
        characters: Counter[str] = Counter()
        texts: Counter[str] = Counter()
        longer = {text for own in STAND_INS.values() for text in own if len(text) > 1}
        for word, count in words.items():
            for character in word:
                characters[character] += count
            for text in longer:
                if text in word:
                    texts[text] += count
        found: dict[str, str] = {}
        for character, choices in STAND_INS.items():
            if words[character] >= OFTEN:
                continue
            for text in choices:
                seen = characters[text] if len(text) == 1 else texts[text]
                if seen >= OFTEN:
                    if characters[character] < SHARE * seen:
                        found[character] = text
                    break
        return cls(found)

    @classmethod
    def unpack(cls, header: Any) -> LookAlikes:
        """From the header of a model; nothing (models of 0.1) is read as it stands."""
        found = {str(character): str(text) for character, text in dict(header or {}).items()}
        if any(len(character) != 1 or not text for character, text in found.items()):
            raise ValueError("look_alikes: expected characters and what they are read as")
        return cls(found)

    def pack(self) -> dict[str, str]:
        """For the header of a model."""
        return dict(self.stand_ins)

    @cached_property
    def native(self) -> native.LookAlikes:
        """The same for native code."""
        return native.LookAlikes(list(self.stand_ins), list(self.stand_ins.values()))

    def __getstate__(self) -> dict[str, Any]:
        return {"stand_ins": dict(self.stand_ins)}

    def read(self, text: str) -> str:
        """The text as it is read."""
        return self.native.read(text)

    def view(self, treebank: Treebank) -> Treebank:
        """The treebank as it is read: other FORMs, where there are such characters; everything else is the same."""
        data = self.native.forms(treebank.layout, treebank.data) if self.stand_ins else None
        if data is None:
            return treebank
        return Treebank(data, source=treebank.source, strict=False, first_line=treebank.first_line)
