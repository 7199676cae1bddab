"""Error mining in the editor: the task of the child process, and the ranking that learns from answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcwise.annotation.background_job import Report
from arcwise.mining import mine
from arcwise.mining.adaptation import Adaptation
from arcwise.mining.answers import word_key
from arcwise.mining.similar_words import SimilarWords
from arcwise.treebanks import Treebank

MOST = 1000
"""Words that are listed."""
LEAST = 0.05
"""The least probability of an error of a listed word: few words are wrong."""


def mining_task(request: Mapping[str, Any], data: bytes, report: Report) -> Mapping[str, Any]:
    """Mine ``data``: a task of ``background_job``.

    request: ``answered``, the keys of words that have been judged. Returns the listed and the judged words
    with what the ranking is learned from.
    """
    done = 0

    def step(line: str) -> None:
        nonlocal done
        done += 1
        # The number of steps is not known; the bar approaches its end.
        report({"progress": 1 - 0.9**done, "message": line})

    result = mine(Treebank(data, source=request["source"]), report=step)
    probabilities = result.probabilities
    ranking = [word for word in result.ranking() if probabilities[word] >= LEAST][:MOST]
    listed = set(ranking)
    answered = set(request["answered"])
    if answered:
        ranking += [
            w for w in range(len(result.words)) if w not in listed and word_key(result.words, w) in answered
        ]
    places = np.array(ranking, np.int64)
    kinds = Adaptation(result).kinds_of(places)
    words = []
    for word in ranking:
        suspect = result.suspect(word)
        similar = SimilarWords.of(
            result.treebank[suspect.sentence], suspect.word, suspect.proposed_head, suspect.proposed_label
        )
        words.append(
            {
                "sentence": suspect.sentence,
                "word": suspect.word,
                "head": suspect.head,
                "label": suspect.label,
                "instead_head": suspect.proposed_head,
                "instead_label": suspect.proposed_label,
                "reasons": list(suspect.reasons),
                "key": word_key(result.words, word),
                "listed": word in listed,
                "query": similar.query,
                "changes": similar.changes,
            }
        )
    return {
        "words": words,
        "log_odds": result.log_odds[places].tolist(),
        "kinds": [codes.tolist() for codes in kinds],
    }


@dataclass(frozen=True)
class Ranking:
    """The log-odds of the words of a search, corrected by answers."""

    adaptation: Adaptation

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Ranking:
        """The ranking of a result of ``mining_task``."""
        return cls(
            Adaptation.from_arrays(
                np.array(message["log_odds"], np.float64),
                [np.array(codes, np.int64) for codes in message["kinds"]],
            )
        )

    def probabilities(self, answers: Mapping[int, bool]) -> Sequence[float]:
        """The probability of an error for each word; ``answers``: whether some are."""
        log_odds = self.adaptation.log_odds(answers)
        return [float(p) for p in 1 / (1 + np.exp(-log_odds))]
