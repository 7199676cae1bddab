"""``arcwise mine``: the suspected annotation errors of a treebank, most probable first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo
from arcwise.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from arcwise.mining import MiningResult, SuspectedError
    from arcwise.mining.adaptation import Adaptation
    from arcwise.mining.answers import ReviewAnswers, Verdict
    from arcwise.mining.evidence import Floats
    from arcwise.parsing.parser import Parser
    from arcwise.treebanks import Treebank

FILES = Files(reads=("file",), may_read=("model",), writes=("output",))
FORMATS = ("html", "tsv", "conllu")
_PRINTED = 20
"""Suspects printed without --out."""
_REFIT = 5
"""Answers of a review after which the ranking is fitted again."""


def run(
    file: str = typer.Argument(..., help="CoNLL-U file of an annotated treebank."),
    output: str | None = typer.Option(
        None,
        "--out",
        help="Write the list to this file: .html (trees before and after each proposal, with filters), .tsv, "
        "or .conllu (the treebank with Suspect=… in MISC). [default: print the first 20]",
    ),
    signals: str = typer.Option(
        "",
        help="Use only these signals, separated by commas: parsers, conditional, labels, tags, variation, "
        "frames, lexicon, rules, thresholds. [default: all]",
        show_default=False,
    ),
    time: Literal["fast", "full"] = typer.Option(
        "fast", help="fast: two parsers; full: also one with a beam and (with torch) a neural one."
    ),
    model: str | None = typer.Option(
        None,
        help="Model file (or name) of a parser trained on other treebanks, which judges the words as well.",
    ),
    most: int = typer.Option(500, min=0, help="List at most this many suspects; 0 lists all words."),
    least: float = typer.Option(
        0.0, min=0.0, max=1.0, help="List only suspects with at least this probability of an error."
    ),
    review: bool = typer.Option(
        False,
        "--review",
        help="Ask about one suspect after another and learn from the answers, which are kept in "
        "FILE.verdicts.",
    ),
    seed: int = typer.Option(1, min=0, help="Random seed of folds and parsers."),
    threads: int = typer.Option(1, min=1, help="Number of processes; does not affect the result."),
) -> None:
    """List the words of a treebank whose head or label is probably wrong, most probable first.

    Parsers trained on other documents, statistics of the treebank and the rules of 'arcwise validate' judge
    every word. Each suspect comes with a proposal, the probability of an error, and reasons. Answers of
    earlier reviews (FILE.verdicts) change the ranking, and acknowledged words are not listed.
    """
    from arcwise.engine import local_engine
    from arcwise.learning.progress import Progress
    from arcwise.mining import mine
    from arcwise.mining.adaptation import Adaptation
    from arcwise.mining.answers import ReviewAnswers
    from arcwise.mining.signals import chosen_signals
    from arcwise.treebanks import Treebank

    names = [name.strip() for name in signals.split(",") if name.strip()]
    chosen_signals(names)
    kind = _format(output)
    if review and file == "-":
        raise OptionError("review", "needs a file, because the answers are kept beside it")
    models = [] if model is None else [_model(model)]
    treebank = Treebank.read(file)
    verdicts = ReviewAnswers.beside(file) if file != "-" else ReviewAnswers(Path("-"))
    with Progress() as progress:
        result = mine(
            treebank,
            signals=names,
            time=time,
            models=models,
            seed=seed,
            engine=local_engine(threads),
            report=progress.say,
        )
    judged, acknowledged = verdicts.answers(result.words)
    adaptation = Adaptation(result)
    if review:
        _review(file, result, adaptation, verdicts, judged, acknowledged)
    log_odds = _without(adaptation.log_odds(judged), acknowledged)
    suspects = result.suspects(most or None, least=least, log_odds=log_odds)
    if output is not None and kind is not None:
        _write(suspects, treebank, output, kind)
        count = f"{len(suspects)} suspect{'s' * (len(suspects) != 1)}"
        words = f"{treebank.word_count} word{'s' * (treebank.word_count != 1)}"
        echo(f"{output}: {count} of {words}", err=True)
    elif not review:
        for rank, suspect in enumerate(suspects[:_PRINTED], 1):
            echo(_entry(rank, suspect, treebank))


def _model(name: str) -> Parser:
    """A parser that ``mine`` can use."""
    from arcwise.errors import ModelError
    from arcwise.mining.crossfit import check_model
    from arcwise.models import open_model

    model = open_model(name)
    try:
        check_model(model)
    except ModelError as error:
        raise ModelError(f"{name}: {error}") from error
    return model


def _format(output: str | None) -> str | None:
    if output is None:
        return None
    bare = Path(output.removesuffix(".gz").removesuffix(".xz").removesuffix(".zst"))
    kind = bare.suffix[1:] or "tsv"
    if kind not in FORMATS:
        raise OptionError("output", f"found {output!r}, expected a name ending in .html, .tsv or .conllu")
    return kind


def _without(log_odds: Floats, words: set[int]) -> Floats:
    """The log-odds, with -inf for words that are not to be listed."""
    import numpy as np

    hidden = log_odds.copy()
    hidden[sorted(words)] = -np.inf
    return hidden


def _write(suspects: Sequence[SuspectedError], treebank: Treebank, path: str, kind: str) -> None:
    from arcwise.mining.report import html_report, marked_treebank, tsv
    from arcwise.treebanks import open_output

    if kind == "conllu":
        marked_treebank(suspects, treebank).write(path)
        return
    with open_output(path) as out:
        for part in (html_report if kind == "html" else tsv)(suspects, treebank):
            out.write(part.encode("utf-8", "replace"))


def _entry(rank: int, suspect: SuspectedError, treebank: Treebank) -> str:
    from arcwise.mining.report import description

    sentence = treebank[suspect.sentence]
    name = suspect.sent_id or f"sentence {suspect.sentence + 1}"
    lines = [f"{rank}. {100 * suspect.probability:.0f} %  {name}  {description(suspect, sentence)}"]
    lines += [f"   {sentence.text}"]
    return "\n".join([*lines, *(f"   - {reason}" for reason in suspect.reasons)])


_QUESTION = "[e]rror, [c]orrect, [s]kip, [a]cknowledge for good, [q]uit: "
_ANSWERS: Mapping[str, Verdict] = {"e": "error", "c": "correct", "a": "acknowledged"}


def _review(
    file: str,
    result: MiningResult,
    adaptation: Adaptation,
    verdicts: ReviewAnswers,
    judged: dict[int, bool],
    acknowledged: set[int],
) -> None:
    """Ask about the most suspicious words that have no answer yet, until the reviewer quits.

    After an error, the command is printed that finds all words annotated alike and previews their correction.
    """
    from shlex import quote

    from arcwise.mining.similar_words import SimilarWords

    skipped: set[int] = set()
    log_odds, answered = adaptation.log_odds(judged), 0
    while True:
        questions = adaptation.questions(log_odds, judged, 1, skipped | acknowledged)
        if not questions:
            echo("Every word has an answer.", err=True)
            return
        word = questions[0]
        probability = float(_probability(log_odds[word]))
        suspect = result.suspect(word, probability)
        echo(_entry(answered + len(skipped) + 1, suspect, result.treebank))
        answer = _ask()
        if answer == "q":
            return
        if answer == "s":
            skipped.add(word)
            continue
        verdict = _ANSWERS[answer]
        verdicts.add(result.words, word, verdict)
        if verdict == "acknowledged":
            acknowledged.add(word)
        else:
            judged[word] = verdict == "error"
        if verdict == "error":
            similar = SimilarWords.of(
                result.treebank[suspect.sentence], suspect.word, suspect.proposed_head, suspect.proposed_label
            )
            preview = f" --set {quote(similar.changes)} --preview" if similar.changes else ""
            echo(f"   All like this: arcwise search {quote(similar.query)}{preview} {quote(file)}")
        answered += 1
        if answered % _REFIT == 0:
            log_odds = adaptation.log_odds(judged)


def _ask() -> str:
    """One of the letters of the question; the end of the input quits."""
    while True:
        try:
            answer = input(_QUESTION).strip().lower()[:1]
        except EOFError:
            return "q"
        if answer and answer in "ecsaq":
            return answer


def _probability(log_odds: float) -> float:
    from math import exp

    return 1 / (1 + exp(-log_odds))
