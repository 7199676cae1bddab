"""``arcwise induce``: learn a grammar from tag sequences alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arcwise.cli._support.files import Files, output_path
from arcwise.cli._support.options import takes_options

if TYPE_CHECKING:
    from arcwise.cli._support.induce_globally import Search
    from arcwise.induction import DMV, ArcShare, TagSentences
    from arcwise.induction.parser import DmvParser
    from arcwise.treebanks import Treebank

FILES = Files(
    reads=("corpus", "rules", "resume"),
    writes=("certificate", "checkpoint", "output", "model"),
    plots=("plot",),
    continues={"checkpoint": "resume"},
)


class Algorithm(str, Enum):
    """How to learn."""

    em = "em"
    viterbi_em = "viterbi-em"
    search = "global"


class SearchMethod(str, Enum):
    """How to search globally."""

    counts = "count"
    theta = "theta"
    milp = "milp"


class TagColumn(str, Enum):
    """The column with the tags."""

    upos = "upos"
    xpos = "xpos"


class EStep(str, Enum):
    """How Viterbi EM parses."""

    exact = "exact"
    relaxed = "relaxed"


class Initialisation(str, Enum):
    """The first model of a restart."""

    uniform = "uniform"
    random = "random"
    harmonic = "harmonic"


@dataclass(frozen=True)
class HillClimbing:
    """Options of EM and Viterbi EM."""

    restarts: Annotated[int, typer.Option(help="Number of restarts; the best is kept.", min=1)] = 100
    start: Annotated[
        Initialisation | None,
        typer.Option(
            help="Initialisation of each restart (harmonic for em, else uniform).", show_default=False
        ),
    ] = None
    smoothing: Annotated[
        float | None,
        typer.Option(
            help="Additive smoothing of the counts (0 for em, else 1).", min=0.0, show_default=False
        ),
    ] = None
    e_step: Annotated[
        EStep,
        typer.Option(
            "--e-step",
            help="viterbi-em: parse by dynamic programming (exact), or with the linear program of Gormley & "
            "Eisner 2013 (relaxed; slower, uniform start, needs highspy installed).",
        ),
    ] = EStep.exact


@dataclass(frozen=True)
class GlobalSearch:
    """Options of the global search."""

    method: Annotated[
        SearchMethod,
        typer.Option(
            help="global: branch and bound over counts, or over parameters (theta, Gormley & Eisner 2013), "
            "or one integer program (milp); theta and milp need highspy installed."
        ),
    ] = SearchMethod.counts
    rlt: Annotated[
        str,
        typer.Option(
            help="theta: products of constraints: Max.0k, Max.1k, Max.10k, Max.100k, Obj.Filter, All."
        ),
    ] = "Max.0k"
    epsilon: Annotated[
        float,
        typer.Option(
            help="global: stop when the result is provably within this fraction of the optimum.", min=0.0
        ),
    ] = 0.01
    certificate: Annotated[
        str | None,
        typer.Option(help="global: write the proof here, for 'arcwise verify'.", show_default=False),
    ] = None
    checkpoint: Annotated[
        str | None,
        typer.Option(help="global: checkpoint file, to resume the search later.", show_default=False),
    ] = None
    resume: Annotated[
        str | None, typer.Option(help="global: resume from this checkpoint.", show_default=False)
    ] = None
    blocks: Annotated[
        int,
        typer.Option(
            help="global: bound a large corpus in blocks of this many sentences (needs --time-limit).", min=0
        ),
    ] = 0
    estimate: Annotated[
        int,
        typer.Option(
            help="global: do not search; estimate nodes and time with this many random walks.", min=0
        ),
    ] = 0
    plot: Annotated[
        str | None,
        typer.Option(help="global: plot the bounds over time (.png, .svg, .pdf).", show_default=False),
    ] = None


@dataclass(frozen=True, kw_only=True)
class InduceArguments:
    """The options of ``arcwise induce``, in the order of its help."""

    corpus: Annotated[
        str,
        typer.Argument(
            help="CoNLL-U file. Learning uses only its tags; heads, if there are any, are used to score the "
            "result.",
            show_default=False,
        ),
    ]
    tags: Annotated[TagColumn, typer.Option(help="Column with the tags.")] = TagColumn.upos
    without_punctuation: Annotated[
        bool,
        typer.Option(
            "--without-punctuation",
            help="Ignore punctuation in learning, in --max-length, in the score, and later in 'arcwise "
            "parse', which attaches it to the preceding word.",
        ),
    ] = False
    max_length: Annotated[int, typer.Option(help="Maximum sentence length in words.", min=1)] = 10
    sentences: Annotated[
        int, typer.Option(help="Use only the first N of these sentences (0: all).", min=0)
    ] = 0
    learner: Annotated[
        Algorithm,
        typer.Option(
            help="em: sum over all parses; viterbi-em: the best parse of each sentence; global: search for "
            "the optimum."
        ),
    ] = Algorithm.viterbi_em
    climbing: HillClimbing
    constrain: Annotated[
        float,
        typer.Option(help="Fraction of all arcs that must follow the rules (0: no rules).", min=0.0, max=1.0),
    ] = 0.0
    rules: Annotated[
        str | None,
        typer.Option(
            help="File of rules 'HEAD CHILD CHILD …', one per line (default: the universal rules of Naseem "
            "et al. 2010).",
            show_default=False,
        ),
    ] = None
    search: GlobalSearch
    time_limit: Annotated[
        float | None,
        typer.Option(help="Stop after this many seconds with the best result so far.", show_default=False),
    ] = None
    seed: Annotated[int, typer.Option(help="Random seed; the same seed gives the same result.")] = 0
    threads: Annotated[int, typer.Option(help="Number of threads.", min=1)] = 1
    workers: Annotated[
        int,
        typer.Option(
            help="global: number of processes that search in parallel; one that dies costs seconds.", min=1
        ),
    ] = 1
    engine: Annotated[
        str,
        typer.Option(
            help="global: where workers run: local (processes on this machine) or ray (a cluster; needs ray "
            "installed)."
        ),
    ] = "local"
    address: Annotated[
        str | None,
        typer.Option(
            help="Address of the cluster for --engine ray, if not this machine.", show_default=False
        ),
    ] = None
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", help="Write the corpus with the induced trees here.", show_default=False
        ),
    ] = None
    model: Annotated[
        str | None,
        typer.Option(help="Write the grammar here (JSON), for 'arcwise parse --model'.", show_default=False),
    ] = None


@takes_options
def run(arguments: InduceArguments) -> None:
    """Learn a dependency grammar from the tags of a corpus, without trees, and report how well it fits.

    The grammar is a dependency model with valence: every word decides on each side whether it has a (further)
    child, and which tag the child has. If the corpus has trees, the share of correct heads is printed too.

    With --learner global the result is the global optimum, up to --epsilon, and --certificate writes a proof
    of it. You can stop the search at any time (Ctrl-C, --time-limit): it then reports how far from the
    optimum the result can be. With --checkpoint you can also kill it, and --resume continues. --workers
    search in parallel, on this machine or (--engine ray) on several.
    """
    from arcwise.cli._support.corpus_tags import Selection, arc_share
    from arcwise.induction.parser import DmvParser
    from arcwise.optional import require
    from arcwise.treebanks import Treebank

    is_global = arguments.learner is Algorithm.search
    relaxed = arguments.climbing.e_step is EStep.relaxed
    if relaxed or (is_global and arguments.search.method is not SearchMethod.counts):
        require("highspy")  # before a large corpus is read
    treebank = Treebank.read(arguments.corpus)
    selection = Selection(
        arguments.tags.value, arguments.max_length, arguments.sentences, arguments.without_punctuation
    )
    tags = selection.tags(treebank)
    without = ", without punctuation" if arguments.without_punctuation else ""
    typer.echo(f"{len(tags)} sentences, {tags.words} words, {len(tags.tags)} tags{without}")
    untagged = sum(tag == "_" for sentence in tags.strings for tag in sentence)
    if untagged:
        typer.echo(f"{untagged} words have no tag; '_' is treated as a tag", err=True)
    if not is_global and (
        arguments.workers > 1 or arguments.engine != "local" or arguments.address is not None
    ):
        raise typer.BadParameter("--workers, --engine and --address: work only with --learner global")
    constraint = arc_share(arguments.constrain, arguments.rules)
    stopped = False
    if is_global:
        from arcwise.cli._support.induce_globally import estimate_search, run_search

        search = _search(arguments, tags, constraint)
        if arguments.search.estimate:
            estimate_search(search, arguments.search.estimate)
            return
        grammar, stopped = run_search(search, arguments.search.certificate, selection, arguments.search.plot)
    else:
        grammar = _climb(arguments, tags, constraint)
    parser = DmvParser(grammar, arguments.tags.value, arguments.without_punctuation)
    _write(parser, treebank, arguments.threads, arguments.output, arguments.model, stopped=stopped)


def _search(arguments: InduceArguments, tags: TagSentences, constraint: ArcShare | None) -> Search:
    from arcwise.cli._support.induce_globally import Search
    from arcwise.engine import engine_of

    processes = max(arguments.threads, arguments.workers)
    return Search(
        tags,
        constraint,
        arguments.search.method.value,
        arguments.search.rlt,
        arguments.search.epsilon,
        arguments.time_limit,
        arguments.seed,
        arguments.search.blocks,
        processes,
        engine_of(arguments.engine, workers=processes, address=arguments.address),
        arguments.search.checkpoint,
        arguments.search.resume,
    )


def _climb(arguments: InduceArguments, tags: TagSentences, constraint: ArcShare | None) -> DMV:
    """EM or Viterbi EM."""
    from arcwise.induction import em, viterbi_em

    climbing = arguments.climbing
    common: dict[str, Any] = {
        "restarts": climbing.restarts,
        "seed": arguments.seed,
        "threads": arguments.threads,
        "time_limit": arguments.time_limit,
    }
    if arguments.learner is Algorithm.em:
        if climbing.e_step is not EStep.exact:
            raise typer.BadParameter("--e-step: works with viterbi-em, not with em")
        if constraint is not None:
            raise typer.BadParameter("--constrain: works with viterbi-em and global, not with em")
        start = climbing.start or Initialisation.harmonic
        result = em(tags, start=start.value, smoothing=climbing.smoothing or 0.0, **common)
    else:
        start = climbing.start or Initialisation.uniform
        result = viterbi_em(
            tags,
            start=start.value,
            e_step=climbing.e_step.value,
            smoothing=1.0 if climbing.smoothing is None else climbing.smoothing,
            constraint=constraint,
            **common,
        )
    per_word = result.value / tags.words
    typer.echo(
        f"log-likelihood {result.value:.4f} ({per_word:.4f} per word), best of {len(result.values)} restarts"
    )
    return result.grammar


def _write(
    parser: DmvParser,
    treebank: Treebank,
    threads: int,
    output: str | None,
    model: str | None,
    *,
    stopped: bool,
) -> None:
    """Score the trees if the corpus has any, and write trees and grammar. A stopped search does not overwrite
    a grammar."""
    import numpy as np

    from arcwise.induction.corpus import VisibleWords
    from arcwise.induction.parser import attachment_accuracy

    parsed = parser.parse(treebank, threads=threads)
    words = VisibleWords.of(treebank, without_punctuation=parser.without_punctuation)
    gold = np.where(words.mask, treebank.heads, -1)
    if (gold >= 0).any():
        score = attachment_accuracy(parsed.heads, gold, treebank.sentence_words)
        without = ", without punctuation" if parser.without_punctuation else ""
        typer.echo(
            f"correct heads {100 * score.directed:.2f} %, up to direction {100 * score.undirected:.2f} % of "
            f"{score.words} words (all sentences of the corpus{without})"
        )
    if output is not None:
        parsed.write(output)
    if model is not None:
        target = output_path(model, interrupted=stopped)
        parser.save(target)
        if target != model:
            typer.echo(f"the search was stopped: {model} is unchanged, the new grammar is {target}")
