"""The global search of ``arcwise induce``: progress, certificate, estimate, plot."""

from __future__ import annotations

import json
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import typer

from arcwise.cli._support.corpus_tags import Selection
from arcwise.distributed.progress import ProgressLine
from arcwise.engine import Engine, ThisProcess
from arcwise.errors import InputError
from arcwise.induction import DMV, ArcShare, TagSentences, induce_globally
from arcwise.induction.global_search import (
    CountSearch,
    InductionTask,
    ThetaOptions,
    ThetaSearch,
    estimate_tree,
)
from arcwise.treebanks.files import open_output

if TYPE_CHECKING:
    from typing import Self

    from arcwise.induction.global_search import TracePoint


class SearchProgress(ProgressLine):
    """The progress of a search. The first Ctrl-C stops the search, the second the program."""

    def __enter__(self) -> Self:
        super().__enter__()
        self._stop = False
        try:
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        except ValueError:  # not in the main thread
            self._before = None
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, *_: Any) -> None:
        if self._stop:
            raise KeyboardInterrupt
        self._stop = True

    def should_stop(self) -> bool:
        """Whether the user has requested a stop."""
        return self._stop

    def show(self, point: TracePoint) -> None:
        """Show the state of the search."""
        speed = point.nodes / max(point.seconds, 1e-9)
        self.say(
            f"{point.seconds:7.1f} s  incumbent {point.lower:.4f}  bound {point.upper:.4f}  gap "
            f"{100 * point.gap:.2f} %  {point.nodes} nodes ({speed:.0f}/s), {point.open_nodes} open"
        )


@dataclass(frozen=True)
class Search:
    """The problem and the options of a search."""

    corpus: TagSentences
    constraint: ArcShare | None
    method: Literal["count", "theta", "milp"]
    rlt: str
    epsilon: float
    time_limit: float | None
    seed: int
    blocks: int
    processes: int
    engine: Engine
    checkpoint: str | None
    resume: str | None


def run_search(
    search: Search, certificate: str | None, selection: Selection, plot: str | None
) -> tuple[DMV, bool]:
    """Search, print the result, write the certificate and the plot. Returns the grammar, and whether Ctrl-C
    stopped the search."""
    if certificate is not None and search.method == "milp":
        raise InputError("--certificate: needs --method count or theta; milp has no proof to write")
    with SearchProgress() as watch:
        result = induce_globally(
            search.corpus,
            method=search.method,
            epsilon=search.epsilon,
            time_limit=search.time_limit,
            constraint=search.constraint,
            seed=search.seed,
            theta_options=ThetaOptions(rlt=search.rlt),
            block_size=search.blocks or None,
            processes=search.processes,
            engine=None if isinstance(search.engine, ThisProcess) else search.engine,
            checkpoint=search.checkpoint,
            resume=search.resume,
            progress=watch.show,
            should_stop=watch.should_stop,
        )
    about = ""
    if search.constraint is not None and not search.blocks:
        least, words = search.constraint.least(search.corpus.words), search.corpus.words
        about = f" of the parses in which at least {least} of {words} arcs follow the rules"
    typer.echo(
        f"log-likelihood {result.lower:.4f}, proved to be at most {result.upper:.4f} (gap "
        f"{100 * result.gap:.2f} %){about}, {result.trace[-1].nodes} "
        f"{'blocks' if search.blocks else 'nodes'}, {result.trace[-1].seconds:.1f} s"
    )
    if result.linear_programs is not None:
        typer.echo(str(result.linear_programs))
    if certificate is not None:
        with open_output(certificate) as stream:
            stream.write(
                json.dumps({**(result.certificate or {}), "selection": selection.to_json()}).encode()
            )
    if plot is not None:
        from arcwise.visual.plots import plot_bounds, save

        save(plot_bounds(result.trace), plot)
    return result.parameters, watch.should_stop()


def estimate_search(search: Search, walks: int) -> None:
    """Print Knuth's estimate of the size of the search tree."""
    task = InductionTask(search.corpus, search.constraint)
    tree: CountSearch | ThetaSearch
    if search.method == "count":
        tree = CountSearch(task, seed=search.seed)
    elif search.method == "theta":
        tree = ThetaSearch(task, seed=search.seed, options=ThetaOptions(rlt=search.rlt))
    else:
        raise InputError("--estimate: found --method milp, expected count or theta")
    tree.epsilon = search.epsilon
    estimate = estimate_tree(tree, walks=walks, seed=search.seed, time_limit=search.time_limit)
    if not estimate.walks:
        typer.echo(
            f"more than {estimate.nodes:.0f} nodes: the time limit was reached during the first random walk"
        )
        return
    typer.echo(
        f"about {estimate.nodes:.0f} nodes (± {estimate.nodes_error:.0f}) and {estimate.seconds:.1f} s (± "
        f"{estimate.seconds_error:.1f}), from {estimate.walks} random walks (Knuth 1975; the spread is wide)"
    )
