"""Level 2: check the text comment against the tokens: forms, SpaceAfter, multiword tokens, empty nodes."""

from __future__ import annotations

from arcwise.treebanks.edits import Edit, SetComment, SetField
from arcwise.treebanks.rows import DEPREL, FORM, MISC, NO_SPACE, Row
from arcwise.treebanks.validation.findings import Repair, Report
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.treebanks.validation.repairs import after_spaces, differences, set_field, set_text, texts_of


def check_text(raw: RawSentence, report: Report) -> None:
    """Check that there is one text comment and that it matches the tokens."""
    texts = texts_of(raw)
    line = raw.first_row_line
    if not texts:
        message = "the sentence has no text; add a comment # text = …"
        report.add("missing-text", line, message, repair=set_text(raw))
    elif len(texts) > 1:
        report.add("multiple-text", line, f"the sentence has {len(texts)} text comments instead of one")
    else:
        ((comment_line, text),) = texts
        _check_comment(raw, comment_line, text, report)
        if raw.structured:
            _check_space_after(raw, report)
            _check_tokens(raw, text, report)


def _check_comment(raw: RawSentence, line: int, text: str, report: Report) -> None:
    if not text:
        report.add("empty-text", line, "the text comment is empty", repair=set_text(raw))
    elif text[-1].isspace():
        repair = Repair("strip the text", (SetComment("text", text.rstrip()),)) if raw.editable else None
        report.add("text-trailing-whitespace", line, "the text ends with whitespace", repair=repair)


def _check_space_after(raw: RawSentence, report: Report) -> None:
    last_in_token = 0  # the last word of the last multiword token
    for row in raw.rows:
        misc = row.fields[-1]
        if row.kind == "multiword":
            last_in_token = max(last_in_token, row.span[1])
        if "SpaceAfter" not in misc:
            continue
        parts = misc.split("|")

        def add(rule: str, message: str, kept: list[str], repair: str, row: Row = row) -> None:
            value = "|".join(kept) or "_"
            report.add_field(rule, row, MISC, message, repair=set_field(raw, row, MISC, value, repair))

        if "NoSpaceAfter=Yes" in misc:
            replaced = [NO_SPACE if part == "NoSpaceAfter=Yes" else part for part in parts]
            message = "NoSpaceAfter=Yes should be SpaceAfter=No"
            add("nospaceafter-yes", message, list(dict.fromkeys(replaced)), "write SpaceAfter=No")
        wrong = next((part for part in parts if part.startswith("SpaceAfter=") and part != NO_SPACE), None)
        if wrong is not None:
            message = f"{wrong!r}: SpaceAfter can only be No; did you mean SpacesAfter?"
            add("spaceafter-value", message, [part for part in parts if part != wrong], f"remove {wrong}")
        if NO_SPACE in misc and row.kind != "multiword":
            kept = [part for part in parts if part != NO_SPACE]
            if row.kind == "empty":
                message = "an empty node cannot have SpaceAfter=No"
                add("spaceafter-empty-node", message, kept, "remove SpaceAfter=No")
            elif row.kind == "word" and row.span[0] <= last_in_token:
                message = "SpaceAfter=No should be on the multiword token, not on a word in it"
                add("spaceafter-mwt-node", message, kept, "remove SpaceAfter=No")


def _check_tokens(raw: RawSentence, text: str, report: Report) -> None:
    mismatches = list(differences(text, raw.tokens))
    repair = _spaces_from_text(raw, text) or set_text(raw) if mismatches else None
    for mismatch in mismatches:
        token, rest = mismatch.token, mismatch.rest
        if token is None:
            message = f"the text continues with {_short(rest)!r} after the last word"
            report.add("text-extra-chars", raw.first_row_line, message, repair=repair)
        elif mismatch.rule == "missing-spaceafter":
            message = f"SpaceAfter=No is missing; the text has {_short(token.fields[FORM] + rest)!r}"
            report.add_field(mismatch.rule, token, MISC, message, repair=repair)
        else:
            hint = " (is SpaceAfter=No before it wrong?)" if rest[:1].isspace() else ""
            message = (
                f"{token.fields[FORM]!r} does not match the text, which continues {_short(rest)!r}{hint}"
            )
            report.add_field(mismatch.rule, token, FORM, message, repair=repair)


def _spaces_from_text(raw: RawSentence, text: str) -> Repair | None:
    """Set SpaceAfter from the text, if text and tokens differ only in spaces."""
    edits: list[Edit] = []
    at = 0
    for token in raw.tokens:
        form = token.fields[FORM]
        if not text.startswith(form, at):
            return None
        at += len(form)
        parts = token.misc
        joined = at < len(text) and not text[at].isspace()
        if at < len(text) and joined != (NO_SPACE in parts):
            kept = [*parts, NO_SPACE] if joined else [part for part in parts if part != NO_SPACE]
            edits.append(SetField(token.id, "misc", "|".join(kept) or "_"))
        at = after_spaces(text, at)
    # The parts of a goeswith word must be separated by spaces, so SpaceAfter=No would violate another rule.
    has_goeswith = any(row.fields[DEPREL].startswith("goeswith") for row in raw.words)
    if at < len(text) or has_goeswith or not raw.editable:
        return None
    return Repair("set SpaceAfter from the text", tuple(edits))


def _short(text: str) -> str:
    return text if len(text) <= 24 else text[:23] + "…"
