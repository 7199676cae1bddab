"""Generate enhanced dependencies from a basic tree, each arc with the rule that made it.

The rules are those of the UD guidelines for enhanced dependencies, after Schuster & Manning, "Enhanced
English Universal Dependencies" (LREC 2016): labels with case markers and conjunctions, propagation over
coordination, subjects of open complements, and antecedents of relative clauses. Elided predicates, which need
empty nodes, are not generated.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from arcwise.errors import InputError
from arcwise.treebanks.edits.values import SetDeps
from arcwise.treebanks.field_values import pairs
from arcwise.treebanks.sentence import Sentence
from arcwise.treebanks.treebank import Treebank

EnhancementRule = Literal[
    "basic", "case", "conj-head", "conj-dependent", "xcomp-subject", "relative", "relative-object"
]
ENHANCEMENT_RULES: tuple[EnhancementRule, ...] = (
    "case", "conj-head", "conj-dependent", "xcomp-subject", "relative", "relative-object",
)  # fmt: skip
"""The rules that can be switched off; ``basic`` arcs are always there."""
MAX_WORDS = 2000
"""Longer sentences are skipped: coordination can produce as many arcs as there are pairs of words."""
RULE_DESCRIPTIONS: dict[EnhancementRule, str] = {
    "basic": "the arc of the basic tree",
    "case": "the arc of the basic tree, with the lemma of its case marker, mark or conjunction",
    "conj-head": "a conjunct has the head of the first conjunct",
    "conj-dependent": "conjuncts share a dependent of the first conjunct",
    "xcomp-subject": "the subject of an open complement is the object or the subject of its head",
    "relative": "the antecedent takes the place of the relative pronoun in the clause",
    "relative-object": "the antecedent is the object of a relative clause that has no pronoun and no object",
}

_WITH_CASE = ("nmod", "obl")
_WITH_MARK = ("acl", "advcl")
_SUBJECTS = ("nsubj", "csubj")
_SHARED_AFTER = ("obj", "iobj", "ccomp", "xcomp")
"""Arguments that all conjuncts share if they follow the last one; modifiers there are ambiguous."""
_NOT_SHARED = (
    "root", "conj", "punct", "cc", "fixed", "flat", "goeswith", "reparandum", "orphan", "parataxis", "list",
)  # fmt: skip
"""Relations of the first conjunct that the others do not take over."""
_NOT_A_LETTER = re.compile(r"[\W\d]+")


@dataclass(frozen=True)
class GeneratedArc:
    """An arc of the enhanced graph, and the rule that made it; words count from 1, 0 is the root."""

    head: int
    word: int
    label: str
    rule: EnhancementRule


@dataclass(frozen=True)
class GeneratedDeps:
    """DEPS of one word as it is generated, and the arcs behind it."""

    row: str
    arcs: tuple[GeneratedArc, ...]

    @property
    def edit(self) -> SetDeps:
        """The edit that writes these arcs."""
        return SetDeps(self.row, tuple((str(arc.head), arc.label) for arc in self.arcs))


def generated_arcs(
    sentence: Sentence,
    *,
    rules: Collection[EnhancementRule] = ENHANCEMENT_RULES,
    with_case_feature: bool = False,
) -> list[GeneratedArc]:
    r"""The enhanced graph of a sentence, by its tree alone: DEPS and empty nodes are ignored.

    ``rules``: those to apply. ``with_case_feature``: labels end in the morphological case, as in
    ``obl:in:loc``; ``has_case_feature(treebank)`` says whether a treebank should have them. Words whose head
    or label is missing get no arc. Raises ``InputError`` for more than ``MAX_WORDS`` words.

    >>> rows = ["1 She she PRON _ _ 2 nsubj _ _", "2 wants want VERB _ _ 0 root _ _",
    ...         "3 to to PART _ _ 4 mark _ _", "4 sleep sleep VERB _ _ 2 xcomp _ _"]
    >>> sentence = Treebank.from_string("\n".join(rows).replace(" ", "\t") + "\n\n")[0]
    >>> [(arc.head, arc.label, arc.rule) for arc in generated_arcs(sentence) if arc.word == 1]
    [(2, 'nsubj', 'basic'), (4, 'nsubj:xsubj', 'xcomp-subject')]
    """
    for rule in rules:
        if rule not in ENHANCEMENT_RULES:
            raise InputError(f"rules: found {rule!r}, expected {', '.join(ENHANCEMENT_RULES)}")
    if len(sentence) > MAX_WORDS:
        raise InputError(f"sentence: found {len(sentence)} words, expected at most {MAX_WORDS}")
    graph = _Graph(sentence, with_case_feature=with_case_feature, case="case" in rules)
    if "conj-head" in rules:
        graph.add_heads_of_conjuncts()
    if "conj-dependent" in rules:
        graph.add_shared_dependents()
    if "xcomp-subject" in rules:
        graph.add_controlled_subjects()
    # Last, because antecedents take over what pronouns have got by other rules.
    if "relative" in rules:
        graph.add_antecedents()
    if "relative-object" in rules:
        graph.add_objects_of_relative_clauses()
    return graph.sorted_arcs()


def generated_deps(
    sentence: Sentence,
    *,
    rules: Collection[EnhancementRule] = ENHANCEMENT_RULES,
    with_case_feature: bool = False,
    overwrite: bool = False,
) -> list[GeneratedDeps]:
    """DEPS for the words of a sentence, as suggestions; empty if ``obstacle`` has a reason."""
    if obstacle(sentence, overwrite=overwrite) is not None:
        return []
    by_word: dict[int, list[GeneratedArc]] = {}
    for arc in generated_arcs(sentence, rules=rules, with_case_feature=with_case_feature):
        by_word.setdefault(arc.word, []).append(arc)
    return [GeneratedDeps(str(word), tuple(arcs)) for word, arcs in sorted(by_word.items())]


def obstacle(sentence: Sentence, *, overwrite: bool = False) -> str | None:
    """The reason why a sentence is skipped: a graph half by hand and half by rule would be inconsistent.

    ``overwrite``: replace DEPS. Empty nodes are never touched, because no rule could make them again.
    """
    if any("." in row[0] for row in sentence.rows):
        return "has empty nodes"
    if not overwrite and any(deps != "_" for deps in sentence.deps):
        return "has DEPS"
    if any(head < 0 for head in sentence.heads[1:].tolist()) or "_" in sentence.deprels:
        return "has words without HEAD or DEPREL"
    return f"has more than {MAX_WORDS} words" if len(sentence) > MAX_WORDS else None


def has_case_feature(treebank: Treebank) -> bool:
    """Whether nouns have the feature Case, so that it belongs into enhanced labels."""
    columns = zip(treebank.column("upos"), treebank.column("feats"), strict=True)
    return any("Case=" in feats and upos == "NOUN" for upos, feats in columns)


def enhanced(treebank: Treebank, deps: Mapping[int, Sequence[GeneratedDeps]]) -> Treebank:
    """Write generated DEPS into sentences, by their numbers; all other bytes stay unchanged."""
    from arcwise.treebanks.edits import edited

    blocks = [
        edited(sentence.source_bytes, [generated.edit for generated in deps[sentence.number]])
        if deps.get(sentence.number)
        else sentence.source_bytes
        for sentence in treebank
    ]
    return Treebank(b"".join(blocks), source=treebank.source, first_line=treebank.first_line)


class _Graph:
    """The graph while rules add arcs to it; words count from 1."""

    def __init__(self, sentence: Sentence, *, with_case_feature: bool, case: bool) -> None:
        self.heads = sentence.heads.tolist()
        self.labels = ["", *sentence.deprels]
        self.upos = ["", *sentence.upos]
        self.lemmas = ["", *map(_marker_text, sentence.lemmas, sentence.forms, sentence.upos)]
        self.feats: list[dict[str, str]] = [{}, *(pairs(feats) for feats in sentence.feats)]
        self.with_case_feature, self.case = with_case_feature, case
        self.words = range(1, len(self.heads))
        self.children: list[list[int]] = [[] for _ in self.heads]
        for word in self.words:
            if self.heads[word] > 0 and self.labels[word] != "_":
                self.children[self.heads[word]].append(word)
        self.arcs: list[dict[tuple[int, str], EnhancementRule]] = [{} for _ in self.heads]
        """For each word: head and label → rule."""
        self.subjects_of: list[list[int]] = [[] for _ in self.heads]
        """For each word: its subjects in the enhanced graph."""
        self.depths = self._depths()
        for word in self.words:
            if self.heads[word] >= 0 and self.labels[word] != "_":
                label = self.augmented(word, self.labels[word])
                self.add(word, self.heads[word], label, "basic" if label == self.labels[word] else "case")

    def add(self, word: int, head: int, label: str, rule: EnhancementRule) -> None:
        """Add an arc, unless the graph has it; a word is never its own head."""
        if word == head or (head, label) in self.arcs[word]:
            return
        self.arcs[word][head, label] = rule
        if _universal(label) in _SUBJECTS and not label.endswith(":outer"):
            self.subjects_of[head].append(word)

    def sorted_arcs(self) -> list[GeneratedArc]:
        """All arcs, by word, head and label."""
        return [
            GeneratedArc(head, word, label, self.arcs[word][head, label])
            for word in self.words
            for head, label in sorted(self.arcs[word])
        ]

    def children_labelled(self, word: int, *relations: str) -> list[int]:
        """The dependents in the basic tree with one of these universal relations."""
        return [child for child in self.children[word] if _universal(self.labels[child]) in relations]

    def subjects(self, word: int) -> list[int]:
        """The subjects in the basic tree, without those of an outer clause."""
        subjects = self.children_labelled(word, *_SUBJECTS)
        return [child for child in subjects if not self.labels[child].endswith(":outer")]

    # ---- labels with case markers and conjunctions

    def augmented(self, word: int, label: str, *, marked_by: int | None = None) -> str:
        """A label with the lemmas of markers; ``marked_by``: the word whose markers stand in for missing
        ones."""
        if not self.case:
            return label
        if label in _WITH_CASE:
            markers = self._markers(word, "case") or (self._markers(marked_by, "case") if marked_by else "")
            case = self.feats[word].get("Case", "").lower() if self.with_case_feature else ""
            return ":".join(part for part in (label, markers, case if case.isalpha() else "") if part)
        if label in _WITH_MARK:
            markers = self._markers(word, "mark", "case")
            markers = markers or (self._markers(marked_by, "mark", "case") if marked_by else "")
            return f"{label}:{markers}" if markers else label
        if label == "conj":
            conjunction = self._conjunction(word)
            return f"{label}:{conjunction}" if conjunction else label
        return label

    def _markers(self, word: int, *relations: str) -> str:
        """The marker next to the word: the last one before it, or the first one after it."""
        markers = self.children_labelled(word, *relations)
        if not markers and "mark" in relations:
            markers = [child for child in self.children_labelled(word, "advmod") if self._subordinates(child)]
        before = [marker for marker in markers if marker < word]
        return self._expression(before[-1] if before else markers[0]) if markers else ""

    def _subordinates(self, word: int) -> bool:
        """Whether a word is an adverb such as when that introduces a clause."""
        return self.upos[word] == "ADV" and self.feats[word].get("PronType") in ("Int", "Rel")

    def _expression(self, word: int) -> str:
        """The lemmas of a fixed expression: ``because_of``."""
        parts = [word, *self.children_labelled(word, "fixed")]
        return "_".join(filter(None, (self.lemmas[part] for part in parts)))

    def _conjunction(self, word: int) -> str:
        """The conjunction of a conjunct, or that of the next conjunct which has one: A, B and C."""
        conjuncts = self.children_labelled(self.heads[word], "conj") if self.heads[word] > 0 else []
        for conjunct in conjuncts[conjuncts.index(word) :] if word in conjuncts else ():
            conjunctions = self.children_labelled(conjunct, "cc")
            if conjunctions:
                return self._expression(conjunctions[0])
        return ""

    # ---- coordination

    def _coordinations(self) -> Iterator[tuple[int, list[int]]]:
        """The first conjunct and the others, those that contain others first."""
        for first in sorted(self.words, key=self.depths.__getitem__):
            others = self.children_labelled(first, "conj")
            if others:
                yield first, others

    def add_heads_of_conjuncts(self) -> None:
        """Give each conjunct the heads of the first one."""
        for first, others in self._coordinations():
            for (head, label), rule in list(self.arcs[first].items()):
                if _universal(label) in _NOT_SHARED:
                    continue
                for other in others:
                    is_basic = rule in ("basic", "case")
                    shared = self.augmented(other, self.labels[first], marked_by=first) if is_basic else label
                    self.add(other, head, shared, "conj-head")

    def _depths(self) -> list[int]:
        """The number of arcs above each word; 0 for words that no root dominates."""
        depths = [0] * len(self.heads)
        agenda = [word for word in self.words if self.heads[word] == 0]
        for word in agenda:
            agenda += self.children[word]
            for child in self.children[word]:
                depths[child] = depths[word] + 1
        return depths

    def add_shared_dependents(self) -> None:
        """Give conjuncts the subject of the first one, and the dependents that follow all of them."""
        for first, others in self._coordinations():
            for subject in self.subjects(first)[:1]:
                for other in others:
                    if subject < other and not self.subjects(other):
                        self.add(subject, other, self._subject_label(subject, other), "conj-dependent")
            last = max(others)
            for child in self.children_labelled(first, *_SHARED_AFTER):
                if child > last:
                    for other in others:
                        label = self.augmented(child, self.labels[child])
                        self.add(child, other, label, "conj-dependent")

    def _subject_label(self, subject: int, predicate: int) -> str:
        """The relation of a subject to another predicate, which can be passive."""
        relation = _universal(self.labels[subject])
        return f"{relation}:pass" if self._is_passive(predicate) else relation

    def _is_passive(self, word: int) -> bool:
        """Whether a predicate is passive: by its feature, its auxiliary, or that of the first conjunct."""
        if self.feats[word].get("Voice") == "Pass":
            return True
        auxiliaries = self.children_labelled(word, "aux", "cop")
        if auxiliaries or _universal(self.labels[word]) != "conj":
            return any(self.labels[child] == "aux:pass" for child in auxiliaries)
        is_participle = self.feats[word].get("VerbForm") == "Part" and self.feats[word].get("Tense") != "Pres"
        return is_participle and self.heads[word] > 0 and self._is_passive(self.heads[word])

    # ---- control and relative clauses

    def add_controlled_subjects(self) -> None:
        """Give open complements the object of their head as subject, or else its subject."""
        # Subjects go down a chain of complements: outer ones first.
        for word in sorted(self.words, key=self.depths.__getitem__):
            if self.subjects(word):
                continue
            for head in [head for head, label in self.arcs[word] if head and _universal(label) == "xcomp"]:
                objects = self.children_labelled(head, "obj") or self.children_labelled(head, "iobj")
                for controller in objects or self.subjects_of[head]:
                    self.add(controller, word, "nsubj:xsubj", "xcomp-subject")

    def _relative_clauses(self) -> Iterator[tuple[int, int, int | None]]:
        """Clauses with their antecedents and relative pronouns."""
        for clause in self.words:
            if self.labels[clause] == "acl:relcl" and self.heads[clause] > 0:
                yield clause, self.heads[clause], self._relative_pronoun(clause)

    def add_antecedents(self) -> None:
        """Let the antecedent of a relative clause take the place of the relative pronoun."""
        for clause, antecedent, pronoun in self._relative_clauses():
            if pronoun is None or pronoun == clause or self.labels[pronoun] == "det":
                continue
            for head, label in self.arcs[pronoun]:
                # A noun is not an adverbial modifier: the place where it happened.
                self.add(antecedent, head, "obl" if label == "advmod" else label, "relative")
            self.arcs[pronoun].clear()
            self.add(pronoun, antecedent, "ref", "relative")

    def add_objects_of_relative_clauses(self) -> None:
        """Make the antecedent the object that a clause without relative pronoun lacks."""
        for clause, antecedent, pronoun in self._relative_clauses():
            gap = self._object_gap(clause) if pronoun is None else 0
            if gap:
                self.add(antecedent, gap, "obj", "relative-object")

    def _object_gap(self, clause: int) -> int:
        """The verb whose object a clause without relative pronoun lacks (the book I want to read), or 0."""
        if not self.subjects(clause):
            return 0
        word = clause
        while True:
            if self.upos[word] != "VERB" or self.children_labelled(word, "obj", "ccomp"):
                return 0
            complements = self.children_labelled(word, "xcomp")
            if not complements:
                return word
            word = complements[0]

    def _relative_pronoun(self, clause: int) -> int | None:
        """The first word with PronType=Rel in a clause, not in a relative clause inside it."""
        agenda, pronouns = [clause], []
        while agenda:
            word = agenda.pop()
            if self.feats[word].get("PronType") == "Rel":
                pronouns.append(word)
            agenda += [child for child in self.children[word] if self.labels[child] != "acl:relcl"]
        return min(pronouns, default=None)


def _universal(label: str) -> str:
    return label.partition(":")[0]


def _marker_text(lemma: str, form: str, upos: str) -> str:
    """A word as part of a label: its lemma, or the form of a verb (including), in lowercase letters."""
    return _NOT_A_LETTER.sub("", (form if lemma == "_" or upos == "VERB" else lemma).lower())
