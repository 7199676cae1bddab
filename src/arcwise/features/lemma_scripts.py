"""Lemma scripts: how a lemma is made from a form, such that words that inflect alike have the same script."""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from functools import cache

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.treebanks.columns import Coded
from arcwise.treebanks.treebank import Treebank

LemmaScript = tuple[str, int, int, str, str, bool]
"""Case of the lemma ('l' lower, 'k' as the form, 't' lower but for the first letter), characters dropped at the start and at
the end, characters added there, and whether the lemma is the last of these whatever the form."""

NO_LEMMA: LemmaScript = ("k", 0, 0, "", "_", True)
"""Of words whose lemma is not told."""
_CASES = "lkt"


def lemma_script(form: str, lemma: str) -> LemmaScript:
    """The script that makes ``lemma`` from ``form``, around their longest common part.

    >>> lemma_script("Walked", "walk"), lemma_script("talked", "talk")
    (('l', 0, 2, '', '', False), ('l', 0, 2, '', '', False))
    >>> lemma_script("better", "good")
    ('k', 0, 0, '', 'good', True)
    """
    for case in _CASES:
        cased = _cased(form, case)
        if not _same_case(cased, lemma):
            continue
        common = SequenceMatcher(None, cased, lemma, autojunk=False).find_longest_match()
        if common.size == 0 or (common.size < 2 and len(lemma) > 3):
            continue
        script = (
            case,
            common.a,
            len(cased) - common.a - common.size,
            lemma[: common.b],
            lemma[common.b + common.size :],
            False,
        )
        if native.lemma_apply(script, form) == lemma:
            return script
    return ("k", 0, 0, "", lemma, True)


def script_text(script: LemmaScript) -> str:
    """The script as text, for a model file.

    >>> script_text(("l", 0, 2, "", "e", False)), read_script('["l", 0, 2, "", "e", false]')
    ('["l", 0, 2, "", "e", false]', ('l', 0, 2, '', 'e', False))
    """
    return json.dumps(script, ensure_ascii=False)


@cache
def read_script(text: str) -> LemmaScript:
    """The script that ``script_text`` told; ``ValueError`` if it told none."""
    found = json.loads(text)
    kinds = (str, int, int, str, str, bool)
    if not isinstance(found, list) or [type(part) for part in found] != list(kinds) or found[0] not in _CASES:
        raise ValueError(f"found {text!r}, expected a lemma script")
    return tuple(found)


def scripts_of(treebank: Treebank) -> Coded:
    """The lemma script of every word, as text; that of a word without lemma leaves it so."""
    pairs = list(zip(treebank.column("form"), treebank.column("lemma"), strict=True))
    made = {pair: script_text(_script(*pair)) for pair in dict.fromkeys(pairs)}
    return Coded.of([made[pair] for pair in pairs])


def lemmas_by(treebank: Treebank, codes: npt.NDArray[np.integer], scripts: native.LemmaScripts) -> Coded:
    """The lemmas that the words have by their scripts, each a number of ``scripts``."""
    return Coded(*scripts.lemmas(treebank.layout, treebank.data, script=codes.astype(np.uint16)))


def _script(form: str, lemma: str) -> LemmaScript:
    return NO_LEMMA if lemma == "_" != form else lemma_script(form, lemma)


def _cased(form: str, case: str) -> str:
    if case == "l":
        return native.lower_case(form.encode("utf-8", "replace")).decode("utf-8", "replace")
    return form if case == "k" else form[:1] + _cased(form[1:], "l")


def _same_case(cased: str, lemma: str) -> bool:
    """Whether the lemma has capitals exactly if the cased form has."""
    return any(c.isupper() for c in cased) == any(c.isupper() for c in lemma)
