"""Splitting a sentence in two and joining two sentences, on their bytes."""

from __future__ import annotations

from arcwise.errors import InputError
from arcwise.treebanks.edits.edited_sentence import NOTE, EditedSentence, drop_misc_about, renumbered_deps
from arcwise.treebanks.edits.values import SUGGESTION_KEYS
from arcwise.treebanks.rows import Row


def split_block(data: bytes, before_row: str) -> tuple[bytes, bytes]:
    """Split a sentence before a word.

    Words whose head ends up in the other part lose HEAD and DEPREL. Comments stay with the first part, except
    notes on words of the second, whose sent_id is that of the first with ``-2`` appended.
    """
    left, right = EditedSentence.checked(data), EditedSentence.checked(data)
    spans = left.spans()
    at = left.rows.index(left.row(before_row, kinds=("word",)))
    for row, first, last in spans:
        start, stop = left.rows.index(first), left.rows.index(last)
        if start < at <= stop:
            raise InputError(
                f"row {before_row}: is inside the multiword token {row.id}, expected its first word"
            )
        at = left.rows.index(row) if at == start else at
    if not any(row.kind == "word" for row in left.rows[:at]):
        raise InputError(f"row {before_row}: is the first word, expected a later one")
    left_rows, right_rows = left.rows[:at], right.rows[at:]
    right.comments = [c for c in right.comments if (note := NOTE.fullmatch(c.line)) and note[2]]
    _keep_rows(left, left_rows)
    _keep_rows(right, right_rows)
    left.tail, right.lead = left.newline, ""
    sent_id = left.comment("sent_id")
    has_text = left.comment("text") is not None
    notes, right.comments = right.comments, []
    if sent_id is not None:
        right.set_comment("sent_id", f"{sent_id.value}-2")
    if has_text:
        left.set_comment("text", left.text())
        right.set_comment("text", right.text())
    right.comments += notes
    return left.data(), right.data()


def _keep_rows(sentence: EditedSentence, rows: list[Row]) -> None:
    """Reduce a sentence to some of its rows, and remove references to the others."""
    spans = [span for span in sentence.spans() if span[0] in rows]
    gone = {row.id for row in sentence.rows if row.kind != "comment" and row not in rows}
    sentence.rows = rows
    for row in rows:
        if row.kind == "word" and row["head"] in gone:
            _clear_head(row)
        if row.kind != "comment":
            drop_misc_about(row, gone)
    sentence.renumber(spans, gone=gone)


def _clear_head(row: Row) -> None:
    row["head"] = row["deprel"] = "_"
    row.drop_misc(*SUGGESTION_KEYS["head"], *SUGGESTION_KEYS["deprel"])


def join_blocks(first: bytes, second: bytes) -> bytes:
    """Join two sentences into one.

    Roots of the second lose HEAD and DEPREL; its sent_id and newpar are dropped. Raises ``InputError`` if the
    second begins a document.
    """
    left, right = EditedSentence.checked(first), EditedSentence.checked(second)
    if any(c.key.split()[:1] == ["newdoc"] for c in right.comments):
        raise InputError("join: the second sentence begins a new document (newdoc)")
    if right.lead.strip("\r\n"):
        raise InputError("join: found comments without words before the second sentence, expected none")
    texts = [comment.value for b in (left, right) if (comment := b.comment("text")) is not None]
    agree = texts == [left.text(), right.text()]
    empty_nodes = [row.id.partition(".") for row in left.rows if row.kind == "empty"]
    n = len(left.words())
    minor = max((int(number) for word, _, number in empty_nodes if int(word) == n), default=0)
    for row in right.rows:
        if row.kind == "word" and row["head"] == "0":
            _clear_head(row)
        if row.kind in ("word", "empty"):
            row["deps"] = renumbered_deps(row["deps"], {}, gone=("0",))
    right.renumber(right.spans(), start=(n, minor))
    left.spans()  # raises InputError if the rows of the first cannot be numbered
    left.rows += right.rows
    left.tail = right.tail
    left.comments += [
        c for c in right.comments if c.key not in ("sent_id", "text") and c.key.split()[:1] != ["newpar"]
    ]
    if agree or len(texts) == 2:
        left.set_comment("text", left.text() if agree else " ".join(texts))
    return left.data()
