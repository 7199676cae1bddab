"""Level 2: check the comments sent_id, parallel_id, newdoc and newpar of a sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass

from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.raw import SENT_ID, RawSentence

_PARALLEL_ID = re.compile(
    r"#\s*parallel_id\s*=\s*(?P<all>(?P<sentence>[a-z]+/[-0-9a-z]+)"
    r"(?:/(?=[ap])(?:alt(?P<alt>[1-9][0-9]*))?(?:part(?P<part>[1-9][0-9]*))?)?)"
)
_NEW = {name: re.compile(rf"#\s*{name}(?:\s+\S+)?") for name in ("newdoc", "newpar")}


@dataclass(frozen=True)
class ParallelId:
    """Which sentence of a parallel corpus this is, and which alternative or part of it."""

    whole: str
    sentence: str
    alt: int | None
    part: int | None


def check_comments(raw: RawSentence, report: Report) -> None:
    """Check the comments of one sentence by itself."""
    line = raw.first_row_line
    ids = raw.sent_ids
    for comment_line, comment in raw.comments:
        if comment.startswith(("# sent_id", "#sent_id")) and not SENT_ID.fullmatch(comment):
            message = f"{comment!r} should be # sent_id = ID, without whitespace in the ID"
            report.add("invalid-sent-id", comment_line, message)
        if comment.startswith(("# parallel_id", "#parallel_id")) and not _PARALLEL_ID.fullmatch(comment):
            message = (
                f"{comment!r} should be # parallel_id = corpus/sentence, optionally with /alt1 or /part1"
            )
            report.add("invalid-parallel-id", comment_line, message)
    if not ids:
        report.add("missing-sent-id", line, "the sentence has no sent_id; add a comment # sent_id = ID")
    elif len(ids) > 1:
        report.add("multiple-sent-id", line, f"the sentence has {len(ids)} sent_ids instead of one")
    elif ids[0].count("/") > 1:
        report.add("slash-in-sent-id", line, f"sent_id {ids[0]!r} has more than one slash")
    if len(parallel_ids(raw)) > 1:
        report.add("multiple-parallel-id", line, "the sentence has several parallel_ids instead of one")
    for name in _NEW:
        count = sum(bool(_NEW[name].fullmatch(comment)) for _, comment in raw.comments)
        if count > 1:
            report.add(f"multiple-{name}", line, f"# {name} occurs {count} times instead of once")


def parallel_ids(raw: RawSentence) -> list[ParallelId]:
    """All parallel_ids of a sentence."""
    ids = []
    for _, comment in raw.comments:
        match = _PARALLEL_ID.fullmatch(comment)
        if match:
            alt, part = (int(match[name]) if match[name] else None for name in ("alt", "part"))
            ids.append(ParallelId(match["all"], match["sentence"], alt, part))
    return ids


def starts_document_or_paragraph(raw: RawSentence) -> bool:
    """Whether the sentence has a newdoc or newpar comment."""
    return any(pattern.fullmatch(comment) for _, comment in raw.comments for pattern in _NEW.values())
