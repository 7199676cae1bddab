"""spaCy: a treebank as a ``Doc`` and back. What spaCy has no place for is in extension attributes (``token._.misc``), which travel with the document.

The tokens of the ``Doc`` are the words. White space that is more than a space is a token of its own, as spaCy has it; it is no word of the treebank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from arcwise.treebanks.coerce import as_treebank
from arcwise.treebanks.exchange.libraries import library
from arcwise.treebanks.field_values import (
    ALTERNATIVES,
    HEAD_PROBABILITY,
    LABEL_PROBABILITY,
    LabelledArc,
    alternatives_text,
    escaped,
    exact_pairs,
    pair_text,
    pairs,
)
from arcwise.treebanks.treebank import Treebank

if TYPE_CHECKING:
    from arcwise.treebanks.coerce import TreebankLike
    from arcwise.treebanks.words import Word

OF_TOKENS = ("head_probability", "label_probability", "alternatives", "multiword", "feats", "deps", "misc")
"""Extension attributes of tokens. ``multiword``: form and MISC of the multiword token, which ``part`` of it this is, and ``of`` how many.
``feats``: FEATS as text where spaCy writes it otherwise, or cannot."""
OF_SPANS = ("probability", "comments", "empty_nodes")
"""Extension attributes of the spans that are sentences."""
SPACE = {"pos": "SPACE", "tags": "_SP", "deps": "dep", "morphs": ""}
"""What spaCy's own models say of tokens of white space."""


def set_extensions() -> None:
    """Make the attributes known to spaCy; those of that name that are there stay as they are."""
    tokens = library("spacy.tokens")
    for kind, names in ((tokens.Token, OF_TOKENS), (tokens.Span, OF_SPANS)):
        for name in names:
            if not kind.has_extension(name):
                kind.set_extension(name, default=None)


# ---- to spaCy


@dataclass
class _Tokens:
    """The tokens of a ``Doc``; ``words`` has None where one is white space."""

    texts: list[str] = field(default_factory=list)
    spaces: list[bool] = field(default_factory=list)
    words: list[Word | None] = field(default_factory=list)
    starts: list[bool] = field(default_factory=list)

    def add(
        self, text: str, word: Word | None, *, space: bool = False, starts_sentence: bool = False
    ) -> None:
        self.texts.append(text)
        self.spaces.append(space)
        self.words.append(word)
        self.starts.append(starts_sentence)

    def add_gap(self, gap: str) -> None:
        """White space after the last token: a space belongs to it, more is a token."""
        if gap.startswith(" ") and self.spaces:
            self.spaces[-1] = True
            gap = gap[1:]
        if gap:
            self.add(gap, None, starts_sentence=not self.texts)


def to_spacy(treebank: TreebankLike, vocab: Any = None) -> Any:
    """A spaCy ``Doc`` of a treebank, a ``Document`` or a sentence: its words, spaces, sentences, LEMMA, UPOS, XPOS, FEATS, HEAD and DEPREL.

    In extension attributes: ``token._.head_probability``, ``label_probability``, ``alternatives``, ``multiword``, ``deps``, ``misc``; and of
    sentences ``span._.probability``, ``comments`` and ``empty_nodes``. Heads are set if all are known. A UPOS that Universal Dependencies does not have is left out.
    """
    spacy_tokens = library("spacy.tokens")
    set_extensions()
    if vocab is None:
        vocab = library("spacy").blank("xx").vocab
    given = as_treebank(treebank)
    tokens = _tokens(given)
    doc = spacy_tokens.Doc(vocab, words=tokens.texts, spaces=tokens.spaces, **_columns(tokens))
    for token, word in zip(doc, tokens.words, strict=True):
        if word is not None:
            _keep(token, word)
    for span, sentence in zip(_spans(doc, tokens), given, strict=True):
        told = sentence.to_json()
        for name in OF_SPANS:
            span._.set(name, told.get(name))
    return doc


def _tokens(treebank: Treebank) -> _Tokens:
    found = _Tokens()
    surface = treebank.surface
    tokens = [token for sentence in treebank for token in sentence.tokens]
    at = surface.start
    for token in tokens:
        found.add_gap(surface.text[at - surface.start : token.start - surface.start])
        for word in token.words:
            found.add(word.form, word, starts_sentence=word.id == 1)
        at = token.end
    found.add_gap(surface.text[at - surface.start :])
    return found


def _columns(tokens: _Tokens) -> dict[str, Any]:
    """The columns as spaCy wants them, with a value for white space, too."""
    known = library("spacy.parts_of_speech").IDS
    values: dict[str, list[Any]] = {name: [] for name in ("lemmas", "pos", "tags", "morphs", "deps")}
    for text, word in zip(tokens.texts, tokens.words, strict=True):
        own = {**SPACE, "lemmas": text} if word is None else _word_columns(word)
        for name in values:
            values[name].append(own[name])
    values["pos"] = [tag if tag in known else "" for tag in values["pos"]]
    values["morphs"] = [feats if _is_morph(feats) else "" for feats in values["morphs"]]
    heads = doc_heads(tokens.words)
    if heads is None:
        del values["deps"]
        return {**values, "sent_starts": tokens.starts}
    return {**values, "heads": heads}


def _word_columns(word: Word) -> dict[str, str]:
    sentence, at = word.sentence, word.id - 1
    own = {
        "lemmas": sentence.lemmas[at],
        "pos": sentence.upos[at],
        "tags": sentence.xpos[at],
        "morphs": sentence.feats[at],
        "deps": "ROOT" if word.is_root else sentence.deprels[at],
    }
    return {name: "" if value == "_" else value for name, value in own.items()}


def _is_morph(feats: str) -> bool:
    """Whether spaCy can have it: pairs of key and value alone."""
    return all(key and value for key, value in pairs(feats).items())


def doc_heads(words: list[Word | None]) -> list[int] | None:
    """The head of each token of a ``Doc``, by its place; white space hangs from what stands before it (the first one: after it).

    None if a head is not known.
    """
    places = {(word.sentence.number, word.id): at for at, word in enumerate(words) if word is not None}
    heads: list[int] = []
    for at, word in enumerate(words):
        if word is None:
            heads.append(at - 1 if at else min(1, len(words) - 1))
        elif word.head_id < 0:
            return None
        else:
            heads.append(places[word.sentence.number, word.head_id] if word.head_id else at)
    return heads


def _keep(token: Any, word: Word) -> None:
    """What spaCy has no column for."""
    attributes = token._
    own = word.token
    if own.is_multiword:
        attributes.multiword = {
            "form": own.form,
            "misc": own.misc_text,
            "part": word.id - own.words[0].id + 1,
            "of": len(own.words),
        }
    attributes.head_probability, attributes.label_probability = word.head_probability, word.label_probability
    sentence, at = word.sentence, word.id - 1
    if sentence.word_alternatives[at]:
        attributes.alternatives = [list(arc) for arc in sentence.word_alternatives[at]]
    attributes.deps, attributes.misc = sentence.deps[at], sentence.misc[at]
    if sentence.feats[at] not in (str(token.morph), "_"):
        attributes.feats = sentence.feats[at]


def _spans(doc: Any, tokens: _Tokens) -> Iterator[Any]:
    """The sentences of the treebank as spans: as spaCy has them, if it has them so."""
    starts = [at for at, starts in enumerate(tokens.starts) if starts]
    if tokens.words and tokens.words[0] is None:
        starts = [0, *starts[2:]]
    for start, end in pairwise([*starts, len(doc)]):
        yield doc[start:end]


def to_docbin(treebanks: Iterable[TreebankLike], vocab: Any = None) -> Any:
    """A ``DocBin`` with a ``Doc`` for each treebank or document; ``to_disk`` writes it, as ``spacy train`` reads it."""
    if vocab is None:
        vocab = library("spacy").blank("xx").vocab
    docs = [to_spacy(treebank, vocab) for treebank in treebanks]
    return library("spacy.tokens").DocBin(docs=docs, store_user_data=True)


# ---- from spaCy


def from_spacy(doc: Any) -> Treebank:
    """A treebank from a spaCy ``Doc``: its sentences, or all of it as one where it has none. White space is told in MISC (``SpacesAfter``)."""
    return Treebank.from_json({"sentences": list(_sentences(doc))}, source="<spacy>")


def from_docbin(docbin: Any, vocab: Any = None) -> list[Treebank]:
    """A treebank for each ``Doc`` of a ``DocBin``."""
    if vocab is None:
        vocab = library("spacy").blank("xx").vocab
    set_extensions()
    return [from_spacy(doc) for doc in docbin.get_docs(vocab)]


def word_spans(doc: Any) -> list[list[Any]]:
    """The tokens of each sentence that are words, not white space; sentences of white space alone are none."""
    spans = list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]
    found = ([token for token in span if not token.is_space] for span in spans)
    return [words for words in found if words]


def _sentences(doc: Any) -> Iterator[dict[str, Any]]:
    set_extensions()
    has_tree = doc.has_annotation("DEP")
    spans = word_spans(doc)
    words = list(chain.from_iterable(spans))
    text = doc.text
    ends = {a.i: b.idx for a, b in pairwise(words)}
    for own in spans:
        after = [text[t.idx + len(t.text) : ends.get(t.i, len(text))] for t in own]
        found = _sentence(own, text, after, has_tree)
        if own[0].i == words[0].i and own[0].idx:
            first = found["tokens"][0] if own[0]._.multiword else found["words"][0]
            first["misc"] = _with(first["misc"], SpacesBefore=escaped(text[: own[0].idx]))
        if own[-1].i == words[-1].i and after[-1] == " " and own[-1]._.misc is None:
            last = found["words"][-1]
            last["misc"] = _with(last["misc"], SpacesAfter=escaped(" "))  # or it would be no part of the text
        yield found


def _sentence(tokens: list[Any], whole: str, after: list[str], has_tree: bool) -> dict[str, Any]:
    numbers = {token.i: number for number, token in enumerate(tokens, 1)}
    span = tokens[0].sent if tokens[0].doc.has_annotation("SENT_START") else tokens[0].doc[:]
    found: dict[str, Any] = {"words": [], "tokens": [], "empty_nodes": span._.empty_nodes or []}
    if span._.comments is not None:
        found["comments"] = span._.comments
    else:
        text = whole[tokens[0].idx : tokens[-1].idx + len(tokens[-1].text)]
        found |= {"text": _one_line(text), "probability": span._.probability}
    for number, (token, gap) in enumerate(zip(tokens, after, strict=True), 1):
        multiword = token._.multiword
        spaced = multiword is None and token._.misc is None
        found["words"].append(_word(token, numbers, has_tree, gap if spaced else None))
        if multiword is not None and multiword["part"] == multiword["of"]:
            first = number - multiword["of"] + 1
            found["tokens"].append(
                {"id": f"{first}-{number}", "form": multiword["form"], "misc": multiword["misc"]}
            )
    return found


def _word(token: Any, numbers: dict[int, int], has_tree: bool, gap: str | None) -> dict[str, Any]:
    word: dict[str, Any] = {
        "form": _one_line(token.text),
        "lemma": _one_line(token.lemma_),
        "upos": token.pos_,
        "xpos": token.tag_,
        "feats": _feats(token),
        "deps": token._.deps or "_",
        "misc": _misc(token, gap),
    }
    if not has_tree:
        return word
    head = token.head
    while head.is_space and head.head != head:
        head = head.head
    word["head"] = 0 if head == token else numbers.get(head.i, 0)
    word["label"] = token.dep_ if word["head"] or token.dep_ not in ("", "ROOT") else "root"
    return word


def _feats(token: Any) -> str:
    """FEATS as it was, unless spaCy has something else by now."""
    kept: str | None = token._.feats
    if kept is None:
        return str(token.morph)
    now = token.vocab.morphology.add(kept if _is_morph(kept) else "")
    return kept if now == token.morph.key else str(token.morph)


def _misc(token: Any, gap: str | None) -> str:
    misc: str = token._.misc or "_"
    told: dict[str, str] = {}
    if gap == "":
        told["SpaceAfter"] = "No"
    elif gap is not None and gap != " ":
        told["SpacesAfter"] = escaped(gap)
    for key, p in (
        (HEAD_PROBABILITY, token._.head_probability),
        (LABEL_PROBABILITY, token._.label_probability),
    ):
        if p is not None:
            told[key] = f"{p:.4f}"
    if token._.alternatives:
        told[ALTERNATIVES] = alternatives_text(LabelledArc(*arc) for arc in token._.alternatives)
    return _with(misc, **told)


def _with(misc: str, **told: str) -> str:
    """MISC with these pairs; what says the same stays as it is."""
    known = pairs(misc)
    if all(known.get(key) == value for key, value in told.items()):
        return misc
    if isinstance(exact_pairs(misc), str) and misc != "_":
        return "|".join((misc, pair_text(told)))
    return pair_text(known | told)


def _one_line(text: str) -> str:
    """The text without line breaks and tabs, for which CoNLL-U has no place."""
    return "".join(" " if c in "\n\r\t\v\f\x85\u2028\u2029" else c for c in text)
