"""The rules of CoNLL-U and of Universal Dependencies, one entry each: what ``arcwise validate --level`` checks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """One rule. ``official``: the test id of the official UD validator; None if it has no such rule. ``repair``: what a repair does."""

    name: str
    level: int
    description: str
    official: str | None
    warning: bool = False
    repair: str = ""


_LEVELS = {
    1: """
        invalid-utf | every byte is UTF-8 and no character is the replacement character U+FFFD
        unicode-normalization | text is in the Unicode normal form NFC | write the whole sentence in NFC
        non-unix-newline | lines end in LF alone, not in CR LF
        misplaced-comment | comments stand before the first word of their sentence
        pseudo-empty-line | a blank line has no spaces or tabs in it
        empty-sentence | there is a sentence before each blank line
        invalid-line | a line is blank, a comment (#), or begins with the number of a word
        missing-empty-line | a blank line follows each sentence, the last one too
        number-of-columns | a row has ten columns
        invalid-whitespace | no blanks in ID, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS | leave the blanks out
        invalid-whitespace-mwt | no blanks in the form or lemma of a multiword token
        empty-column | a column without value has _ | write _
        leading-whitespace | a field does not begin with a blank | strip
        trailing-whitespace | a field does not end in a blank | strip
        repeated-whitespace | a field has no two blanks side by side | leave one
        invalid-word-id | an ID is 3, 3-4 or 3.1
        misplaced-word-interval | the range of a multiword token stands before its first word
        misplaced-empty-node | an empty node after word 3 is 3.1, then 3.2, and stands there
        word-id-sequence | words are numbered 1, 2, 3, …
        reversed-word-interval | the range of a multiword token goes upwards
        word-interval-out | the range of a multiword token stays in the sentence
        overlapping-word-intervals | the ranges of multiword tokens do not overlap
    """,
    2: """
        mwt-nonempty-field | a multiword token has _ in all columns but FORM and MISC (and Typo=Yes in FEATS) | write _
        empty-node-nonempty-field | an empty node has _ in HEAD and DEPREL | write _
        unknown-upos | UPOS is one of the 17 universal tags | write the tag that is meant
        unsorted-features | features are in alphabetical order | sort
        invalid-feature | a feature is Name=Value with a capital (or digit) first, letters and digits | write it so
        repeated-feature | a feature stands once | drop a repetition
        repeated-feature-value | a value of a feature stands once | drop it
        unsorted-feature-values | several values of a feature are in alphabetical order | sort
        invalid-deprel | DEPREL is relation or relation:subtype in small letters a–z | write it so
        unknown-udeprel | the relation (before the colon) is one of the 37 universal ones | write the one that is meant
        invalid-head | HEAD is a number
        unknown-head | HEAD is 0 or a word of the sentence
        invalid-deps | DEPS is head:relation, several separated by a bar
        invalid-ehead | a head in DEPS is a number or that of an empty node
        unknown-ehead | a head in DEPS is 0, a word or an empty node of the sentence
        unsorted-deps | DEPS is in the order of heads | sort
        unsorted-deps-2 | relations to one head in DEPS are in alphabetical order | sort
        repeated-deps | a relation stands once in DEPS | drop it
        deps-self-loop | no node is its own head in DEPS
        invalid-edeprel | a relation in DEPS is relation:subtype:preposition:case in small letters
        unknown-eudeprel | the relation (before the colon) in DEPS is one of the 37 universal ones, or ref
        empty-misc ! | MISC has no empty attribute | leave it out
        empty-misc-key ! | an attribute in MISC has a name before =
        misc-extra-space ! | no blank around names and values in MISC | strip
        misc-attr-typo ! | SpaceAfter, Lang, Translit, LTranslit, Gloss, LId, LDeriv, Ref are spelt so in MISC | write it so
        repeated-misc | these attributes stand once in MISC | drop a repetition
        head-self-loop | no word is its own head
        multiple-roots | one word has HEAD 0
        non-tree | heads form no cycle
        edeps-only-sometimes | DEPS is filled in all sentences, or in none
        unconnected-egraph | every node is reached from a root in DEPS
        invalid-sent-id | a sent_id comment is # sent_id = ID, without blanks in the ID
        missing-sent-id | a sentence has a sent_id
        multiple-sent-id | a sentence has one sent_id
        non-unique-sent-id | no two sentences have the same sent_id
        slash-in-sent-id | a sent_id has at most one slash
        invalid-parallel-id | a parallel_id comment is # parallel_id = corpus/sentence, perhaps with /alt1, /part1 or /alt1part1
        multiple-parallel-id | a sentence has at most one parallel_id
        non-unique-parallel-id | no two sentences have the same parallel_id
        parallel-id-alt | alternatives of a parallel sentence are numbered alt1, alt2, …
        parallel-id-part | parts of a parallel sentence are numbered part1, part2, …
        multiple-newdoc | # newdoc stands once
        multiple-newpar | # newpar stands once
        spaceafter-newdocpar | before # newdoc and # newpar no sentence ends in SpaceAfter=No
        missing-text | a sentence has its text | write it from the words
        multiple-text | a sentence has one text
        empty-text | the text is not empty | write it from the words
        text-trailing-whitespace | the text does not end in a blank | strip
        nospaceafter-yes | SpaceAfter=No, not NoSpaceAfter=Yes | write it so
        spaceafter-value | SpaceAfter has no other value than No | drop it
        spaceafter-empty-node | an empty node has no SpaceAfter=No | drop it
        spaceafter-mwt-node | a word of a multiword token has no SpaceAfter=No; the token has it | drop it
        text-form-mismatch | the text is the forms of words and multiword tokens | SpaceAfter from the text, or the text from the words
        missing-spaceafter | a token that the text joins to the next has SpaceAfter=No | write it
        text-extra-chars | the text ends with the last token | write it from the words
    """,
    3: """
        0-is-not-root | the word with HEAD 0 has the relation root | write root
        root-is-not-0 | the relation root has HEAD 0 | write the usual relation
        enhanced-0-is-not-root | a relation to 0 in DEPS is root | write root
        enhanced-root-is-not-0 | a relation root in DEPS is to 0
        edeps-identical-to-basic-trees | DEPS differs from HEAD:DEPREL somewhere in the treebank
        empty-node-after-eorphan | where there are empty nodes, no relation in DEPS is orphan (the orphan came first)
        eorphan-after-empty-node | where there are empty nodes, no relation in DEPS is orphan
        pron-det-without-prontype ! | a PRON or DET has PronType, where the treebank has features
        verbform-fin-without-mood ! | a finite verb (VerbForm=Fin) has a Mood
        fixed-without-extpos ! | the head of a fixed expression has ExtPos
        rel-upos-det | det is DET or PRON
        rel-upos-nummod | nummod is NUM (or NOUN, SYM)
        rel-upos-advmod | advmod is ADV (or ADJ, CCONJ, DET, PART, SYM)
        rel-upos-expl | expl is PRON (or DET, PART)
        rel-upos-aux | aux is AUX | VERB becomes AUX
        rel-upos-cop | cop is AUX (or PRON, DET, SYM) | VERB becomes AUX
        rel-upos-case | case is no PROPN, ADJ, PRON, DET, NUM, AUX
        rel-upos-mark | mark is no NOUN, PROPN, ADJ, PRON, DET, NUM, AUX, INTJ
        rel-upos-cc | cc is no NOUN, PROPN, ADJ, PRON, DET, NUM, VERB, AUX, INTJ
        rel-upos-punct | punct is PUNCT | write PUNCT if the form has punctuation alone
        upos-rel-punct | PUNCT is punct (or root) | write punct
        rel-upos-fixed | fixed joins no proper nouns
        flat-foreign-upos-feats ! | words of flat:foreign are X with Foreign=Yes alone
        right-to-left-conj | conj has its head before it
        right-to-left-fixed | fixed has its head before it
        right-to-left-flat | flat has its head before it
        right-to-left-goeswith | goeswith has its head before it
        right-to-left-appos | appos has its head before it
        too-many-subjects | a predicate has one subject, but for :outer
        too-many-objects | a predicate has one obj
        obl-should-be-nmod | what modifies a nominal is nmod, not obl | write nmod
        orphan-parent ! | an orphan depends on a conj (or the head of another clause)
        leaf-mark-case | mark and case have few kinds of children
        leaf-aux-cop | aux and cop have few kinds of children
        leaf-det | det has few kinds of children
        leaf-clf | clf has few kinds of children
        leaf-cc | cc has few kinds of children
        leaf-fixed | fixed has few kinds of children
        leaf-goeswith | goeswith has no children
        leaf-punct | punct has no children but punct
        fixed-gap ! | a fixed expression has no other words inside, but for punct
        goeswith-gap | the parts of a word (goeswith) stand side by side
        goeswith-nospace | a blank is between the parts of a word (goeswith)
        goeswith-missing-typo | a word in parts (goeswith) has Typo=Yes, where the treebank has features | write it
        goeswith-lemma | a further part of a word (goeswith) has no lemma | write _
        goeswith-upos | a further part of a word (goeswith) is X | write X
        goeswith-feats | a further part of a word (goeswith) has no features | write _
        goeswith-edeps | a further part of a word (goeswith) has the relation goeswith alone in DEPS | write it
        punct-causes-nonproj | punct lies under no arc that it makes non-projective
        punct-is-nonproj | punct is attached projectively
    """,
}
_OWN = {
    1: "no-sentence | a file has a sentence",
    3: "rare-label ! | a label is no misspelling of another one: it is rare, and one letter away from a frequent one | write that one",
}


def _read(level: int, text: str, *, official: bool) -> list[Rule]:
    found = []
    for line in text.strip().splitlines():
        name, description, *repair = (part.strip() for part in line.split(" | "))
        plain = name.removesuffix(" !")
        found.append(
            Rule(
                plain,
                level,
                description,
                plain if official else None,
                plain != name,
                repair[0] if repair else "",
            )
        )
    return found


RULES: Mapping[str, Rule] = {
    rule.name: rule
    for table, official in ((_LEVELS, True), (_OWN, False))
    for level, text in table.items()
    for rule in _read(level, text, official=official)
}
"""All rules by name: those of the official validator carry its test ids."""


def rules_markdown() -> str:
    """The rules as a table for the reference page."""
    lines = ["| rule | validator | level | what holds | repair |", "|---|---|---|---|---|"]
    for rule in sorted(RULES.values(), key=lambda r: r.level):
        name = f"`{rule.name}`" + (" (warning)" if rule.warning else "")
        official = "–" if rule.official is None else "same id"
        lines.append(f"| {name} | {official} | {rule.level} | {rule.description} | {rule.repair} |")
    return "\n".join(lines)
