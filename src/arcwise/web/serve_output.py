"""Answers in the formats of UDPipe's service: CoNLL-U, one sentence a line, one word a line, plain text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from arcwise.treebanks import Sentence, Treebank

_WRITTEN = {"s": " ", "t": "\t", "r": "\r", "n": "\n", "p": "|", "\\": "\\"}
"""How SpacesAfter and its kin write white space."""


def conllu(treebank: Treebank) -> str:
    """The bytes as they are."""
    return treebank.text


def horizontal(treebank: Treebank) -> str:
    """One sentence a line, a blank between words; a blank in a word becomes a no-break space.

    >>> horizontal(Treebank(b"1\\tNew York\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n2\\tsleeps\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n"))
    'New\\xa0York sleeps\\n'
    """
    return "".join(" ".join(form.replace(" ", "\xa0") for form in s.forms) + "\n" for s in treebank)


def vertical(treebank: Treebank) -> str:
    """One word a line, a blank line after each sentence."""
    return "".join("\n".join(sentence.forms) + "\n\n" for sentence in treebank)


def plaintext(treebank: Treebank) -> str:
    """The text again, with its white space as MISC has it."""
    return "".join(map(_spaced, treebank))


def plaintext_normalized(treebank: Treebank) -> str:
    """The text again, one sentence a line, with single blanks."""
    return "".join(f"{sentence.text}\n" for sentence in treebank)


OUTPUTS: Mapping[str, Callable[[Treebank], str]] = {
    "conllu": conllu,
    "conllu=v2": conllu,
    "horizontal": horizontal,
    "vertical": vertical,
    "plaintext": plaintext,
    "plaintext=normalized_spaces": plaintext_normalized,
}
"""Value of ``output`` → how the answer is written."""


def _spaced(sentence: Sentence) -> str:
    parts: list[str] = []
    inside = 0
    for identifier, form, *_, misc in sentence.rows:
        first, _, last = identifier.partition("-")
        if "." in identifier or (not last and int(first) <= inside):
            continue
        inside = int(last) if last else inside
        said = dict(pair.partition("=")[::2] for pair in misc.split("|"))
        after = "" if said.get("SpaceAfter") == "No" else " "
        parts += [
            _unescaped(said.get("SpacesBefore", "")),
            _unescaped(said["SpacesInToken"]) if "SpacesInToken" in said else form,
            _unescaped(said["SpacesAfter"]) if "SpacesAfter" in said else after,
        ]
    return "".join(parts)


def _unescaped(text: str) -> str:
    """
    >>> _unescaped("\\\\s\\\\n")
    ' \\n'
    """
    return re.sub(r"\\(.)", lambda match: _WRITTEN.get(match[1], match[0]), text)
