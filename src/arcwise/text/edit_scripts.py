"""Lemma scripts: how a lemma is made from a form, such that words that inflect alike have the same script."""

from __future__ import annotations

from difflib import SequenceMatcher

from arcwise import native

LemmaScript = tuple[str, int, int, str, str, bool]
"""Case of the lemma ('l' lower, 'k' as the form, 't' lower but for the first letter), characters dropped at the start and at
the end, characters added there, and whether the lemma is the last of these whatever the form."""


def lemma_script(form: str, lemma: str) -> LemmaScript:
    """The script that makes ``lemma`` from ``form``, around their longest common part.

    >>> lemma_script("Walked", "walk"), lemma_script("talked", "talk")
    (('l', 0, 2, '', '', False), ('l', 0, 2, '', '', False))
    >>> lemma_script("better", "good")
    ('k', 0, 0, '', 'good', True)
    """
    for case in "lkt":
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
        if native.edit_apply(script, form) == lemma:
            return script
    return ("k", 0, 0, "", lemma, True)


def _cased(form: str, case: str) -> str:
    if case == "l":
        return native.lower_case(form.encode("utf-8", "replace")).decode("utf-8", "replace")
    return form if case == "k" else form[:1] + _cased(form[1:], "l")


def _same_case(cased: str, lemma: str) -> bool:
    """Whether the lemma has capitals exactly if the cased form has."""
    return any(c.isupper() for c in cased) == any(c.isupper() for c in lemma)
