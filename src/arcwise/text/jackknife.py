"""Jackknifing: tag every sentence with a tagger that was not trained on it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from arcwise.engine import Engine, ThisProcess
from arcwise.errors import InputError
from arcwise.learning.folds import split_fold
from arcwise.text.tagger import Tagger, TaggerConfig
from arcwise.treebanks import Treebank


def jackknife_tags(
    treebank: Treebank,
    *,
    folds: int,
    config: TaggerConfig = TaggerConfig(),
    seed: int = 1,
    say: Callable[[str], None] = lambda line: None,
    engine: Engine = ThisProcess(),
) -> Treebank:
    """Tag each fold of a treebank with a tagger trained on the other folds.

    A parser trained on gold tags trusts them too much (Bohnet et al. 2013, "Joint morphological and syntactic
    analysis for richly inflected languages", section 4). Sentence i is in fold i mod ``folds``. ``engine``:
    where the ``folds`` taggers are trained.
    """
    if not 2 <= folds <= len(treebank):
        raise InputError(f"jackknife: found {folds} folds, expected 2..{len(treebank)} (one per sentence)")
    tagged: list[Treebank] = []
    for part in engine.map(partial(_tagged_fold, treebank, folds, config, seed), range(folds)):
        tagged.append(part)
        say(f"jackknifed tags of fold {len(tagged)} of {folds}")
    return Treebank.from_sentences(
        (tagged[i % folds][i // folds] for i in range(len(treebank))), source=treebank.source
    )


def _tagged_fold(treebank: Treebank, folds: int, config: TaggerConfig, seed: int, fold: int) -> Treebank:
    """Tag one fold with a tagger trained on the others."""
    others, part = split_fold(treebank, folds, fold)
    return Tagger.train(others, config=config, seed=seed).tag(part)
