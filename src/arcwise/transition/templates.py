"""Feature templates: Zhang & Nivre (2011), generalised to the two tokens of a move.

A template is a list of elements, each a slot and an attribute, written ``slot:attribute``.

Slots: ``a`` and ``b``, the left and right token of the move; ``a-1 a+1 b-1 b+1``, their neighbours in the
sentence; ``a< a<<``, the next operative tokens to the left; ``b> b>> b>>>``, those to the right, then the
input; ``mid``, an operative token between them; ``a.l1 a.l2 a.r1 a.r2`` (and of b), leftmost and rightmost
children; ``a.h a.hh``, the head and its head. Attributes: ``w`` (word), ``p`` (tag), any atom of
``arcwise.features``; ``label``; for a and b ``left`` and ``right`` (number of children), ``lefts`` and
``rights`` (their labels). Without a slot: ``distance`` and ``between`` (the set of tags between). A template
fires only if all its tokens exist.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from arcwise import native
from arcwise.errors import InputError
from arcwise.features.templates import split_templates
from arcwise.transition.system import Transition, TransitionSystem

SINGLE = split_templates(
    "a:w a:p | a:w | a:p | b:w b:p | b:w | b:p | b>:w b>:p | b>:w | b>:p | b>>:w b>>:p | b>>:p | b>>>:p",
)
PAIRS = split_templates(
    "a:w a:p b:w b:p | a:w a:p b:w | a:w b:w b:p | a:w a:p b:p | a:p b:w b:p | a:w b:w | a:p b:p | b:p b>:p",
)
TRIPLES = split_templates(
    "b:p b>:p b>>:p | a:p b:p b>:p | a.h:p a:p b:p | a:p a.l1:p b:p | a:p a.r1:p b:p | a:p b:p b.l1:p",
    "a:p b:p b.r1:p | a<:p a:p b:p | a<<:p a<:p a:p | a<:p a:p b:p b>:p",
)
DISTANCE = ("a:w distance", "a:p distance", "b:w distance", "b:p distance", "a:p b:p distance")
VALENCY = split_templates(
    "a:w a:right | a:p a:right | a:w a:left | a:p a:left | b:w b:left | b:p b:left | b:p b:right",
    "a:p b:p a:right b:left",
)
CHILDREN = split_templates(
    "a.h:w | a.h:p | a:label | a.l1:w | a.l1:p | a.l1:label | a.r1:w | a.r1:p | a.r1:label | b.l1:w | b.l1:p",
    "b.l1:label | b.r1:p b.r1:label",
)
THIRD_ORDER = split_templates(
    "a.hh:p | a.h:label | a.l2:p a.l2:label | a.r2:p a.r2:label | b.l2:p b.l2:label | a:p a.l1:p a.l2:p",
    "a:p a.r1:p a.r2:p | a:p a.h:p a.hh:p | b:p b.l1:p b.l2:p",
)
LABEL_SETS = split_templates(
    "a:w a:rights | a:p a:rights | a:w a:lefts | a:p a:lefts | b:w b:lefts | b:p b:lefts | b:p b:rights",
)
SHAPES = split_templates(
    "a:suffix3 | b:suffix3 | a:suffix2 b:p | a:suffix3 b:p | a:p b:suffix3 | a:p b:suffix2",
    "a:suffix3 b:suffix3 | a:prefix5 b:p | a:p b:prefix5 | a:shape b:shape | b>:suffix3 | a:suffix3 b:p b>:p",
    "a:p b:suffix3 b>:p | a:suffix2 b:suffix2 b>:p | a:suffix2 b:suffix2 distance",
    "a:suffix3 b:suffix3 distance | b>:suffix2 a:p b:p | b:suffix3 b>:suffix3",
)
NEIGHBOURS = split_templates(
    "a:p a+1:p b-1:p b:p | a-1:p a:p b-1:p b:p | a:p a+1:p b:p b+1:p | a-1:p a:p b:p b+1:p | a:p b:p a+1:w",
    "a:p b:p b-1:w | a:p b:p a-1:w | a:p b:p b+1:w | a:p b:p between",
)
BETWEEN_OPERATIVE = ("mid:p a:p b:p", "mid:w a:p b:p")

MOVE_TEMPLATES = (
    *SINGLE,
    *PAIRS,
    *TRIPLES,
    *DISTANCE,
    *VALENCY,
    *CHILDREN,
    *THIRD_ORDER,
    *LABEL_SETS,
    *SHAPES,
    *NEIGHBOURS,
    *BETWEEN_OPERATIVE,
)
"""Templates that score the move."""

LABEL_TEMPLATES = split_templates(
    "a:w | a:p | b:w | b:p | a:w a:p b:p | a:p b:w b:p | a:w b:w | a:p b:p | a:suffix3 b:p | a:p b:suffix3",
    "a:suffix3 b:suffix3 | a:suffix2 b:suffix2 | a:p b:p distance | a:p b:p between | a-1:p a:p b:p",
    "a:p a+1:p b:p | a:p b-1:p b:p | a:p b:p b+1:p | a:p b:p a.l1:w | a:p b:p b.l1:w | a:p b:p a.r1:p",
    "a:p b:p b.l1:p | a:p b:p b.r1:p | a:p b:p a:rights | a:p b:p b:lefts | a:p b:p a:lefts | a-1:w a:p b:p",
    "a:p b:p b-1:w | a:p b:p b+1:w | a:suffix2 | b:suffix2 | a:suffix3 | b:suffix3 | a:suffix2 b:p",
    "a:p b:suffix2 | a:p a+1:p | b:p b+1:p | a-1:w a:p | b:p b+1:w | a<:p a:p b:p | a:p b:p b>:p",
    "a:p b:p b>:w | a:p a:rights | a:p a:lefts | b:p b:lefts | b:w b:lefts | a.l1:label a:p b:p",
    "a.r1:label a:p b:p | b.l1:label a:p b:p",
)
"""Templates that score the label of an arc."""


def resolve_names(templates: Sequence[str], *, word: str, tag: str) -> list[str]:
    """Replace ``w`` and ``p`` by the word and tag atoms.

    >>> resolve_names(["a:w b:p distance"], word="lower", tag="upos")
    ['a:lower b:upos distance']
    """
    names = {"w": word, "p": tag}
    return [re.sub(r":([wp])(?=\s|$)", lambda m: ":" + names[m[1]], text) for text in templates]


def atoms_in(templates: Sequence[str], *, word: str, tag: str) -> list[str]:
    """The atoms used by templates with resolved names, word and tag first."""
    structural = {"label", "left", "right", "lefts", "rights"}
    attributes = [e.partition(":")[2] for text in templates for e in text.split() if ":" in e]
    return list(dict.fromkeys([word, tag, *(name for name in attributes if name not in structural)]))


@lru_cache(maxsize=1024)
def check_template(text: str) -> None:
    """Raise ``InputError`` if a template cannot be parsed.

    >>> check_template("a:w q:p")
    Traceback (most recent call last):
    arcwise.errors.InputError: template 'a:w q:p': found element 'q:upos', expected a slot and ...
    """
    if not text.strip():
        raise InputError(f"template {text!r}: found nothing, expected elements such as a:p or distance")
    lines = resolve_names([text], word="lower", tag="upos")
    atoms = atoms_in(lines, word="lower", tag="upos")
    vocabulary = native.Vocabulary(np.zeros(0, np.uint64), np.zeros(0, np.uint32))
    arcs = TransitionSystem(
        (Transition("left-arc"), Transition("right-arc"), Transition("shift")), capacity=2
    )
    try:
        native.TransitionScorer(arcs.native, atoms, "lower", "upos", vocabulary, lines, [], 0, 6, 6)
    except ValueError as error:
        raise InputError(f"template {text!r}: {error}") from error
