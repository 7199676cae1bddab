"""``Block``: the lines of one sentence, taken apart to be edited and put together again."""

from __future__ import annotations


class Block:
    """A sentence that is being edited."""
