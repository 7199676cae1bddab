"""Level 2: the text of a sentence against its words: forms, SpaceAfter, multiword tokens, empty nodes."""

from __future__ import annotations

from arcwise.treebanks.edits import Edit, SetComment, SetField
from arcwise.treebanks.rows import DEPREL, FORM, MISC, NO_SPACE, Row
from arcwise.treebanks.validation.findings import Repair, Report
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.treebanks.validation.repairs import set_field, set_text
from arcwise.treebanks.validation.spacing import differences, texts_of


def check_text(raw: RawSentence, report: Report) -> None:
    """The text comment: there, once, and that of the words."""
    texts = texts_of(raw)
    line = raw.first_row_line
    if not texts:
        report.add("missing-text", line, "found no text, expected a comment # text = …", repair=set_text(raw))
    elif len(texts) > 1:
        report.add("multiple-text", line, f"found {len(texts)} texts, expected one comment # text = …")
    else:
        ((place, text),) = texts
        _check_comment(raw, place, text, report)
        if raw.structured:
            _check_space_after(raw, report)
            _check_tokens(raw, text, report)


def _check_comment(raw: RawSentence, line: int, text: str, report: Report) -> None:
    if not text:
        report.add(
            "empty-text",
            line,
            "found no text after # text =, expected that of the sentence",
            repair=set_text(raw),
        )
    elif text[-1].isspace():
        repair = Repair("strip the text", (SetComment("text", text.rstrip()),)) if raw.editable else None
        report.add(
            "text-trailing-whitespace",
            line,
            "found a blank at the end of the text, expected none",
            repair=repair,
        )


def _check_space_after(raw: RawSentence, report: Report) -> None:
    inside = 0
    for row in raw.rows:
        misc = row.fields[-1]
        if row.kind == "multiword":
            inside = max(inside, row.span[1])
        if "SpaceAfter" not in misc:
            continue
        parts = misc.split("|")

        def add(rule: str, message: str, kept: list[str], told: str, row: Row = row) -> None:
            repair = set_field(raw, row, MISC, "|".join(kept) or "_", told)
            report.add_field(rule, row, MISC, message, repair=repair)

        if "NoSpaceAfter=Yes" in misc:
            kept = [NO_SPACE if part == "NoSpaceAfter=Yes" else part for part in parts]
            add(
                "nospaceafter-yes",
                "found NoSpaceAfter=Yes, expected SpaceAfter=No",
                list(dict.fromkeys(kept)),
                "write SpaceAfter=No",
            )
        if any(part.startswith("SpaceAfter=") and part != NO_SPACE for part in parts):
            wrong = next(part for part in parts if part.startswith("SpaceAfter=") and part != NO_SPACE)
            kept = [part for part in parts if part != wrong]
            add(
                "spaceafter-value",
                f"found {wrong!r}, expected SpaceAfter=No or nothing (or is SpacesAfter meant?)",
                kept,
                f"leave {wrong} out",
            )
        if NO_SPACE in misc and row.kind != "multiword":
            kept = [part for part in parts if part != NO_SPACE]
            if row.kind == "empty":
                add(
                    "spaceafter-empty-node",
                    "found SpaceAfter=No with an empty node, expected it with words and multiword tokens alone",
                    kept,
                    "leave SpaceAfter=No out",
                )
            elif row.kind == "word" and row.span[0] <= inside:
                add(
                    "spaceafter-mwt-node",
                    "found SpaceAfter=No with a word of a multiword token, expected it with the token",
                    kept,
                    "leave SpaceAfter=No out",
                )


def _check_tokens(raw: RawSentence, text: str, report: Report) -> None:
    found = list(differences(text, raw.tokens))
    repair = _spaces_from_text(raw, text) or set_text(raw) if found else None
    for difference in found:
        token, rest = difference.token, difference.rest
        if token is None:
            report.add(
                "text-extra-chars",
                raw.first_row_line,
                f"found {_short(rest)!r} at the end of the text, expected nothing after the last word",
                repair=repair,
            )
        elif difference.rule == "missing-spaceafter":
            message = f"found no SpaceAfter=No, but the text has {_short(token.fields[FORM] + rest)!r}"
            report.add_field(difference.rule, token, MISC, message, repair=repair)
        else:
            hint = " (is SpaceAfter=No before it wrong?)" if rest[:1].isspace() else ""
            message = f"found {token.fields[FORM]!r}, but the text goes on with {_short(rest)!r}{hint}"
            report.add_field(difference.rule, token, FORM, message, repair=repair)


def _spaces_from_text(raw: RawSentence, text: str) -> Repair | None:
    """SpaceAfter as the text has it, where the text differs from the words in blanks alone."""
    edits: list[Edit] = []
    rest = text
    for token in raw.tokens:
        form = token.fields[FORM]
        if not rest.startswith(form):
            return None
        rest = rest[len(form) :]
        parts = token.misc
        joined = bool(rest) and not rest[0].isspace()
        if rest and joined != (NO_SPACE in parts):
            kept = [*parts, NO_SPACE] if joined else [part for part in parts if part != NO_SPACE]
            edits.append(SetField(token.id, "misc", "|".join(kept) or "_"))
        rest = rest.lstrip()
    in_parts = any(row.fields[DEPREL].startswith("goeswith") for row in raw.words)  # a blank is between these
    return (
        None
        if rest or in_parts or not raw.editable
        else Repair("write SpaceAfter as the text has it", tuple(edits))
    )


def _short(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"
