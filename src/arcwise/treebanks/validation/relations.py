"""Level 3: what the guidelines of Universal Dependencies say of relations and tags in every language."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from arcwise.treebanks.rows import DEPS, FEATS, FORM, LEMMA, MISC
from arcwise.treebanks.validation.fields import features
from arcwise.treebanks.validation.tree import RawTree


@dataclass(frozen=True)
class Violation:
    """A rule that a word breaks; ``at`` is the word where it is told."""

    rule: str
    at: int
    column: str
    message: str


_Check = Callable[[RawTree, int], Iterator[Violation]]

_ONLY = {
    "det": ("DET", "PRON"),
    "nummod": ("NUM", "NOUN", "SYM"),
    "advmod": ("ADV", "ADJ", "CCONJ", "DET", "PART", "SYM"),
    "expl": ("PRON", "DET", "PART"),
    "aux": ("AUX",),
    "cop": ("AUX", "PRON", "DET", "SYM"),
    "punct": ("PUNCT",),
}
"""Relation → the tags that it may have."""
_NEVER = {
    "case": ("PROPN", "ADJ", "PRON", "DET", "NUM", "AUX"),
    "mark": ("NOUN", "PROPN", "ADJ", "PRON", "DET", "NUM", "AUX", "INTJ"),
    "cc": ("NOUN", "PROPN", "ADJ", "PRON", "DET", "NUM", "VERB", "AUX", "INTJ"),
}
"""Relation → the tags that it may not have."""

_SMALL = frozenset(["goeswith", "fixed", "reparandum", "conj", "cc", "punct"])
_CHILDREN: Mapping[str, tuple[str, frozenset[str]]] = {
    "mark": ("leaf-mark-case", _SMALL | {"advmod", "obl"}),
    "case": ("leaf-mark-case", _SMALL | {"advmod", "obl"}),
    "aux": ("leaf-aux-cop", _SMALL),
    "cop": ("leaf-aux-cop", _SMALL),
    "det": (
        "leaf-det",
        _SMALL
        | frozenset(["det", "case", "advmod", "obl", "clf", "flat", "compound", "discourse", "parataxis"]),
    ),
    "clf": ("leaf-clf", _SMALL | {"advmod", "obl"}),
    "cc": ("leaf-cc", _SMALL - {"cc"}),
    "fixed": ("leaf-fixed", _SMALL - {"cc", "fixed"}),
    "goeswith": ("leaf-goeswith", frozenset()),
    "punct": ("leaf-punct", frozenset({"punct"})),
}
"""Relation of a function word → the rule, and the relations of children that it may have."""

_LEFT_TO_RIGHT = frozenset(["conj", "fixed", "flat", "goeswith", "appos"])
_NOMINAL_PLACES = frozenset(["nsubj", "obj", "iobj", "obl", "vocative", "dislocated", "expl", "nmod"])
_CLAUSES = frozenset(["conj", "parataxis", "root", "csubj", "ccomp", "advcl", "acl", "reparandum"])


def violations(tree: RawTree, word: int, *, with_features: bool) -> Iterator[Violation]:
    """The rules that one word, as a dependent or as a head, breaks. ``with_features``: the treebank has FEATS."""
    for check in _CHECKS:
        yield from check(tree, word)
    if with_features:
        yield from _required_features(tree, word)
    if tree.relations[word] == "punct" and tree.complete:
        yield from _punctuation(tree, word)


def _feats(tree: RawTree, word: int) -> Mapping[str, str]:
    return features(tree.row(word).fields[FEATS])


def _name(tree: RawTree, word: int) -> str:
    return f"word {word} ({tree.row(word).fields[FORM]})"


def _root(tree: RawTree, word: int) -> Iterator[Violation]:
    head, relation = tree.heads[word], tree.relations[word]
    if head == 0 and relation != "root" and tree.labels[word] != "_":
        yield Violation(
            "0-is-not-root", word, "deprel", f"found {tree.labels[word]!r} with HEAD 0, expected root"
        )
    elif head == 0 and relation != "root":
        yield Violation("0-is-not-root", word, "deprel", "found no relation with HEAD 0, expected root")
    if head > 0 and relation == "root":
        yield Violation(
            "root-is-not-0",
            word,
            "deprel",
            f"found root with HEAD {head}, expected another relation, or HEAD 0",
        )


def _expected_mood(tree: RawTree, word: int) -> Iterator[Violation]:
    feats = _feats(tree, word)
    if feats.get("VerbForm") == "Fin" and not feats.get("Mood"):
        yield Violation(
            "verbform-fin-without-mood", word, "feats", "found VerbForm=Fin without Mood, expected a Mood too"
        )


def _tags(tree: RawTree, word: int) -> Iterator[Violation]:
    upos = _feats(tree, word).get("ExtPos") or tree.upos[word]
    relation = tree.relations[word]
    children = {tree.relations[child] for child in tree.children[word]}
    if "fixed" in children and not _feats(tree, word).get("ExtPos"):
        yield Violation(
            "fixed-without-extpos",
            word,
            "feats",
            f"found no ExtPos with {_name(tree, word)}, which heads a fixed expression, expected one",
        )
    if (
        relation in _ONLY
        and upos not in _ONLY[relation]
        and not (relation == "advmod" and "goeswith" in children)
    ):
        yield Violation(
            f"rel-upos-{relation}",
            word,
            "upos",
            f"found {upos} with the relation {relation}, expected {_either(_ONLY[relation])}",
        )
    if relation in _NEVER and upos in _NEVER[relation]:
        yield Violation(
            f"rel-upos-{relation}",
            word,
            "upos",
            f"found {upos} with the relation {relation}, expected no {_either(_NEVER[relation])}",
        )
    if upos == "PUNCT" and not relation.startswith(("punct", "root")):
        yield Violation(
            "upos-rel-punct", word, "deprel", f"found {tree.labels[word]!r} with PUNCT, expected punct"
        )
    if upos == "PROPN" and (relation == "fixed" or "fixed" in children):
        yield Violation(
            "rel-upos-fixed",
            word,
            "deprel",
            f"found a proper noun in a fixed expression ({_name(tree, word)}), expected flat",
        )


def _either(tags: tuple[str, ...]) -> str:
    return tags[0] if len(tags) == 1 else f"{', '.join(tags[:-1])} or {tags[-1]}"


def _foreign(tree: RawTree, word: int) -> Iterator[Violation]:
    if tree.labels[word] != "flat:foreign":
        return
    for node in (word, tree.heads[word]):
        if node > 0 and (tree.upos[node] != "X" or tree.row(node).fields[FEATS] != "Foreign=Yes"):
            yield Violation(
                "flat-foreign-upos-feats",
                node,
                "upos",
                f"found {tree.upos[node]} and {tree.row(node).fields[FEATS]} with flat:foreign, expected X and Foreign=Yes alone",
            )


def _direction(tree: RawTree, word: int) -> Iterator[Violation]:
    relation, head = tree.relations[word], tree.heads[word]
    if relation in _LEFT_TO_RIGHT and word < head:
        yield Violation(
            f"right-to-left-{relation}",
            word,
            "head",
            f"found the head {head} after the word, expected the head of {relation} before it",
        )


def _arguments(tree: RawTree, word: int) -> Iterator[Violation]:
    subjects = [child for child in tree.children[word] if _is_inner_subject(tree, child)]
    objects = [child for child in tree.children[word] if tree.relations[child] == "obj"]
    if len(subjects) > 1:
        yield Violation(
            "too-many-subjects",
            word,
            "deprel",
            f"found {len(subjects)} subjects of {_name(tree, word)} (words {_list(subjects)}), expected one, or :outer for the outer one",
        )
    if len(objects) > 1:
        yield Violation(
            "too-many-objects",
            word,
            "deprel",
            f"found {len(objects)} direct objects of {_name(tree, word)} (words {_list(objects)}), expected one",
        )


def _is_inner_subject(tree: RawTree, word: int) -> bool:
    return (
        "subj" in tree.relations[word]
        and tree.labels[word] not in ("nsubj:outer", "csubj:outer")
        and "Subject=Outer" not in tree.row(word).fields[MISC].split("|")
    )


def _list(words: list[int]) -> str:
    return ", ".join(map(str, words))


def _oblique(tree: RawTree, word: int) -> Iterator[Violation]:
    head = tree.heads[word]
    if tree.relations[word] != "obl" or head <= 0 or tree.upos[head] not in ("NOUN", "PROPN", "PRON"):
        return
    clause = any(tree.relations[child] in ("cop", "nsubj", "csubj") for child in tree.children[head])
    if tree.relations[head] in _NOMINAL_PLACES and not clause:
        yield Violation(
            "obl-should-be-nmod",
            word,
            "deprel",
            f"found {tree.labels[word]} under {_name(tree, head)}, which is a nominal and no predicate, expected nmod",
        )


def _orphan(tree: RawTree, word: int) -> Iterator[Violation]:
    head = tree.heads[word]
    if tree.relations[word] == "orphan" and head >= 0 and tree.relations[head] not in _CLAUSES:
        yield Violation(
            "orphan-parent",
            word,
            "head",
            f"found orphan under {tree.labels[head] or 'the root'}, expected it under conj or another clause",
        )


def _leaves(tree: RawTree, word: int) -> Iterator[Violation]:
    relation = tree.relations[word]
    if relation not in _CHILDREN:
        return
    rule, allowed = _CHILDREN[relation]
    for child in tree.children[word]:
        kind = tree.relations[child]
        negation = (
            kind == "advmod"
            and tree.upos[child] in ("PART", "ADV")
            and _feats(tree, child).get("Polarity") == "Neg"
        )
        possessor = (
            relation == "det" and kind in ("appos", "acl", "nmod") and _feats(tree, word).get("Poss") == "Yes"
        )
        if kind in allowed or possessor or (negation and relation != "punct"):
            continue
        if kind == "punct" and (not tree.complete or (tree.heads[word] > 0 and tree.gap(word))):
            continue  # it may have no other projective place
        yield Violation(
            rule,
            child,
            "head",
            f"found {tree.labels[child]} under {_name(tree, word)}, which is {relation}, expected it under a content word",
        )


def _fixed(tree: RawTree, word: int) -> Iterator[Violation]:
    parts = [child for child in tree.children[word] if tree.relations[child] == "fixed"]
    if not parts:
        return
    between = (
        node for node in range(word + 1, parts[-1]) if node not in parts and tree.relations[node] != "punct"
    )
    gap = list(between)
    if gap:
        yield Violation(
            "fixed-gap",
            word,
            "deprel",
            f"found words {_list(gap)} inside the fixed expression of {_name(tree, word)}, expected none but punctuation",
        )


def _goeswith(tree: RawTree, word: int) -> Iterator[Violation]:
    parts = [child for child in tree.children[word] if tree.relations[child] == "goeswith"]
    if parts:
        together = sorted([word, *parts])
        if together != list(range(word, parts[-1] + 1)):
            yield Violation(
                "goeswith-gap",
                word,
                "deprel",
                f"found the parts {_list(together)} of a word (goeswith), expected them side by side",
            )
        if any("SpaceAfter=No" in tree.row(part).fields[MISC].split("|") for part in together[:-1]):
            yield Violation(
                "goeswith-nospace",
                word,
                "misc",
                "found SpaceAfter=No between the parts of a word (goeswith), expected a blank there",
            )
    if tree.relations[word] == "goeswith":
        yield from _further_part(tree, word)


def _further_part(tree: RawTree, word: int) -> Iterator[Violation]:
    fields = tree.row(word).fields
    expected = "in a further part of a word (goeswith), expected"
    if fields[LEMMA] != "_":
        yield Violation(
            "goeswith-lemma",
            word,
            "lemma",
            f"found {fields[LEMMA]!r} {expected} _, for the first part has the lemma",
        )
    if tree.upos[word] != "X":
        yield Violation(
            "goeswith-upos",
            word,
            "upos",
            f"found {tree.upos[word]} {expected} X, for the first part has the tag",
        )
    if fields[FEATS] != "_":
        yield Violation(
            "goeswith-feats",
            word,
            "feats",
            f"found {fields[FEATS]!r} {expected} _, for the first part has the features",
        )
    if fields[DEPS] not in ("_", f"{tree.heads[word]}:{tree.labels[word]}"):
        yield Violation(
            "goeswith-edeps",
            word,
            "deps",
            f"found {fields[DEPS]!r} {expected} {tree.heads[word]}:{tree.labels[word]} alone",
        )


def _required_features(tree: RawTree, word: int) -> Iterator[Violation]:
    feats = _feats(tree, word)
    if tree.upos[word] in ("PRON", "DET") and not feats.get("PronType"):
        yield Violation(
            "pron-det-without-prontype",
            word,
            "feats",
            f"found {tree.upos[word]} without PronType, expected one",
        )
    parts = any(tree.relations[child] == "goeswith" for child in tree.children[word])
    if parts and feats.get("Typo") != "Yes":
        yield Violation(
            "goeswith-missing-typo",
            word,
            "feats",
            f"found no Typo=Yes with {_name(tree, word)}, which is in parts (goeswith), expected it",
        )


def _punctuation(tree: RawTree, word: int) -> Iterator[Violation]:
    gap = tree.gap(word)
    if gap:
        words = [node for node in range(1, len(tree) + 1) if gap >> node & 1]
        yield Violation(
            "punct-is-nonproj",
            word,
            "head",
            f"found punctuation attached to {tree.heads[word]} across words {_list(words)}, expected no crossing",
        )
    if any(tree.gaps):
        crossing = tree.made_nonprojective(word)
        if crossing:
            yield Violation(
                "punct-causes-nonproj",
                word,
                "head",
                f"found punctuation under the arcs of words {_list(crossing)}, which it makes non-projective, expected it attached inside them",
            )


_CHECKS: tuple[_Check, ...] = (
    _root,
    _expected_mood,
    _tags,
    _foreign,
    _direction,
    _arguments,
    _oblique,
    _orphan,
    _leaves,
    _fixed,
    _goeswith,
)
