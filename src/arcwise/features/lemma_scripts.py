"""Lemma scripts: edit scripts from a form to its lemma, shared by words that inflect alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import cache

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.treebanks.columns import Coded
from arcwise.treebanks.treebank import Treebank

LemmaScript = tuple[str, int, int, str, str, bool]
"""Case, characters dropped at the start and at the end, strings added there, whether the lemma is constant.

Case is 'l' (lower), 'k' (as the form) or 't' (lower except the first letter). A constant lemma is the last
string, regardless of the form.
"""

NO_LEMMA: LemmaScript = ("k", 0, 0, "", "_", True)
"""The script of words without a lemma."""
_CASES = "lkt"


def lemma_script(form: str, lemma: str) -> LemmaScript:
    """Compute the script from ``form`` to ``lemma``, around their longest common substring.

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
        # A single shared letter is chance: the script would fit no other word.
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
        # Tried out, because lower-casing can change the length of a form.
        if native.lemma_apply(script, form) == lemma:
            return script
    return ("k", 0, 0, "", lemma, True)


def script_text(script: LemmaScript) -> str:
    """Serialise a script for a model file.

    >>> script_text(("l", 0, 2, "", "e", False)), read_script('["l", 0, 2, "", "e", false]')
    ('["l", 0, 2, "", "e", false]', ('l', 0, 2, '', 'e', False))
    """
    return json.dumps(script, ensure_ascii=False)


@cache
def read_script(text: str) -> LemmaScript:
    """Parse the output of ``script_text``; raises ``ValueError`` if it is not a script."""
    script = json.loads(text)
    kinds = (str, int, int, str, str, bool)
    if not isinstance(script, list) or [type(p) for p in script] != list(kinds) or script[0] not in _CASES:
        raise ValueError(f"found {text!r}, expected a lemma script")
    return tuple(script)


def scripts_of(treebank: Treebank) -> Coded:
    """The lemma script of every word, serialised; words without a lemma have ``NO_LEMMA``."""
    pairs = list(zip(treebank.column("form"), treebank.column("lemma"), strict=True))
    # Once per distinct pair: the longest common substring takes long to find.
    scripts = {pair: script_text(_script(*pair)) for pair in dict.fromkeys(pairs)}
    return Coded.of([scripts[pair] for pair in pairs])


ScriptFit = tuple[int, list[str], list[str]]
"""Conditions under which a script fits an unseen form: minimum length, beginnings, endings (empty: any)."""

ANY_FORM: ScriptFit = (0, [], [])
_NEVER = 2**16 - 1
_CLASS = 3
"""A constant lemma of this many forms is that of a class (numerals), and not of irregular forms."""
_STEM = 2


def script_fits(forms: Sequence[str], scripts: Coded) -> list[ScriptFit]:
    """Return which unseen forms each script fits, given the forms that have it in training.

    A script replaces only what it has replaced: not ``sang`` → ``ring`` by that of ``rang``. It leaves as
    many characters as it has left, or two, as training data are small: not ``sing`` → ``se`` by that of
    ``using``. The constant lemma of an irregular form, such as ``sell`` of ``sold``, fits no other form.
    """
    seen: list[set[str]] = [set() for _ in scripts.strings]
    for form, script in set(zip(forms, scripts.codes.tolist(), strict=True)):
        seen[script].add(_cased(form, "l"))
    return [_script_fit(read_script(text), seen[i]) for i, text in enumerate(scripts.strings)]


def _script_fit(script: LemmaScript, forms: set[str]) -> ScriptFit:
    _, first, last, start, end, constant = script
    if constant:
        return ANY_FORM if script == NO_LEMMA or len(forms) >= _CLASS else (_NEVER, [], [])
    return (
        min(first + last + _STEM, *map(len, forms)),
        sorted({form[:first] for form in forms}) if first and start else [],
        sorted({form[len(form) - last :] for form in forms}) if last and end else [],
    )


def lemmas_by(
    treebank: Treebank, codes: npt.NDArray[np.integer], scripts: native.LemmaScripts
) -> native.StringColumn:
    """Apply lemma scripts to the words of a treebank; ``codes``: the number of each word's script."""
    return scripts.lemmas(*treebank.fields, script=codes.astype(np.uint16))


def _script(form: str, lemma: str) -> LemmaScript:
    return NO_LEMMA if lemma == "_" != form else lemma_script(form, lemma)


def _cased(form: str, case: str) -> str:
    if case == "l":
        return native.lower_case(form.encode("utf-8", "replace")).decode("utf-8", "replace")
    return form if case == "k" else form[:1] + _cased(form[1:], "l")


def _same_case(cased: str, lemma: str) -> bool:
    """Whether the lemma has capitals exactly if the cased form has."""
    return any(c.isupper() for c in cased) == any(c.isupper() for c in lemma)
