"""The rules of CoNLL-U and of Universal Dependencies that ``arcwise validate --level`` checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One rule.

    ``official`` is the test id of the official UD validator, None for rules of arcwise alone.
    ``repair`` says what the suggested repair does; it is empty where there is none.
    """

    name: str
    level: int
    description: str
    official: str | None
    warning: bool = False
    repair: str = ""


# One rule per line: name | requirement | repair. An exclamation mark after the name makes it a warning.
_LEVELS = {
    1: """
        invalid-utf | the file is valid UTF-8 and has no replacement character U+FFFD
        unicode-normalization | text is in Unicode normalization form NFC | normalize the sentence
        non-unix-newline | lines end in LF, not CR LF
        misplaced-comment | comments precede the first word of their sentence
        pseudo-empty-line | a blank line contains no spaces or tabs
        empty-sentence | every blank line follows a sentence
        invalid-line | a line is blank, a comment (#) or starts with a word ID
        missing-empty-line | every sentence, including the last, is followed by a blank line
        number-of-columns | a row has ten columns
        invalid-whitespace | ID, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS have no whitespace | remove it
        invalid-whitespace-mwt | the form and lemma of a multiword token contain no whitespace
        empty-column | a column without a value contains _ | write _
        leading-whitespace | a field does not start with whitespace | strip it
        trailing-whitespace | a field does not end with whitespace | strip it
        repeated-whitespace | a field has no two consecutive spaces | keep one
        invalid-word-id | an ID looks like 3, 3-4 or 3.1
        misplaced-word-interval | the range of a multiword token precedes its first word
        misplaced-empty-node | empty nodes after word 3 are 3.1, 3.2, …, in that position
        word-id-sequence | words are numbered 1, 2, 3, …
        reversed-word-interval | the range of a multiword token is ascending
        word-interval-out | the range of a multiword token lies within the sentence
        overlapping-word-intervals | the ranges of multiword tokens do not overlap
    """,
    2: """
        mwt-nonempty-field | a multiword token has only FORM and MISC (and Typo=Yes in FEATS) | write _
        empty-node-nonempty-field | an empty node has _ in HEAD and DEPREL | write _
        unknown-upos | UPOS is one of the 17 universal tags | write the closest tag
        unsorted-features | features are in alphabetical order | sort them
        invalid-feature | a feature is Name=Value in letters and digits, capitalized | capitalize it
        repeated-feature | a feature occurs once | remove the duplicate
        repeated-feature-value | a feature value occurs once | remove the duplicate
        unsorted-feature-values | multiple values of a feature are in alphabetical order | sort them
        invalid-deprel | DEPREL is relation or relation:subtype in lowercase a–z | write it in lowercase
        unknown-udeprel | the relation (before the colon) is a universal one | write the closest one
        invalid-head | HEAD is a number
        unknown-head | HEAD is 0 or a word of the sentence
        invalid-deps | DEPS is a list of head:relation pairs separated by vertical bars
        invalid-ehead | a head in DEPS is the ID of a word or an empty node
        unknown-ehead | a head in DEPS is 0, a word or an empty node of the sentence
        unsorted-deps | DEPS is sorted by head | sort it
        unsorted-deps-2 | relations to the same head in DEPS are in alphabetical order | sort it
        repeated-deps | a relation occurs once in DEPS | remove the duplicate
        deps-self-loop | no node is its own head in DEPS
        invalid-edeprel | a relation in DEPS is relation:subtype:preposition:case in lowercase
        unknown-eudeprel | the relation (before the colon) in DEPS is a universal one, or ref
        empty-misc ! | MISC has no empty attribute | remove it
        empty-misc-key ! | an attribute in MISC has a name before =
        misc-extra-space ! | no whitespace around names and values in MISC | strip it
        misc-attr-typo ! | standard MISC attributes (SpaceAfter, Gloss, …) are spelt correctly | correct it
        repeated-misc | a standard MISC attribute occurs once | remove the duplicate
        head-self-loop | no word is its own head
        multiple-roots | exactly one word has HEAD 0
        non-tree | heads form no cycle
        edeps-only-sometimes | either all sentences have DEPS or none
        unconnected-egraph | every node is reachable from a root in DEPS
        invalid-sent-id | the sent_id comment is # sent_id = ID, without whitespace in the ID
        missing-sent-id | a sentence has a sent_id
        multiple-sent-id | a sentence has only one sent_id
        non-unique-sent-id | sent_ids are unique
        slash-in-sent-id | a sent_id has at most one slash
        invalid-parallel-id | a parallel_id is corpus/sentence, optionally with /alt1, /part1 or /alt1part1
        multiple-parallel-id | a sentence has at most one parallel_id
        non-unique-parallel-id | parallel_ids are unique
        parallel-id-alt | alternatives of a parallel sentence are numbered alt1, alt2, …
        parallel-id-part | parts of a parallel sentence are numbered part1, part2, …
        multiple-newdoc | a sentence has at most one # newdoc
        multiple-newpar | a sentence has at most one # newpar
        spaceafter-newdocpar | the sentence before # newdoc or # newpar does not end in SpaceAfter=No
        missing-text | a sentence has a text comment | write it from the words
        multiple-text | a sentence has only one text comment
        empty-text | the text comment is not empty | write it from the words
        text-trailing-whitespace | the text comment does not end with whitespace | strip it
        nospaceafter-yes | SpaceAfter=No, not NoSpaceAfter=Yes | correct it
        spaceafter-value | SpaceAfter has no value other than No | remove it
        spaceafter-empty-node | an empty node has no SpaceAfter=No | remove it
        spaceafter-mwt-node | SpaceAfter=No is on the multiword token, not on a word in it | remove it
        text-form-mismatch | the text matches the forms of the tokens | adjust SpaceAfter or the text
        missing-spaceafter | a token that is joined to the next in the text has SpaceAfter=No | add it
        text-extra-chars | the text ends with the last token | write it from the words
    """,
    3: """
        0-is-not-root | the word with HEAD 0 has the relation root | write root
        root-is-not-0 | a word with the relation root has HEAD 0 | write the usual relation
        enhanced-0-is-not-root | a relation to 0 in DEPS is root | write root
        enhanced-root-is-not-0 | the relation root in DEPS is to 0
        edeps-identical-to-basic-trees | DEPS differs from HEAD:DEPREL somewhere in the treebank
        empty-node-after-eorphan | DEPS has no orphan where there are empty nodes (orphan seen first)
        eorphan-after-empty-node | DEPS has no orphan where there are empty nodes
        pron-det-without-prontype ! | PRON and DET have PronType, if the treebank has features
        verbform-fin-without-mood ! | a finite verb (VerbForm=Fin) has Mood
        fixed-without-extpos ! | the head of a fixed expression has ExtPos
        rel-upos-det | det is DET or PRON
        rel-upos-nummod | nummod is NUM (or NOUN, SYM)
        rel-upos-advmod | advmod is ADV (or ADJ, CCONJ, DET, PART, SYM)
        rel-upos-expl | expl is PRON (or DET, PART)
        rel-upos-aux | aux is AUX | change VERB to AUX
        rel-upos-cop | cop is AUX (or PRON, DET, SYM) | change VERB to AUX
        rel-upos-case | case is not PROPN, ADJ, PRON, DET, NUM or AUX
        rel-upos-mark | mark is not NOUN, PROPN, ADJ, PRON, DET, NUM, AUX or INTJ
        rel-upos-cc | cc is not NOUN, PROPN, ADJ, PRON, DET, NUM, VERB, AUX or INTJ
        rel-upos-punct | punct is PUNCT | write PUNCT if the form is all punctuation
        upos-rel-punct | PUNCT is punct (or root) | write punct
        rel-upos-fixed | fixed contains no proper nouns
        flat-foreign-upos-feats ! | words of flat:foreign are X with only Foreign=Yes
        right-to-left-conj | conj follows its head
        right-to-left-fixed | fixed follows its head
        right-to-left-flat | flat follows its head
        right-to-left-goeswith | goeswith follows its head
        right-to-left-appos | appos follows its head
        too-many-subjects | a predicate has one subject, besides :outer
        too-many-objects | a predicate has one obj
        obl-should-be-nmod | a modifier of a nominal is nmod, not obl | write nmod
        orphan-parent ! | orphan depends on conj (or the head of another clause)
        leaf-mark-case | mark and case have only certain dependents
        leaf-aux-cop | aux and cop have only certain dependents
        leaf-det | det has only certain dependents
        leaf-clf | clf has only certain dependents
        leaf-cc | cc has only certain dependents
        leaf-fixed | fixed has only certain dependents
        leaf-goeswith | goeswith has no dependents
        leaf-punct | punct has no dependents other than punct
        fixed-gap ! | a fixed expression is contiguous, except for punctuation
        goeswith-gap | the parts of a goeswith word are adjacent
        goeswith-nospace | the parts of a goeswith word are separated by a space
        goeswith-missing-typo | the first part of a goeswith word has Typo=Yes if there are features | add it
        goeswith-lemma | later parts of a goeswith word have no lemma | write _
        goeswith-upos | later parts of a goeswith word are X | write X
        goeswith-feats | later parts of a goeswith word have no features | write _
        goeswith-edeps | later parts of a goeswith word have only the relation goeswith in DEPS | write it
        punct-causes-nonproj | punctuation does not make other arcs non-projective
        punct-is-nonproj | punctuation is attached projectively
    """,
    4: """
        feature-unknown | the language has this feature
        feature-value-unknown | the language has this value of the feature
        feature-upos-not-permitted | the language has the feature with this UPOS
        feature-value-upos-not-permitted | the language has this value of the feature with this UPOS
        unknown-deprel | the language has this relation with its subtype
    """,
    5: """
        aux-lemma | a word with UPOS AUX is an auxiliary of the language
        cop-lemma | a word with the relation cop is a copula of the language
    """,
}
_ARCWISE_ONLY = {
    1: "no-sentence | a file that is not empty has at least one sentence",
    2: "merge-conflict | a sentence has no unresolved conflict of arcwise merge | keep mine",
    3: "rare-label ! | a rare label is not one letter away from a frequent one | write that one",
}


def _parse_rules(level: int, table: str, *, official: bool) -> list[Rule]:
    rules = []
    for line in table.strip().splitlines():
        marked_name, description, *repair = (part.strip() for part in line.split(" | "))
        name = marked_name.removesuffix(" !")
        warning = name != marked_name
        rules.append(Rule(name, level, description, name if official else None, warning, "".join(repair)))
    return rules


RULES: Mapping[str, Rule] = {
    rule.name: rule
    for tables, official in ((_LEVELS, True), (_ARCWISE_ONLY, False))
    for level, table in tables.items()
    for rule in _parse_rules(level, table, official=official)
}
"""All rules by name; those of the official validator carry its test ids."""


def rules_markdown() -> str:
    """The rules as a Markdown table for the reference page."""
    lines = ["| rule | validator | level | requirement | repair |", "|---|---|---|---|---|"]
    for rule in sorted(RULES.values(), key=lambda r: r.level):
        name = f"`{rule.name}`" + (" (warning)" if rule.warning else "")
        official = "–" if rule.official is None else "same id"
        lines.append(f"| {name} | {official} | {rule.level} | {rule.description} | {rule.repair} |")
    return "\n".join(lines)
