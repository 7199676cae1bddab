"""The output formats of UDPipe's service: CoNLL-U, one sentence or word per line, plain text, Matxin (XML),
EPE (JSON).

Writers yield pieces of text, because a long result is sent while it is written.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import Any, TypeAlias
from xml.sax.saxutils import escape

from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.field_values import pairs, unescaped

Writer: TypeAlias = Callable[[Treebank], Iterator[str]]
_SENTENCES = 256
"""Sentences in one piece of CoNLL-U."""


def conllu(treebank: Treebank) -> Iterator[str]:
    """CoNLL-U, unchanged."""
    ends = treebank.sentence_bytes[_SENTENCES:-1:_SENTENCES].tolist()
    for start, end in pairwise([0, *ends, len(treebank.data)]):
        yield treebank.data[start:end].decode("utf-8", "replace")


def conllu_v1(treebank: Treebank) -> Iterator[str]:
    """CoNLL-U version 1: no empty nodes, no spaces in forms and lemmas.

    >>> rows = b"1\\tNew York\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n1.1\\tx\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n"
    >>> "".join(conllu_v1(Treebank(rows)))
    '1\\tNew_York\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n'
    """
    return ("".join(f"{line}\n" for line in _v1_lines(sentence)) + "\n" for sentence in treebank)


def _v1_lines(sentence: Sentence) -> Iterator[str]:
    yield from sentence.raw_comment_lines
    for identifier, form, lemma, *others in sentence.rows:
        if "." not in identifier:
            yield "\t".join((identifier, form.replace(" ", "_"), lemma.replace(" ", "_"), *others))


def horizontal(treebank: Treebank) -> Iterator[str]:
    """One sentence per line, words separated by spaces; a space in a word becomes a no-break space.

    >>> empty = 8 * b"\\t_"
    >>> rows = b"1\\tNew York" + empty + b"\\n2\\tsleeps" + empty + b"\\n\\n"
    >>> "".join(horizontal(Treebank(rows)))
    'New\\xa0York sleeps\\n'
    """
    return (" ".join(form.replace(" ", "\xa0") for form in s.forms) + "\n" for s in treebank)


def vertical(treebank: Treebank) -> Iterator[str]:
    """One word per line, a blank line after each sentence."""
    return ("\n".join(sentence.forms) + "\n\n" for sentence in treebank)


def with_paragraphs(writer: Writer) -> Writer:
    """The same format with a blank line before each paragraph but the first."""

    def paragraph_writer(treebank: Treebank) -> Iterator[str]:
        for number, sentence in enumerate(treebank):
            if number and _begins_paragraph(sentence):
                yield "\n"
            yield from writer(Treebank(sentence.conllu_bytes))

    return paragraph_writer


def _begins_paragraph(sentence: Sentence) -> bool:
    return any(line.split("=")[0].split()[:1] in (["newdoc"], ["newpar"]) for line in sentence.comment_lines)


def plaintext(treebank: Treebank) -> Iterator[str]:
    """The original text, with the white space recorded in MISC."""
    return map(_spaced, treebank)


def plaintext_normalized(treebank: Treebank) -> Iterator[str]:
    """The text, one sentence per line, with single spaces."""
    return (f"{' '.join(sentence.text.split())}\n" for sentence in treebank)


def matxin(treebank: Treebank) -> Iterator[str]:
    """Trees as XML.

    >>> rows = b"1\\tGo\\tgo\\t_\\t_\\t_\\t0\\troot\\t_\\t_\\n2\\t!\\t!\\t_\\t_\\t_\\t1\\tpunct\\t_\\t_\\n\\n"
    >>> print("".join(matxin(Treebank(rows))), end="")
    <corpus>
    <SENTENCE ord="1" alloc="0">
     <NODE ord="1" alloc="0" form="Go" lem="go" mi="" si="root">
      <NODE ord="2" alloc="0" form="!" lem="!" mi="" si="punct"/>
     </NODE>
    </SENTENCE>
    </corpus>
    """
    yield "<corpus>" if len(treebank) else ""
    for number, sentence in enumerate(treebank, 1):
        yield f'\n<SENTENCE ord="{number}" alloc="0">\n'
        yield from _nodes(sentence)
        yield "</SENTENCE>\n"
    yield "</corpus>\n"


def _nodes(sentence: Sentence) -> Iterator[str]:
    """The words from the root down. Without recursion, because a tree may be as deep as the sentence is
    long."""
    children = sentence.child_ids
    columns = sentence.forms, sentence.lemmas, [_value(feats) for feats in sentence.feats], sentence.deprels
    open_words = [(word, 1) for word in reversed(children[0])]
    while open_words:
        word, depth = open_words.pop()
        if word < 0:
            yield f"{depth * ' '}</NODE>\n"
            continue
        form, lemma, feats, label = (escape(column[word - 1], {'"': "&quot;"}) for column in columns)
        attributes = f'<NODE ord="{word}" alloc="0" form="{form}" lem="{lemma}" mi="{feats}" si="{label}"'
        yield f"{depth * ' '}{attributes}{'>' if children[word] else '/>'}\n"
        if children[word]:
            open_words += [(-1, depth), *((child, depth + 1) for child in reversed(children[word]))]


def epe(treebank: Treebank) -> Iterator[str]:
    """One JSON object per line and sentence: words as nodes, arcs as edges from head to modifier (Extrinsic
    Parser Evaluation)."""
    for number, sentence in enumerate(treebank, 1):
        yield json.dumps({"id": number, "nodes": _epe_nodes(sentence)}, ensure_ascii=False) + "\n"


def _epe_nodes(sentence: Sentence) -> list[dict[str, Any]]:
    children = sentence.child_ids
    heads, labels = sentence.heads.tolist(), sentence.deprels
    nodes = []
    for at, (form, lemma, upos, xpos, feats, misc) in enumerate(
        zip(
            sentence.forms,
            sentence.lemmas,
            sentence.upos,
            sentence.xpos,
            sentence.feats,
            sentence.misc,
            strict=True,
        ),
        1,
    ):
        node: dict[str, Any] = {"id": at, "form": form}
        start, colon, end = pairs(misc, bare=False).get("TokenRange", "").partition(":")
        if colon and start.isdecimal() and end.isdecimal():
            node |= {"start": int(start), "end": int(end)}
        if heads[at] == 0:
            node["top"] = True
        node["properties"] = {
            "lemma": lemma,
            "upos": _value(upos),
            "xpos": _value(xpos),
            **pairs(feats, bare=False),
        }
        if children[at]:
            node["edges"] = [{"label": labels[child - 1], "target": child} for child in children[at]]
        nodes.append(node)
    return nodes


def _value(value: str) -> str:
    return "" if value == "_" else value


_FORMATS: Mapping[str, Writer] = {
    "conllu": conllu,
    "horizontal": horizontal,
    "vertical": vertical,
    "plaintext": plaintext,
    "matxin": matxin,
    "epe": epe,
}
_WITH_OPTION: Mapping[tuple[str, str], Writer] = {
    ("conllu", "v1"): conllu_v1,
    ("horizontal", "paragraphs"): with_paragraphs(horizontal),
    ("vertical", "paragraphs"): with_paragraphs(vertical),
    ("plaintext", "normalized_spaces"): with_paragraphs(plaintext_normalized),
}
OUTPUTS = tuple(_FORMATS)
"""Names of the formats."""
OUTPUT_OPTIONS = tuple(f"{name}={option}" for name, option in _WITH_OPTION)
"""Formats with an option that changes them."""


def output_writer(name: str, options: frozenset[str] = frozenset()) -> Writer:
    """The function that writes a format. Unknown options are ignored."""
    writers = [
        writer for (form, option), writer in _WITH_OPTION.items() if form == name and option in options
    ]
    return writers[0] if writers and "v2" not in options else _FORMATS[name]


def _spaced(sentence: Sentence) -> str:
    parts: list[str] = []
    for token in sentence.tokens:
        misc = token.misc
        parts += [
            unescaped(misc.get("SpacesBefore", "")),
            unescaped(misc["SpacesInToken"]) if "SpacesInToken" in misc else token.form,
            token.space_after,
        ]
    return "".join(parts)
