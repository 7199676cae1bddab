"""``Seen``: the data as a network sees them, where that differs from what it learns."""

from __future__ import annotations

from dataclasses import dataclass

from arcwise.treebanks import Treebank


@dataclass(frozen=True)
class Seen:
    """Training and development data, the same sentences, with the tags of another tagger: as good as the network will get them."""

    train: Treebank
    dev: Treebank | None = None
