"""Jack-knifing: every sentence tagged by a tagger that has not seen it."""

from __future__ import annotations

from collections.abc import Callable

from arcwise.errors import InputError
from arcwise.text.tagger import Tagger, TaggerConfig
from arcwise.treebanks import Treebank


def jackknifed(
    treebank: Treebank,
    *,
    folds: int,
    config: TaggerConfig = TaggerConfig(),
    seed: int = 1,
    say: Callable[[str], None] = lambda line: None,
) -> Treebank:
    """The treebank with the tags that it would get as new text, by taggers trained on the other parts.

    A parser trained on correct tags trusts them too much (Bohnet et al. 2013, "Joint morphological and syntactic analysis
    for richly inflected languages", section 4). Sentence i is in fold i mod ``folds``. Costs ``folds`` trainings.
    """
    if not 2 <= folds <= len(treebank):
        raise InputError(f"jackknife: found {folds} folds, expected 2..{len(treebank)} (one per sentence)")
    numbers = range(len(treebank))
    tagged: dict[int, Treebank] = {}
    for fold in range(folds):
        inside = [i for i in numbers if i % folds == fold]
        others = Treebank.from_sentences(treebank[i] for i in numbers if i % folds != fold)
        part = Treebank.from_sentences(treebank[i] for i in inside)
        tagged[fold] = Tagger.train(others, config=config, seed=seed).tag(part)
        say(f"tagged part {fold + 1} of {folds} of the training data with a tagger trained on the others")
    return Treebank.from_sentences((tagged[i % folds][i // folds] for i in numbers), source=treebank.source)
