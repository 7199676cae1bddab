"""Conversion to and from spaCy: a treebank as a ``Doc``.

The tokens of the ``Doc`` are the words. Extension attributes (``token._.misc``) hold what spaCy has no
attribute for. Whitespace other than a single space is a separate token, as usual in spaCy, but not a word of
the treebank.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from arcwise.optional import import_optional
from arcwise.treebanks.coerce import as_treebank
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

TOKEN_EXTENSIONS = (
    "head_probability",
    "label_probability",
    "alternatives",
    "multiword",
    "feats",
    "deps",
    "misc",
)
"""Extension attributes of tokens.

``multiword`` has the form and MISC of the multiword token, which ``part`` of it the word is, and ``of`` how
many. ``feats`` is FEATS as text where spaCy would write it differently or cannot represent it.
"""
SPAN_EXTENSIONS = ("probability", "comments", "empty_nodes")
"""Extension attributes of sentence spans."""
SPACE_ATTRIBUTES = {"pos": "SPACE", "tags": "_SP", "deps": "dep", "morphs": ""}
"""Attributes that spaCy's own models give whitespace tokens."""


def set_extensions() -> None:
    """Register the extension attributes with spaCy; existing attributes of the same name are kept."""
    tokens = import_optional("spacy.tokens")
    for kind, names in ((tokens.Token, TOKEN_EXTENSIONS), (tokens.Span, SPAN_EXTENSIONS)):
        for name in names:
            if not kind.has_extension(name):
                kind.set_extension(name, default=None)


@dataclass
class _Tokens:
    """The tokens of a ``Doc``; ``words`` is None for whitespace tokens."""

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
        """Add the whitespace after the last token: one space belongs to that token, the rest is a token."""
        if gap.startswith(" ") and self.spaces:
            self.spaces[-1] = True
            gap = gap[1:]
        if gap:
            self.add(gap, None, starts_sentence=not self.texts)


def to_spacy(treebank: TreebankLike, vocab: Any = None) -> Any:
    """Convert a treebank, a ``Document`` or a sentence to a spaCy ``Doc``.

    It has words, spaces, sentences, LEMMA, UPOS, XPOS, FEATS, HEAD and DEPREL, and as extension attributes
    ``token._.head_probability``, ``label_probability``, ``alternatives``, ``multiword``, ``deps``,
    ``misc``, ``span._.probability``, ``comments`` and ``empty_nodes``. Heads are set only if all are known,
    since spaCy does not support partial trees. UPOS tags that are not universal are dropped.
    """
    spacy_tokens = import_optional("spacy.tokens")
    set_extensions()
    if vocab is None:
        vocab = import_optional("spacy").blank("xx").vocab
    source = as_treebank(treebank)
    tokens = _tokens(source)
    doc = spacy_tokens.Doc(vocab, words=tokens.texts, spaces=tokens.spaces, **_columns(tokens))
    for token, word in zip(doc, tokens.words, strict=True):
        if word is not None:
            _set_token_attributes(token, word)
    for span, sentence in zip(_spans(doc, tokens), source, strict=True):
        values = sentence.to_json()
        for name in SPAN_EXTENSIONS:
            span._.set(name, values.get(name))
    return doc


def _tokens(treebank: Treebank) -> _Tokens:
    result = _Tokens()
    surface = treebank.surface
    tokens = [token for sentence in treebank for token in sentence.tokens]
    at = surface.start
    for token in tokens:
        result.add_gap(surface.text[at - surface.start : token.start - surface.start])
        for word in token.words:
            result.add(word.form, word, starts_sentence=word.id == 1)
        at = token.end
    result.add_gap(surface.text[at - surface.start :])
    return result


def _columns(tokens: _Tokens) -> dict[str, Any]:
    """The columns as arguments of ``Doc``, with values for whitespace tokens."""
    universal_tags = import_optional("spacy.parts_of_speech").IDS
    values: dict[str, list[Any]] = {name: [] for name in ("lemmas", "pos", "tags", "morphs", "deps")}
    for text, word in zip(tokens.texts, tokens.words, strict=True):
        attributes = {**SPACE_ATTRIBUTES, "lemmas": text} if word is None else _word_columns(word)
        for name in values:
            values[name].append(attributes[name])
    values["pos"] = [tag if tag in universal_tags else "" for tag in values["pos"]]
    values["morphs"] = [feats if _is_morph(feats) else "" for feats in values["morphs"]]
    heads = doc_heads(tokens.words)
    if heads is None:
        del values["deps"]
        return {**values, "sent_starts": tokens.starts}
    return {**values, "heads": heads}


def _word_columns(word: Word) -> dict[str, str]:
    sentence, at = word.sentence, word.id - 1
    columns = {
        "lemmas": sentence.lemmas[at],
        "pos": sentence.upos[at],
        "tags": sentence.xpos[at],
        "morphs": sentence.feats[at],
        "deps": "ROOT" if word.is_root else sentence.deprels[at],
    }
    return {name: "" if value == "_" else value for name, value in columns.items()}


def _is_morph(feats: str) -> bool:
    """Whether spaCy can represent FEATS: all parts have a key and a value."""
    return all(key and value for key, value in pairs(feats).items())


def doc_heads(words: list[Word | None]) -> list[int] | None:
    """The index of the head of each token of a ``Doc``; None if a head is unknown.

    Whitespace is attached to the previous token, or to the next one at the start of the text.
    """
    index = {(word.sentence.number, word.id): at for at, word in enumerate(words) if word is not None}
    heads: list[int] = []
    for at, word in enumerate(words):
        if word is None:
            heads.append(at - 1 if at else min(1, len(words) - 1))
        elif word.head_id < 0:
            return None
        else:
            heads.append(index[word.sentence.number, word.head_id] if word.head_id else at)
    return heads


def _set_token_attributes(token: Any, word: Word) -> None:
    """Set the extension attributes of a token."""
    attributes = token._
    multiword = word.token
    if multiword.is_multiword:
        attributes.multiword = {
            "form": multiword.form,
            "misc": multiword.misc_text,
            "part": word.id - multiword.words[0].id + 1,
            "of": len(multiword.words),
        }
    attributes.head_probability, attributes.label_probability = word.head_probability, word.label_probability
    sentence, at = word.sentence, word.id - 1
    if sentence.word_alternatives[at]:
        attributes.alternatives = [list(arc) for arc in sentence.word_alternatives[at]]
    attributes.deps, attributes.misc = sentence.deps[at], sentence.misc[at]
    if sentence.feats[at] not in (str(token.morph), "_"):
        attributes.feats = sentence.feats[at]


def _spans(doc: Any, tokens: _Tokens) -> Iterator[Any]:
    """The sentences of the treebank as spans, including leading whitespace in the first."""
    starts = [at for at, starts in enumerate(tokens.starts) if starts]
    if tokens.words and tokens.words[0] is None:
        starts = [0, *starts[2:]]
    for start, end in pairwise([*starts, len(doc)]):
        yield doc[start:end]


def to_docbin(treebanks: Iterable[TreebankLike], vocab: Any = None) -> Any:
    """Convert treebanks or documents to a ``DocBin``; write it with ``to_disk`` for ``spacy train``."""
    if vocab is None:
        vocab = import_optional("spacy").blank("xx").vocab
    docs = [to_spacy(treebank, vocab) for treebank in treebanks]
    return import_optional("spacy.tokens").DocBin(docs=docs, store_user_data=True)


def from_spacy(doc: Any) -> Treebank:
    """Make a treebank from a spaCy ``Doc``; without sentence boundaries it is one sentence.

    Whitespace is kept in MISC (``SpacesAfter``).
    """
    return Treebank.from_json({"sentences": list(_sentences(doc))}, source="<spacy>")


def from_docbin(docbin: Any, vocab: Any = None) -> list[Treebank]:
    """Make a treebank from each ``Doc`` of a ``DocBin``."""
    if vocab is None:
        vocab = import_optional("spacy").blank("xx").vocab
    set_extensions()
    return [from_spacy(doc) for doc in docbin.get_docs(vocab)]


def word_spans(doc: Any) -> list[list[Any]]:
    """The tokens of each sentence without whitespace tokens; sentences of only whitespace are skipped."""
    spans = list(doc.sents) if doc.has_annotation("SENT_START") else [doc[:]]
    sentences = ([token for token in span if not token.is_space] for span in spans)
    return [words for words in sentences if words]


def _sentences(doc: Any) -> Iterator[dict[str, Any]]:
    set_extensions()
    has_tree = doc.has_annotation("DEP")
    spans = word_spans(doc)
    words = list(chain.from_iterable(spans))
    text = doc.text
    ends = {a.i: b.idx for a, b in pairwise(words)}
    for tokens in spans:
        first_token, last_token = tokens[0], tokens[-1]
        after = [text[t.idx + len(t.text) : ends.get(t.i, len(text))] for t in tokens]
        sentence = _sentence(tokens, text, after, has_tree)
        if first_token.i == words[0].i and first_token.idx:
            first = sentence["tokens"][0] if first_token._.multiword else sentence["words"][0]
            first["misc"] = _with_pairs(first["misc"], SpacesBefore=escaped(text[: first_token.idx]))
        if last_token.i == words[-1].i and after[-1] == " " and last_token._.misc is None:
            # A final space is not implied in CoNLL-U, as it is between words.
            last = sentence["words"][-1]
            last["misc"] = _with_pairs(last["misc"], SpacesAfter=escaped(" "))
        yield sentence


def _sentence(tokens: list[Any], whole: str, after: list[str], has_tree: bool) -> dict[str, Any]:
    numbers = {token.i: number for number, token in enumerate(tokens, 1)}
    span = tokens[0].sent if tokens[0].doc.has_annotation("SENT_START") else tokens[0].doc[:]
    sentence: dict[str, Any] = {"words": [], "tokens": [], "empty_nodes": span._.empty_nodes or []}
    if span._.comments is not None:
        sentence["comments"] = span._.comments
    else:
        text = whole[tokens[0].idx : tokens[-1].idx + len(tokens[-1].text)]
        sentence |= {"text": _one_line(text), "probability": span._.probability}
    for number, (token, gap) in enumerate(zip(tokens, after, strict=True), 1):
        multiword = token._.multiword
        spaced = multiword is None and token._.misc is None
        sentence["words"].append(_word(token, numbers, has_tree, gap if spaced else None))
        if multiword is not None and multiword["part"] == multiword["of"]:
            first = number - multiword["of"] + 1
            sentence["tokens"].append(
                {"id": f"{first}-{number}", "form": multiword["form"], "misc": multiword["misc"]}
            )
    return sentence


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
    # Whitespace tokens are not words of the treebank, so their heads replace them.
    while head.is_space and head.head != head:
        head = head.head
    word["head"] = 0 if head == token else numbers.get(head.i, 0)
    word["label"] = token.dep_ if word["head"] or token.dep_ not in ("", "ROOT") else "root"
    return word


def _feats(token: Any) -> str:
    """The original FEATS, unless the morphology of the token was changed in spaCy."""
    original: str | None = token._.feats
    if original is None:
        return str(token.morph)
    key = token.vocab.morphology.add(original if _is_morph(original) else "")
    return original if key == token.morph.key else str(token.morph)


def _misc(token: Any, gap: str | None) -> str:
    misc: str = token._.misc or "_"
    values: dict[str, str] = {}
    if gap == "":
        values["SpaceAfter"] = "No"
    elif gap is not None and gap != " ":
        values["SpacesAfter"] = escaped(gap)
    for key, p in (
        (HEAD_PROBABILITY, token._.head_probability),
        (LABEL_PROBABILITY, token._.label_probability),
    ):
        if p is not None:
            values[key] = f"{p:.4f}"
    if token._.alternatives:
        values[ALTERNATIVES] = alternatives_text(LabelledArc(*arc) for arc in token._.alternatives)
    return _with_pairs(misc, **values)


def _with_pairs(misc: str, **values: str) -> str:
    """Add pairs to MISC; MISC that already has them stays as it is, to the byte."""
    current = pairs(misc)
    if all(current.get(key) == value for key, value in values.items()):
        return misc
    if isinstance(exact_pairs(misc), str) and misc != "_":
        return "|".join((misc, pair_text(values)))
    return pair_text(current | values)


def _one_line(text: str) -> str:
    """Replace line breaks and tabs, which a CoNLL-U field cannot contain, by spaces."""
    return "".join(" " if c in "\n\r\t\v\f\x85\u2028\u2029" else c for c in text)
