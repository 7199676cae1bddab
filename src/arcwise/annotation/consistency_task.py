"""The inconsistencies of a file under annotation, as JSON; of a large file in a child process."""

from __future__ import annotations

from typing import Any

from arcwise.treebanks import Treebank
from arcwise.treebanks.validation import Inconsistency, find_inconsistencies

MAX_PLACES = 1000
"""Places that are listed for one analysis; all are counted."""


def inconsistencies(data: bytes, limit: int) -> dict[str, Any]:
    """The first ``limit`` groups of inconsistencies, and the number of all of them (``total``)."""
    groups = find_inconsistencies(Treebank(data, strict=False))
    return {"groups": [_group_json(group) for group in groups[:limit]], "total": len(groups)}


def _group_json(group: Inconsistency) -> dict[str, Any]:
    """A group; a place is ``[sentence from 0, first word, last word]``."""
    return {
        "kind": group.kind,
        "words": list(group.words),
        "before": list(group.before),
        "after": list(group.after),
        "variants": [
            {
                "analysis": variant.analysis,
                "count": len(variant.occurrences),
                "places": [[at.sentence, at.first, at.last] for at in variant.occurrences[:MAX_PLACES]],
            }
            for variant in group.variants
        ],
    }
