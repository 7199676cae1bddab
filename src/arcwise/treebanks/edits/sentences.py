"""One sentence into two, and two into one, on their bytes."""

from __future__ import annotations

from arcwise.errors import InputError
from arcwise.treebanks.edits.checking import checked_sentence
from arcwise.treebanks.edits.edited_sentence import EditedRow, EditedSentence
from arcwise.treebanks.edits.references import NOTE, renumbered_deps
from arcwise.treebanks.edits.values import PROPOSED


def split_block(data: bytes, before_row: str) -> tuple[bytes, bytes]:
    """The sentence up to a word, and from it on.

    Arcs between the two are open then. Comments stay with the first, but for notes on words of the second; its sent_id is that of the first with ``-2``.
    """
    left, right = checked_sentence(data), checked_sentence(data)
    spans = left.spans()
    at = left.rows.index(left.row(before_row, kinds=("word",)))
    for row, first, last in spans:
        start, stop = left.rows.index(first), left.rows.index(last)
        if start < at <= stop:
            raise InputError(
                f"row {before_row}: is inside the multiword token {row.id}, expected a word that begins a token"
            )
        at = left.rows.index(row) if at == start else at
    if not any(row.kind == "word" for row in left.rows[:at]):
        raise InputError(f"row {before_row}: is the first word, expected a later one")
    left_rows, right_rows = left.rows[:at], right.rows[at:]
    right.comments = [c for c in right.comments if (note := NOTE.fullmatch(c.line)) and note[2]]
    _keep(left, left_rows)
    _keep(right, right_rows)
    left.tail, right.lead = left.newline, ""
    sent_id = left.comment("sent_id")
    has_text = left.comment("text") is not None
    own = right.comments
    right.comments = []
    if sent_id is not None:
        right.set_comment("sent_id", f"{sent_id.value}-2")
    if has_text:
        left.set_comment("text", left.text())
        right.set_comment("text", right.text())
    right.comments += own
    return left.data(), right.data()


def _keep(sentence: EditedSentence, rows: list[EditedRow]) -> None:
    """The sentence with some of its rows alone."""
    spans = [span for span in sentence.spans() if span[0] in rows]
    gone = {row.id for row in sentence.rows if row.kind != "other" and row not in rows}
    sentence.rows = rows
    for row in rows:
        if row.kind == "word" and row["head"] in gone:
            _open(row)
        if row.kind != "other":
            row.drop_misc_of(gone)
    sentence.renumber(spans, gone=gone)


def _open(row: EditedRow) -> None:
    row["head"] = row["deprel"] = "_"
    row.drop_misc(*PROPOSED["head"], *PROPOSED["deprel"])


def join_blocks(first: bytes, second: bytes) -> bytes:
    """Two sentences as one. The roots of the second are open; it gives up its sent_id and newpar, and may not begin a document."""
    left, right = checked_sentence(first), checked_sentence(second)
    if any(c.key.split()[:1] == ["newdoc"] for c in right.comments):
        raise InputError(
            "join: found a sentence that begins a new document (newdoc), expected one that goes on"
        )
    if right.lead.strip("\r\n"):
        raise InputError("join: found comments without words before the second sentence, expected none")
    agree = all(b.comment("text") is not None and b.comment("text").value == b.text() for b in (left, right))  # type: ignore[union-attr]
    texts = [comment.value for b in (left, right) if (comment := b.comment("text")) is not None]
    empties = [row.id.partition(".") for row in left.rows if row.kind == "empty"]
    n = len(left.words())
    minor = max((int(own) for word, _, own in empties if int(word) == n), default=0)
    for row in right.rows:
        if row.kind == "word" and row["head"] == "0":
            _open(row)
        if row.kind in ("word", "empty"):
            row["deps"] = renumbered_deps(row["deps"], {}, gone=("0",))
    right.renumber(right.spans(), start=(n, minor))
    left.spans()  # refuses what cannot be counted
    left.rows += right.rows
    left.tail = right.tail
    left.comments += [
        c for c in right.comments if c.key not in ("sent_id", "text") and c.key.split()[:1] != ["newpar"]
    ]
    if agree or len(texts) == 2:
        left.set_comment("text", left.text() if agree else " ".join(texts))
    return left.data()
