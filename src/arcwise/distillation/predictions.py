"""``TeacherPredictions``: a teacher's predictions for the words of a treebank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from arcwise.distillation.soft_tags import SoftTags
from arcwise.distillation.soft_targets import SoftTargets
from arcwise.parsing.parses import Codes
from arcwise.treebanks import Treebank


@dataclass(frozen=True)
class TeacherPredictions:
    """Trees with the highest expected accuracy, soft targets, and tags if the teacher predicts them."""

    heads: Codes
    labels: Sequence[str]
    targets: SoftTargets
    tags: SoftTags | None = None


@runtime_checkable
class BatchTeacher(Protocol):
    """A teacher that computes the predictions of a treebank itself, faster than from distributions."""

    def soft_predictions(
        self, treebank: Treebank, *, projective: bool, single_root: bool, least: float, threads: int = 1
    ) -> TeacherPredictions:
        """Soft targets without heads less probable than ``least``, tags and minimum-risk trees."""
        ...
