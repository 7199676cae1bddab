r"""Draw sentences for LaTeX, with the package tikz-dependency."""

from __future__ import annotations

import re

from arcwise.treebanks import Sentence
from arcwise.trees.draw import printable

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    # \& separates the words of tikz-dependency, so that an ampersand is written by its number.
    "&": r"\symbol{38}",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    # A cell that starts with | has options.
    "|": r"\textbar{}",
    "[": r"{[}",
    "]": r"{]}",
}
_LIGATURE = re.compile(r"(?<=[-'`,])(?=[-'`,])|(?<=[!?])(?=`)")
"""Between characters that TeX joins: -- becomes a dash, `` a quotation mark, !` an inverted one."""


def escape_latex(text: str) -> str:
    r"""Escape a text so that LaTeX prints it as it is.

    >>> print(escape_latex("50% of {A & B}--"))
    50\% of \{A \symbol{38} B\}-{}-
    """
    separated = _LIGATURE.sub("\0", printable(text))
    return "".join(_SPECIAL.get(character, character) for character in separated).replace("\0", "{}")


def tikz(sentence: Sentence) -> str:
    r"""Draw a sentence as an environment of tikz-dependency: words, tags if there are any, and arcs.

    Words whose head is unknown have no arc.

    >>> from arcwise.trees import Tree
    >>> print(tikz(Sentence.from_words(["Birds", "sing"], tree=Tree.from_heads([2, 0], ["nsubj", "root"]))))
    \begin{dependency}
      \begin{deptext}[column sep=1em]
        Birds \& sing \\
      \end{deptext}
      \depedge{2}{1}{nsubj}
      \deproot{2}{root}
    \end{dependency}
    <BLANKLINE>
    """
    rows = [sentence.forms]
    if any(tag != "_" for tag in sentence.upos):
        rows.append(sentence.upos)
    lines = [r"\begin{dependency}", r"  \begin{deptext}[column sep=1em]"]
    lines += ["    " + r" \& ".join(escape_latex(cell) for cell in row) + r" \\" for row in rows]
    lines += [r"  \end{deptext}"]
    arcs = zip(sentence.heads[1:].tolist(), sentence.deprels, strict=True)
    for word, (head, label) in enumerate(arcs, 1):
        shown = "" if label == "_" else escape_latex(label)
        if head == 0:
            lines.append(rf"  \deproot{{{word}}}{{{shown or 'root'}}}")
        elif head > 0:
            lines.append(rf"  \depedge{{{head}}}{{{word}}}{{{shown}}}")
    return "\n".join([*lines, r"\end{dependency}", ""])


def tikz_comment(sentence: Sentence) -> str:
    """The sent_id and text of a sentence as a comment line of LaTeX.

    >>> tikz_comment(Sentence.from_words(["Birds", "sing"]))
    '% Birds sing\\n'
    """
    name = f"{sentence.sent_id}: " if sentence.sent_id else ""
    return f"% {printable(name + sentence.text)}\n"
