"""Evaluate the output of a system against gold: all scores in one result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from arcwise.errors import InputError
from arcwise.evaluation.attachment import Attachment, attachment
from arcwise.evaluation.breakdowns import (
    ArcGroup,
    Confusion,
    SentenceGroup,
    by_arc_length,
    by_crossing,
    by_label,
    by_sentence_length,
    confusions,
)
from arcwise.evaluation.conll18 import Conll18, conll18
from arcwise.evaluation.soundness import Soundness, soundness
from arcwise.evaluation.verdicts import Options, Punctuation, Subtypes, Verdicts, verdicts
from arcwise.treebanks import Treebank

BREAKDOWNS: Mapping[str, Callable[[Verdicts], Sequence[ArcGroup | SentenceGroup]]] = {
    "label": by_label,
    "length": by_arc_length,
    "crossing": by_crossing,
    "sentence": by_sentence_length,
}
"""The breakdowns that ``by=`` accepts."""


@dataclass(frozen=True)
class Evaluation:
    """The result of ``evaluate``. ``to_json()`` is the output of ``arcwise evaluate --json``."""

    gold: Soundness
    system: Soundness
    options: Options
    attachment: Attachment
    """Scores over the words of gold, with ``options``."""
    conll18: Conll18
    """Scores of the shared task, independent of ``options``."""
    breakdowns: Mapping[str, Sequence[ArcGroup | SentenceGroup]] = field(default_factory=dict)
    confusions: Sequence[Confusion] | None = None

    def to_json(self) -> dict[str, Any]:
        """All scores and counts as a JSON object."""
        out: dict[str, Any] = {
            "gold": self.gold.to_json(),
            "system": self.system.to_json(),
            "options": self.options.to_json(),
            "attachment": self.attachment.to_json(),
            "conll18": self.conll18.to_json(),
            "by": {name: [row.to_json() for row in rows] for name, rows in self.breakdowns.items()},
        }
        if self.confusions is not None:
            out["confusions"] = [row.to_json() for row in self.confusions]
        return out


def evaluate(
    gold: Treebank,
    system: Treebank,
    *,
    punctuation: Punctuation = "count",
    subtypes: Subtypes = "cut",
    by: Iterable[str] = (),
    confusion: bool = False,
) -> Evaluation:
    """Score ``system`` against ``gold``, two treebanks of the same text.

    Read them with ``strict=False`` to score files with broken trees. ``by`` names breakdowns (``label``,
    ``length``, ``crossing``, ``sentence``). O(W) if the tokens are the same.

    >>> text = "1\\tHi\\thi\\tINTJ\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n"
    >>> result = evaluate(Treebank.from_string(text), Treebank.from_string(text.replace("INTJ", "X")))
    >>> result.attachment.las, result.conll18["UPOS"].f1
    (1.0, 0.0)
    """
    names = list(by)
    for name in names:
        if name not in BREAKDOWNS:
            raise InputError(f"by: found {name!r}, expected one of {', '.join(BREAKDOWNS)}")
    words = verdicts(gold, system, Options(punctuation, subtypes))
    return Evaluation(
        gold=soundness(gold),
        system=soundness(system),
        options=words.options,
        attachment=attachment(words),
        conll18=conll18(words.gold, words.system, words.alignment),
        breakdowns={name: BREAKDOWNS[name](words) for name in names},
        confusions=confusions(words) if confusion else None,
    )
