"""``induce_globally``: the most likely grammar, with a proof of its optimality gap."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from arcwise.engine import Engine, local_engine
from arcwise.errors import InputError
from arcwise.induction.constraints import ArcShare
from arcwise.induction.corpus import TagSentences
from arcwise.induction.global_search.blocks import bound_by_blocks
from arcwise.induction.global_search.checkpoint import load_checkpoint, save_checkpoint
from arcwise.induction.global_search.coordinator import CHECKPOINT_SECONDS, Coordinator
from arcwise.induction.global_search.count import CountSearch
from arcwise.induction.global_search.milp import solve_milp
from arcwise.induction.global_search.options import CountOptions, ThetaOptions
from arcwise.induction.global_search.problem import Incumbent, InductionTask, ProgressCallback, Result
from arcwise.induction.global_search.theta import ThetaSearch
from arcwise.induction.global_search.theta_certificate import theta_certificate
from arcwise.optional import require
from arcwise.treebanks.files import PathLike
from arcwise.trees import Tree

Method = Literal["count", "theta", "milp"]
METHODS: tuple[Method, ...] = ("count", "theta", "milp")


def induce_globally(
    corpus: TagSentences | Sequence[Sequence[str]],
    *,
    method: Method = "count",
    epsilon: float = 0.01,
    time_limit: float | None = None,
    constraint: ArcShare | None = None,
    seed: int = 0,
    options: CountOptions = CountOptions(),
    theta_options: ThetaOptions = ThetaOptions(),
    block_size: int | None = None,
    processes: int = 1,
    engine: Engine | None = None,
    checkpoint: PathLike | None = None,
    resume: PathLike | None = None,
    progress: ProgressCallback | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Result:
    """Maximise the joint log-likelihood of parameters and parses to within a gap ``epsilon``.

    The problem and ``method="theta"`` are those of Gormley & Eisner (2013).

    method: ``"count"`` branches on counts, ``"theta"`` on parameters as in the paper, ``"milp"`` solves one
        integer program. The last two need highspy (extra ``induction``).
    time_limit: in seconds. The search is anytime: at the limit, or when ``should_stop`` returns True, it
        returns the incumbent and the current bound.
    checkpoint, resume: file for the state of the search, and such a file to resume from.
    processes: number of parallel workers, on this machine or on ``engine``; with several, the same seed may
        give another tree and another proof.
    block_size: bound a large corpus by blocks of this many sentences, ``processes`` at a time (needs a time
    limit).

    >>> result = induce_globally([["DET", "NOUN", "VERB"], ["NOUN", "VERB"]])
    >>> round(result.lower, 3), result.gap <= 0.01
    (-1.386, True)
    """
    corpus = corpus if isinstance(corpus, TagSentences) else TagSentences.from_tags(corpus)
    if method not in METHODS:
        raise InputError(f"method: found {method!r}, expected one of {', '.join(METHODS)}")
    if not epsilon >= 0:
        raise InputError(f"epsilon: found {epsilon}, expected a number of at least 0")
    if method != "count":
        require("highspy")  # before the programs are built, which takes a while for a large corpus
    task = InductionTask(corpus, constraint)
    if method == "milp":
        best, point = solve_milp(task, epsilon=epsilon, time_limit=time_limit)
        return Result(best.grammar, parses(best), point.lower, point.upper, [point])
    if method == "theta":
        theta = ThetaSearch(task, seed=seed, options=theta_options)
        theta.run(epsilon=epsilon, time_limit=time_limit, progress=progress, should_stop=should_stop)
        point = theta.point()
        return Result(
            theta.best.grammar,
            parses(theta.best),
            point.lower,
            point.upper,
            theta.trace,
            theta_certificate(theta),
            theta.program.counts,
        )
    if block_size is not None:
        if time_limit is None or method != "count":
            raise InputError("block_size: needs a time limit and the method count")
        best, trace, certificate = bound_by_blocks(
            task,
            block_size=block_size,
            time_limit=time_limit,
            epsilon=epsilon,
            seed=seed,
            processes=processes,
            engine=engine,
            options=options,
            progress=progress,
            should_stop=should_stop,
        )
        return Result(best.grammar, parses(best), trace[-1].lower, trace[-1].upper, trace, certificate)
    search = load_checkpoint(task, resume) if resume else CountSearch(task, seed=seed, options=options)
    if search.nodes and epsilon < search.epsilon:
        raise InputError(
            f"epsilon: found {epsilon}, expected at least {search.epsilon}: "
            f"the search of {resume} has pruned the nodes within that gap"
        )
    if processes > 1 or engine is not None:
        Coordinator(
            search,
            engine or local_engine(processes),
            workers=processes,
            epsilon=epsilon,
            time_limit=time_limit,
            checkpoint=checkpoint,
            progress=progress,
            should_stop=should_stop,
        ).run()
        return count_result(search)
    limit = math.inf if time_limit is None else time_limit
    while True:
        step = limit if checkpoint is None else min(limit, CHECKPOINT_SECONDS)
        search.run(epsilon=epsilon, time_limit=step, progress=progress, should_stop=should_stop)
        limit -= step
        if checkpoint is not None:
            save_checkpoint(search, checkpoint)
        if search.is_done or limit <= 0 or (should_stop is not None and should_stop()):
            return count_result(search)


def count_result(search: CountSearch) -> Result:
    """The current result of a search over counts."""
    point = search.point()
    return Result(
        search.best.grammar, parses(search.best), point.lower, point.upper, search.trace, search.certificate()
    )


def parses(best: Incumbent) -> list[Tree]:
    """The trees of the incumbent, one per sentence of the corpus."""
    assert best.heads is not None
    heads = best.task.spread(best.heads)
    return [Tree.from_heads(heads[a:b]) for a, b in pairwise(best.task.corpus.starts)]
