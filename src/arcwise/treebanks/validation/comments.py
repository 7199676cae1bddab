"""Level 2: the comments of a sentence: sent_id, parallel_id, newdoc, newpar."""

from __future__ import annotations

import re
from dataclasses import dataclass

from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.raw import SENT_ID, RawSentence

_PARALLEL_ID = re.compile(
    r"#\s*parallel_id\s*=\s*(?P<all>(?P<sentence>[a-z]+/[-0-9a-z]+)(?:/(?=[ap])(?:alt(?P<alt>[1-9][0-9]*))?(?:part(?P<part>[1-9][0-9]*))?)?)"
)
_NEW = {name: re.compile(rf"#\s*{name}(?:\s+\S+)?") for name in ("newdoc", "newpar")}


@dataclass(frozen=True)
class ParallelId:
    """Which sentence of a parallel corpus this is a translation of, and which alternative or part."""

    whole: str
    sentence: str
    alt: int | None
    part: int | None


def check_comments(raw: RawSentence, report: Report) -> None:
    """The comments of one sentence, as far as it alone tells."""
    line = raw.first_row_line
    ids = raw.sent_ids
    for place, comment in raw.comments:
        if comment.startswith(("# sent_id", "#sent_id")) and not SENT_ID.fullmatch(comment):
            report.add(
                "invalid-sent-id",
                place,
                f"found {comment!r}, expected # sent_id = ID without blanks in the ID",
            )
        if comment.startswith(("# parallel_id", "#parallel_id")) and not _PARALLEL_ID.fullmatch(comment):
            report.add(
                "invalid-parallel-id",
                place,
                f"found {comment!r}, expected # parallel_id = corpus/sentence, perhaps with /alt1 or /part1",
            )
    if not ids:
        report.add("missing-sent-id", line, "found no sent_id, expected a comment # sent_id = …")
    elif len(ids) > 1:
        report.add("multiple-sent-id", line, f"found {len(ids)} sent_ids, expected one")
    elif ids[0].count("/") > 1:
        report.add("slash-in-sent-id", line, f"found {ids[0]!r}, expected at most one slash in a sent_id")
    if len(parallel_ids(raw)) > 1:
        report.add("multiple-parallel-id", line, "found several parallel_ids, expected one")
    for name in _NEW:
        count = sum(bool(_NEW[name].fullmatch(comment)) for _, comment in raw.comments)
        if count > 1:
            report.add(f"multiple-{name}", line, f"found # {name} {count} times, expected it once")


def parallel_ids(raw: RawSentence) -> list[ParallelId]:
    """All parallel_ids of a sentence."""
    found = []
    for _, comment in raw.comments:
        match = _PARALLEL_ID.fullmatch(comment)
        if match:
            alt, part = (int(match[name]) if match[name] else None for name in ("alt", "part"))
            found.append(ParallelId(match["all"], match["sentence"], alt, part))
    return found


def begins_anew(raw: RawSentence) -> bool:
    """Whether a document or a paragraph begins with the sentence."""
    return any(pattern.fullmatch(comment) for _, comment in raw.comments for pattern in _NEW.values())
