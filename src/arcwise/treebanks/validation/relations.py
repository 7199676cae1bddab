"""Level 3: language-independent guidelines of Universal Dependencies on relations and tags."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from arcwise.treebanks.rows import DEPS, FEATS, FORM, LEMMA, MISC
from arcwise.treebanks.validation.fields import features
from arcwise.treebanks.validation.tree import RawTree


@dataclass(frozen=True)
class Violation:
    """A rule that a tree violates, reported at word ``at``."""

    rule: str
    at: int
    column: str
    message: str


_MOST_NAMED = 50  # words that a message lists

_Check = Callable[[RawTree, int], Iterator[Violation]]

_ALLOWED_TAGS = {
    "det": ("DET", "PRON"),
    "nummod": ("NUM", "NOUN", "SYM"),
    "advmod": ("ADV", "ADJ", "CCONJ", "DET", "PART", "SYM"),
    "expl": ("PRON", "DET", "PART"),
    "aux": ("AUX",),
    "cop": ("AUX", "PRON", "DET", "SYM"),
    "punct": ("PUNCT",),
}
_FORBIDDEN_TAGS = {
    "case": ("PROPN", "ADJ", "PRON", "DET", "NUM", "AUX"),
    "mark": ("NOUN", "PROPN", "ADJ", "PRON", "DET", "NUM", "AUX", "INTJ"),
    "cc": ("NOUN", "PROPN", "ADJ", "PRON", "DET", "NUM", "VERB", "AUX", "INTJ"),
}

_FUNCTIONAL = frozenset(["goeswith", "fixed", "reparandum", "conj", "cc", "punct"])
_DET_CHILDREN = _FUNCTIONAL | frozenset(
    ["det", "case", "advmod", "obl", "clf", "flat", "compound", "discourse", "parataxis"]
)
_ALLOWED_CHILDREN: Mapping[str, tuple[str, frozenset[str]]] = {
    "mark": ("leaf-mark-case", _FUNCTIONAL | {"advmod", "obl"}),
    "case": ("leaf-mark-case", _FUNCTIONAL | {"advmod", "obl"}),
    "aux": ("leaf-aux-cop", _FUNCTIONAL),
    "cop": ("leaf-aux-cop", _FUNCTIONAL),
    "det": ("leaf-det", _DET_CHILDREN),
    "clf": ("leaf-clf", _FUNCTIONAL | {"advmod", "obl"}),
    "cc": ("leaf-cc", _FUNCTIONAL - {"cc"}),
    "fixed": ("leaf-fixed", _FUNCTIONAL - {"cc", "fixed"}),
    "goeswith": ("leaf-goeswith", frozenset()),
    "punct": ("leaf-punct", frozenset({"punct"})),
}
"""Relation of a function word → the rule about its dependents, and the relations they may have."""

_LEFT_TO_RIGHT = frozenset(["conj", "fixed", "flat", "goeswith", "appos"])
_NOMINAL_RELATIONS = frozenset(["nsubj", "obj", "iobj", "obl", "vocative", "dislocated", "expl", "nmod"])
_CLAUSES = frozenset(["conj", "parataxis", "root", "csubj", "ccomp", "advcl", "acl", "reparandum"])


def violations(tree: RawTree, word: int, *, with_features: bool) -> Iterator[Violation]:
    """Yield the rules that a word violates, as a dependent or as a head.

    ``with_features``: whether the treebank has FEATS; without them no feature is required.
    """
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
    if head == 0 and relation != "root":
        label = "missing" if tree.labels[word] == "_" else repr(tree.labels[word])
        message = f"the word with HEAD 0 should have the relation root; its relation is {label}"
        yield Violation("0-is-not-root", word, "deprel", message)
    if head > 0 and relation == "root":
        message = f"only the word with HEAD 0 can be root; this word has HEAD {head}"
        yield Violation("root-is-not-0", word, "deprel", message)


def _expected_mood(tree: RawTree, word: int) -> Iterator[Violation]:
    feats = _feats(tree, word)
    if feats.get("VerbForm") == "Fin" and not feats.get("Mood"):
        yield Violation("verbform-fin-without-mood", word, "feats", "VerbForm=Fin should come with Mood")


def _tags(tree: RawTree, word: int) -> Iterator[Violation]:
    upos = _feats(tree, word).get("ExtPos") or tree.upos[word]
    relation = tree.relations[word]
    children = {tree.relations[child] for child in tree.children[word]}
    if "fixed" in children and not _feats(tree, word).get("ExtPos"):
        message = f"{_name(tree, word)} heads a fixed expression and should have ExtPos"
        yield Violation("fixed-without-extpos", word, "feats", message)
    allowed, forbidden = _ALLOWED_TAGS.get(relation), _FORBIDDEN_TAGS.get(relation, ())
    exempt = relation == "advmod" and "goeswith" in children
    if allowed and upos not in allowed and not exempt:
        message = f"{relation} should be {_alternatives(allowed)}, not {upos}"
        yield Violation(f"rel-upos-{relation}", word, "upos", message)
    if upos in forbidden:
        yield Violation(f"rel-upos-{relation}", word, "upos", f"{relation} should not be {upos}")
    if upos == "PUNCT" and not relation.startswith(("punct", "root")):
        message = f"PUNCT should have the relation punct, not {tree.labels[word]!r}"
        yield Violation("upos-rel-punct", word, "deprel", message)
    if upos == "PROPN" and (relation == "fixed" or "fixed" in children):
        message = f"proper nouns are joined by flat, not fixed: {_name(tree, word)}"
        yield Violation("rel-upos-fixed", word, "deprel", message)


def _alternatives(tags: tuple[str, ...]) -> str:
    return tags[0] if len(tags) == 1 else f"{', '.join(tags[:-1])} or {tags[-1]}"


def _foreign(tree: RawTree, word: int) -> Iterator[Violation]:
    if tree.labels[word] != "flat:foreign":
        return
    for node in (word, tree.heads[word]):
        feats = tree.row(node).fields[FEATS] if node > 0 else ""
        if node > 0 and (tree.upos[node] != "X" or feats != "Foreign=Yes"):
            message = (
                f"words of flat:foreign should be X with only Foreign=Yes, not {tree.upos[node]} with {feats}"
            )
            yield Violation("flat-foreign-upos-feats", node, "upos", message)


def _direction(tree: RawTree, word: int) -> Iterator[Violation]:
    relation, head = tree.relations[word], tree.heads[word]
    if relation in _LEFT_TO_RIGHT and word < head:
        message = f"{relation} should follow its head, but the head is word {head}"
        yield Violation(f"right-to-left-{relation}", word, "head", message)


def _arguments(tree: RawTree, word: int) -> Iterator[Violation]:
    subjects = [child for child in tree.children[word] if _is_inner_subject(tree, child)]
    objects = [child for child in tree.children[word] if tree.relations[child] == "obj"]
    if len(subjects) > 1:
        message = (
            f"{_name(tree, word)} has {len(subjects)} subjects (words {_join(subjects)}); "
            "only one is allowed, the outer one needs the subtype :outer"
        )
        yield Violation("too-many-subjects", word, "deprel", message)
    if len(objects) > 1:
        message = f"{_name(tree, word)} has {len(objects)} direct objects (words {_join(objects)}), not one"
        yield Violation("too-many-objects", word, "deprel", message)


def _is_inner_subject(tree: RawTree, word: int) -> bool:
    return (
        "subj" in tree.relations[word]
        and tree.labels[word] not in ("nsubj:outer", "csubj:outer")
        and "Subject=Outer" not in tree.row(word).fields[MISC].split("|")
    )


def _join(words: list[int]) -> str:
    return ", ".join(map(str, words[: _MOST_NAMED - 1])) + ", …" * (len(words) >= _MOST_NAMED)


def _oblique(tree: RawTree, word: int) -> Iterator[Violation]:
    head = tree.heads[word]
    if tree.relations[word] != "obl" or head <= 0 or tree.upos[head] not in ("NOUN", "PROPN", "PRON"):
        return
    # A nominal with a copula or a subject is a predicate, which may have obliques.
    clause = any(tree.relations[child] in ("cop", "nsubj", "csubj") for child in tree.children[head])
    if tree.relations[head] in _NOMINAL_RELATIONS and not clause:
        message = f"{tree.labels[word]} depends on a nominal, {_name(tree, head)}, and should be nmod"
        yield Violation("obl-should-be-nmod", word, "deprel", message)


def _orphan(tree: RawTree, word: int) -> Iterator[Violation]:
    head = tree.heads[word]
    if tree.relations[word] == "orphan" and head >= 0 and tree.relations[head] not in _CLAUSES:
        parent = tree.labels[head] or "the root"
        message = f"orphan should depend on conj or the head of another clause, not on {parent}"
        yield Violation("orphan-parent", word, "head", message)


def _leaves(tree: RawTree, word: int) -> Iterator[Violation]:
    relation = tree.relations[word]
    if relation not in _ALLOWED_CHILDREN:
        return
    rule, allowed = _ALLOWED_CHILDREN[relation]
    for child in tree.children[word]:
        child_relation = tree.relations[child]
        negation = (
            child_relation == "advmod"
            and tree.upos[child] in ("PART", "ADV")
            and _feats(tree, child).get("Polarity") == "Neg"
        )
        possessor = (
            relation == "det"
            and child_relation in ("appos", "acl", "nmod")
            and _feats(tree, word).get("Poss") == "Yes"
        )
        if child_relation in allowed or possessor or (negation and relation != "punct"):
            continue
        crossing = tree.heads[word] > 0 and word in tree.nonprojective
        if child_relation == "punct" and (not tree.complete or crossing):
            continue  # punctuation may have no other projective attachment
        message = (
            f"{tree.labels[child]} should depend on a content word, not on {_name(tree, word)} ({relation})"
        )
        yield Violation(rule, child, "head", message)


def _fixed(tree: RawTree, word: int) -> Iterator[Violation]:
    parts = [child for child in tree.children[word] if tree.relations[child] == "fixed"]
    if not parts:
        return
    inside = range(word + 1, parts[-1])
    gap = [node for node in inside if node not in parts and tree.relations[node] != "punct"]
    if gap:
        message = f"the fixed expression of {_name(tree, word)} is interrupted by words {_join(gap)}"
        yield Violation("fixed-gap", word, "deprel", message)


def _goeswith(tree: RawTree, word: int) -> Iterator[Violation]:
    later_parts = [child for child in tree.children[word] if tree.relations[child] == "goeswith"]
    if later_parts:
        parts = sorted([word, *later_parts])
        if parts != list(range(word, later_parts[-1] + 1)):
            message = f"the parts of a goeswith word should be adjacent: words {_join(parts)}"
            yield Violation("goeswith-gap", word, "deprel", message)
        if any("SpaceAfter=No" in tree.row(part).fields[MISC].split("|") for part in parts[:-1]):
            message = "the parts of a goeswith word are separated by spaces; remove SpaceAfter=No"
            yield Violation("goeswith-nospace", word, "misc", message)
    if tree.relations[word] == "goeswith":
        yield from _later_part(tree, word)


def _later_part(tree: RawTree, word: int) -> Iterator[Violation]:
    fields = tree.row(word).fields
    later = "a later part of a goeswith word should"
    if fields[LEMMA] != "_":
        message = f"{later} have no lemma, not {fields[LEMMA]!r}; the first part has the lemma"
        yield Violation("goeswith-lemma", word, "lemma", message)
    if tree.upos[word] != "X":
        message = f"{later} be X, not {tree.upos[word]}; the first part has the tag"
        yield Violation("goeswith-upos", word, "upos", message)
    if fields[FEATS] != "_":
        message = f"{later} have no features, not {fields[FEATS]!r}; the first part has them"
        yield Violation("goeswith-feats", word, "feats", message)
    arc = f"{tree.heads[word]}:{tree.labels[word]}"
    if fields[DEPS] not in ("_", arc):
        message = f"{later} have only {arc}, not {fields[DEPS]!r}"
        yield Violation("goeswith-edeps", word, "deps", message)


def _required_features(tree: RawTree, word: int) -> Iterator[Violation]:
    feats = _feats(tree, word)
    if tree.upos[word] in ("PRON", "DET") and not feats.get("PronType"):
        message = f"{tree.upos[word]} should have PronType"
        yield Violation("pron-det-without-prontype", word, "feats", message)
    has_parts = any(tree.relations[child] == "goeswith" for child in tree.children[word])
    if has_parts and feats.get("Typo") != "Yes":
        message = f"{_name(tree, word)} is the first part of a goeswith word and should have Typo=Yes"
        yield Violation("goeswith-missing-typo", word, "feats", message)


def _punctuation(tree: RawTree, word: int) -> Iterator[Violation]:
    if word in tree.nonprojective:
        words = list(islice(tree.crossed(word), _MOST_NAMED))
        message = (
            f"punctuation should be attached projectively; its arc from {tree.heads[word]} "
            f"crosses words {_join(words)}"
        )
        yield Violation("punct-is-nonproj", word, "head", message)
    if tree.nonprojective:
        crossing = tree.made_nonprojective(word)
        if crossing:
            message = (
                f"punctuation makes the arcs of words {_join(crossing)} non-projective; attach it inside them"
            )
            yield Violation("punct-causes-nonproj", word, "head", message)


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
