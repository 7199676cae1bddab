"""``arcwise induce``: learn a grammar from tag sequences only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

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


@dataclass(frozen=True)
class HillClimbing:
    """Options of EM and Viterbi EM."""

    restarts: int = typer.Option(100, help="Number of restarts; the best is kept.", min=1)
    start: Literal["uniform", "random", "harmonic"] | None = typer.Option(
        None, help="Initialisation of each restart (harmonic for em, else uniform)."
    )
    smoothing: float | None = typer.Option(
        None, help="Additive smoothing of the counts (0 for em, else 1).", min=0.0
    )
    e_step: Literal["exact", "relaxed"] = typer.Option(
        "exact",
        help="viterbi-em: parse by dynamic programming (exact), or with the linear program of Gormley & "
        "Eisner 2013 (relaxed; slower, uniform start, needs highspy installed).",
    )


@dataclass(frozen=True)
class GlobalSearch:
    """Options of the global search."""

    method: Literal["count", "theta", "milp"] = typer.Option(
        "count",
        help="global: branch and bound over counts, or over parameters (theta, Gormley & Eisner 2013), "
        "or one integer program (milp); theta and milp need highspy installed.",
    )
    rlt: str = typer.Option(
        "Max.0k", help="theta: products of constraints: Max.0k, Max.1k, Max.10k, Max.100k, Obj.Filter, All."
    )
    epsilon: float = typer.Option(
        0.01, help="global: stop when the result is provably within this fraction of the optimum.", min=0.0
    )
    certificate: str | None = typer.Option(None, help="global: write the proof here, for 'arcwise verify'.")
    checkpoint: str | None = typer.Option(None, help="global: checkpoint file, to resume the search later.")
    resume: str | None = typer.Option(None, help="global: resume from this checkpoint.")
    blocks: int = typer.Option(
        0, help="global: bound a large corpus in blocks of this many sentences (needs --time-limit).", min=0
    )
    estimate: int = typer.Option(
        0, help="global: do not search; estimate nodes and time with this many random walks.", min=0
    )
    plot: str | None = typer.Option(None, help="global: plot the bounds over time (.png, .svg, .pdf).")


@dataclass(frozen=True, kw_only=True)
class InduceArguments:
    """The options of ``arcwise induce``, in the order of its help."""

    corpus: str = typer.Argument(
        ...,
        help="CoNLL-U file. Learning uses only its tags; heads, if there are any, are used to score the "
        "result.",
    )
    tags: Literal["upos", "xpos"] = typer.Option("upos", help="Column with the tags.")
    without_punctuation: bool = typer.Option(
        False,
        "--without-punctuation",
        help="Ignore punctuation in learning, in --max-length, in the score, and later in 'arcwise "
        "parse', which attaches it to the preceding word.",
    )
    max_length: int = typer.Option(10, help="Maximum sentence length in words.", min=1)
    sentences: int = typer.Option(0, help="Use only the first N of these sentences (0: all).", min=0)
    learner: Literal["em", "viterbi-em", "global"] = typer.Option(
        "viterbi-em",
        help="em: sum over all parses; viterbi-em: the best parse of each sentence; global: search for "
        "the optimum.",
    )
    climbing: HillClimbing
    constrain: float = typer.Option(
        0.0, help="Fraction of all arcs that must follow the rules (0: no rules).", min=0.0, max=1.0
    )
    rules: str | None = typer.Option(
        None,
        help="File of rules 'HEAD CHILD CHILD …', one per line (default: the universal rules of Naseem "
        "et al. 2010).",
    )
    search: GlobalSearch
    time_limit: float | None = typer.Option(
        None, help="Stop after this many seconds with the best result so far."
    )
    seed: int = typer.Option(0, help="Random seed; the same seed gives the same result.")
    threads: int = typer.Option(1, help="Number of threads.", min=1)
    workers: int = typer.Option(
        1,
        help="global: number of processes that search in parallel; if one dies, only seconds of work are "
        "lost.",
        min=1,
    )
    engine: str = typer.Option(
        "local",
        help="global: where workers run: local (processes on this machine) or ray (a cluster; needs ray "
        "installed).",
    )
    address: str | None = typer.Option(
        None, help="Address of the cluster for --engine ray, if not this machine."
    )
    output: str | None = typer.Option(
        None, "--output", "-o", help="Write the corpus with the induced trees here."
    )
    model: str | None = typer.Option(None, help="Write the grammar here (JSON), for 'arcwise parse --model'.")


@takes_options
def run(arguments: InduceArguments) -> None:
    """Learn a dependency grammar from the tags of a corpus, without trees, and report how well it fits.

    The grammar is a dependency model with valence: every word decides on each side whether it has a (further)
    child, and which tag the child has. If the corpus has trees, the command also prints the share of correct
    heads.

    With --learner global the result is the global optimum, up to --epsilon, and --certificate writes a proof
    of it. You can stop the search at any time (Ctrl-C, --time-limit): it then reports how far from the
    optimum the result can be. With --checkpoint you can also kill it and later continue with --resume.
    --workers search in parallel, on this machine or (--engine ray) on several.
    """
    from arcwise.cli._support.corpus_tags import Selection, arc_share
    from arcwise.induction.parser import DmvParser
    from arcwise.optional import require
    from arcwise.treebanks import Treebank

    is_global = arguments.learner == "global"
    relaxed = arguments.climbing.e_step == "relaxed"
    if relaxed or (is_global and arguments.search.method != "count"):
        require("highspy")  # before a large corpus is read
    treebank = Treebank.read(arguments.corpus)
    selection = Selection(
        arguments.tags, arguments.max_length, arguments.sentences, arguments.without_punctuation
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
    parser = DmvParser(grammar, arguments.tags, arguments.without_punctuation)
    _write(parser, treebank, arguments.threads, arguments.output, arguments.model, stopped=stopped)


def _search(arguments: InduceArguments, tags: TagSentences, constraint: ArcShare | None) -> Search:
    from arcwise.cli._support.induce_globally import Search
    from arcwise.engine import engine_of

    processes = max(arguments.threads, arguments.workers)
    return Search(
        tags,
        constraint,
        arguments.search.method,
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
    if arguments.learner == "em":
        if climbing.e_step != "exact":
            raise typer.BadParameter("--e-step: works with viterbi-em, not with em")
        if constraint is not None:
            raise typer.BadParameter("--constrain: works with viterbi-em and global, not with em")
        result = em(tags, start=climbing.start or "harmonic", smoothing=climbing.smoothing or 0.0, **common)
    else:
        result = viterbi_em(
            tags,
            start=climbing.start or "uniform",
            e_step=climbing.e_step,
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
