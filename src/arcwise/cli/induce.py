"""``arcwise induce``: learn a grammar from tag sequences alone."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from arcwise.cli._support.files import Files, output_path

if TYPE_CHECKING:
    from arcwise.induction import DMV, ArcShare, TagSentences
    from arcwise.induction.parser import DmvParser
    from arcwise.treebanks import Treebank

FILES = Files(
    reads=("corpus", "rules", "resume"),
    writes=("certificate", "checkpoint", "output", "model"),
    plots=("plot",),
    goes_on={"checkpoint": "resume"},
)


class Learner(str, Enum):
    """How to learn."""

    em = "em"
    viterbi_em = "viterbi-em"
    search = "global"


class Method(str, Enum):
    """How to search globally."""

    counts = "count"
    theta = "theta"
    milp = "milp"


class Tags(str, Enum):
    """Which column has the tags."""

    upos = "upos"
    xpos = "xpos"


class EStep(str, Enum):
    """How Viterbi EM parses."""

    exact = "exact"
    relaxed = "relaxed"


class Start(str, Enum):
    """Where each restart begins."""

    uniform = "uniform"
    random = "random"
    harmonic = "harmonic"


def run(
    corpus: Annotated[
        str,
        typer.Argument(
            help="CoNLL-U file. Its tags are read; its heads, if it has any, only to score the result.",
            show_default=False,
        ),
    ],
    tags: Annotated[Tags, typer.Option(help="Column with the tags.")] = Tags.upos,
    without_punctuation: Annotated[
        bool,
        typer.Option(
            "--without-punctuation",
            help="Leave punctuation out: in learning, in --max-length, in the score, and later in 'arcwise parse', where it hangs on the "
            "word before it.",
        ),
    ] = False,
    max_length: Annotated[
        int, typer.Option(help="Learn from sentences of at most this many words.", min=1)
    ] = 10,
    sentences: Annotated[int, typer.Option(help="Learn from the first N of them (0: all).", min=0)] = 0,
    learner: Annotated[
        Learner,
        typer.Option(
            help="em: sum over all parses; viterbi-em: one parse per sentence; global: the best there are."
        ),
    ] = Learner.viterbi_em,
    restarts: Annotated[int, typer.Option(help="How often to start anew; the best is kept.", min=1)] = 100,
    start: Annotated[
        Start | None,
        typer.Option(help="Where restarts begin (harmonic for em, else uniform).", show_default=False),
    ] = None,
    smoothing: Annotated[
        float | None,
        typer.Option(help="Added to every count (0 for em, else 1).", min=0.0, show_default=False),
    ] = None,
    e_step: Annotated[
        EStep,
        typer.Option(
            "--e-step",
            help="viterbi-em: parse by dynamic programming (exact), or by the linear program of Gormley & Eisner 2013 "
            "(relaxed; slower, starts uniformly, needs highspy installed).",
        ),
    ] = EStep.exact,
    constrain: Annotated[
        float,
        typer.Option(help="Share of all arcs that must follow the rules (0: no rules).", min=0.0, max=1.0),
    ] = 0.0,
    rules: Annotated[
        str | None,
        typer.Option(
            help="File of rules 'HEAD CHILD CHILD …', one a line (else the universal rules of Naseem et al. 2010).",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            help="global: branch and bound over counts, or over parameters (theta, Gormley & Eisner 2013), or one integer "
            "program (milp); theta and milp need highspy installed."
        ),
    ] = Method.counts,
    rlt: Annotated[
        str,
        typer.Option(
            help="theta: products of constraints: Max.0k, Max.1k, Max.10k, Max.100k, Obj.Filter, All."
        ),
    ] = "Max.0k",
    epsilon: Annotated[
        float,
        typer.Option(
            help="global: stop when the result is proved to be within this share of the best.", min=0.0
        ),
    ] = 0.01,
    certificate: Annotated[
        str | None,
        typer.Option(help="global: write the proof here, for 'arcwise verify'.", show_default=False),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(help="global: keep the state of the search here, to go on later.", show_default=False),
    ] = None,
    resume: Annotated[
        str | None, typer.Option(help="global: go on from this checkpoint.", show_default=False)
    ] = None,
    blocks: Annotated[
        int,
        typer.Option(
            help="global: bound a large corpus by blocks of so many sentences (needs --time-limit).", min=0
        ),
    ] = 0,
    estimate: Annotated[
        int,
        typer.Option(help="global: do not search; estimate nodes and time by so many random walks.", min=0),
    ] = 0,
    plot: Annotated[
        str | None,
        typer.Option(help="global: draw the bounds over time (.png, .svg, .pdf).", show_default=False),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop after this many seconds with the best so far.", show_default=False),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same result.")] = 0,
    threads: Annotated[int, typer.Option(help="Processor cores to use.", min=1)] = 1,
    workers: Annotated[
        int,
        typer.Option(
            help="global: processes that search side by side, over one queue of open nodes; one that dies costs seconds.",
            min=1,
        ),
    ] = 1,
    engine: Annotated[
        str,
        typer.Option(
            help="global: where workers are: local, processes of this machine; ray, a cluster (needs ray installed)."
        ),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(help="The cluster of --engine ray, if it is not this machine.", show_default=False),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="Write the corpus with the induced trees here.", show_default=False
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="Write the grammar here (JSON), for 'arcwise parse --model'.", show_default=False),
    ] = None,
) -> None:
    """Learn a dependency grammar from the tags of a corpus, without trees, and say how well it fits.

    The grammar is a dependency model with valence: every word decides on each side whether it has a (further)
    child, and which tag the child has. If the corpus has trees, the share of correct heads is printed too.

    With --learner global the parses and parameters found are the most likely ones there are, up to --epsilon, and
    --certificate writes a proof of it. The search can be stopped at any time (Ctrl-C, --time-limit): it then says
    how far from the best its result can be. With --checkpoint it can be killed, and --resume goes on. --workers search
    side by side, on this machine or (--engine ray) on many.
    """
    from arcwise.cli._support.corpus_tags import Selection, arc_share
    from arcwise.induction.parser import DmvParser
    from arcwise.optional import require
    from arcwise.treebanks import Treebank

    if e_step is EStep.relaxed or (learner is Learner.search and method is not Method.counts):
        require("highspy")  # before a large corpus is read

    treebank = Treebank.read(corpus)
    selection = Selection(tags.value, max_length, sentences, without_punctuation)
    chosen = selection.tags(treebank)
    without = ", without punctuation" if without_punctuation else ""
    typer.echo(f"{len(chosen)} sentences, {chosen.words} words, {len(chosen.tags)} tags{without}")
    untagged = sum(tag == "_" for s in chosen.strings for tag in s)
    if untagged:
        typer.echo(f"{untagged} words have no tag; '_' is taken for a tag of its own", err=True)
    if learner is not Learner.search and (workers > 1 or engine != "local" or address is not None):
        raise typer.BadParameter("--workers, --engine and --address: work with --learner global alone")
    constraint = arc_share(constrain, rules)
    if learner is Learner.search:
        from arcwise.cli._support.induce_globally import Search, estimate_search, run_search
        from arcwise.engine import engine_of

        search = Search(
            chosen,
            constraint,
            method.value,
            rlt,
            epsilon,
            time_limit,
            seed,
            blocks,
            max(threads, workers),
            engine_of(engine, workers=max(threads, workers), address=address),
            checkpoint,
            resume,
        )
        if estimate:
            estimate_search(search, estimate)
            return
        grammar, stopped = run_search(search, certificate, selection, plot)
    else:
        begin = start or (Start.harmonic if learner is Learner.em else Start.uniform)
        grammar = _climb(
            chosen, learner, begin, e_step, smoothing, restarts, constraint, seed, threads, time_limit
        )
        stopped = False
    parser = DmvParser(grammar, tags.value, without_punctuation)
    _write(parser, treebank, threads, output, model, stopped=stopped)


def _climb(
    chosen: TagSentences,
    learner: Learner,
    start: Start,
    e_step: EStep,
    smoothing: float | None,
    restarts: int,
    constraint: ArcShare | None,
    seed: int,
    threads: int,
    time_limit: float | None,
) -> DMV:
    """EM or Viterbi EM."""
    from arcwise.induction import em, viterbi_em

    if learner is Learner.em:
        if e_step is not EStep.exact:
            raise typer.BadParameter("--e-step: works with viterbi-em, not with em")
        if constraint is not None:
            raise typer.BadParameter("--constrain: works with viterbi-em and global, not with em")
        found = em(
            chosen,
            start=start.value,
            smoothing=smoothing or 0.0,
            restarts=restarts,
            seed=seed,
            threads=threads,
            time_limit=time_limit,
        )
    else:
        found = viterbi_em(
            chosen,
            start=start.value,
            e_step=e_step.value,
            smoothing=1.0 if smoothing is None else smoothing,
            constraint=constraint,
            restarts=restarts,
            seed=seed,
            threads=threads,
            time_limit=time_limit,
        )
    per_word = found.value / chosen.words
    typer.echo(
        f"log-likelihood {found.value:.4f} ({per_word:.4f} per word), best of {len(found.values)} restarts"
    )
    return found.grammar


def _write(
    parser: DmvParser,
    treebank: Treebank,
    threads: int,
    output: str | None,
    model: str | None,
    *,
    stopped: bool,
) -> None:
    """Score the trees if the corpus has any, and write trees and grammar; that of a search that was stopped goes beside one that is there."""
    import numpy as np

    from arcwise.induction.corpus import VisibleWords
    from arcwise.induction.parser import attachment_accuracy

    parsed = parser.parse(treebank, threads=threads)
    words = VisibleWords.of(treebank, without_punctuation=parser.without_punctuation)
    gold = np.where(words.mask, treebank.heads, -1)
    if (gold >= 0).any():
        score = attachment_accuracy(parsed.heads, gold, treebank.sentence_words)
        without = ", punctuation left out" if parser.without_punctuation else ""
        typer.echo(
            f"correct heads {100 * score.directed:.2f} %, up to direction {100 * score.undirected:.2f} % "
            f"of {score.words} words (all sentences of the corpus{without})"
        )
    if output is not None:
        parsed.write(output)
    if model is not None:
        target = output_path(model, interrupted=stopped)
        parser.save(target)
        if target != model:
            typer.echo(f"the search was stopped: {model} is left as it was, the new grammar is {target}")
