"""``Engine``: where independent pieces of work are done. In this process, in several on this machine; elsewhere, by whoever writes one.

A function with many such pieces (folds of a jack-knife, values of C to try, blocks of a corpus) takes an engine as an argument.
What it gives does not depend on the engine.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from reprlib import Repr
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from arcwise.errors import ArcwiseError, InputError

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

Item = TypeVar("Item")
Result = TypeVar("Result")

_SHOWN = Repr()
_SHOWN.maxother = _SHOWN.maxstring = 80


class Engine(Protocol):
    """Does the same work on many items. ``work`` and the items must be picklable, for it may be done in other processes."""

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, ordered: bool = True
    ) -> Iterator[Result]:
        """``work(item)`` of each item, in the order of the items; not ``ordered``: as soon as each is done.

        Whoever stops asking (or is stopped by Ctrl-C) ends the work that is not done yet.
        """
        ...


@dataclass(frozen=True)
class ThisProcess:
    """One item after the other, each when its result is asked for.

    >>> list(ThisProcess().map(abs, [-2, 1]))
    [2, 1]
    """

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, ordered: bool = True
    ) -> Iterator[Result]:
        """``work(item)`` of each item, in order or as they are done."""
        return map(work, items)


@dataclass(frozen=True)
class Processes:
    """``workers`` processes of this machine, started for each ``map`` and ended with it, by Ctrl-C too.

    ``work`` is sent once to each of them, so it may be large (a pipeline); items are sent one by one. Workers are started afresh and
    import what they need, so a script that uses them keeps its own work under ``if __name__ == "__main__"``. An error of one item is
    raised at the caller, and names the item.
    """

    workers: int

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InputError(f"workers: found {self.workers}, expected at least 1")

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, ordered: bool = True
    ) -> Iterator[Result]:
        """``work(item)`` of each item, in order or as they are done."""
        from concurrent.futures import ProcessPoolExecutor, as_completed  # slow to import, and seldom needed
        from multiprocessing import get_context

        todo = list(items)
        if not todo:
            return
        sent = pickle.dumps(work)
        context = get_context("spawn")
        lifeline, ours = context.Pipe(duplex=False)
        pool = ProcessPoolExecutor(
            min(self.workers, len(todo)),
            mp_context=context,
            initializer=_start_worker,
            initargs=(lifeline, sent),
        )
        try:
            jobs = {pool.submit(_attempt, item): number for number, item in enumerate(todo)}
            for job in jobs if ordered else as_completed(jobs):
                yield _result(job, todo[jobs[job]], f"item {jobs[job] + 1} of {len(todo)}")
        except BaseException:
            ours.close()  # the workers notice, and end
            raise
        finally:
            pool.shutdown(cancel_futures=True)
            ours.close()
            lifeline.close()


def local_engine(processes: int) -> Engine:
    """The engine for so many processes of this machine; 1 is this process.

    >>> local_engine(1), local_engine(4)
    (ThisProcess(), Processes(workers=4))
    """
    return ThisProcess() if processes == 1 else Processes(processes)


# ---- in a worker

_sent: list[bytes] = []
"""What this process was started for; empty where it is no worker."""


def _start_worker(lifeline: Connection, work: bytes) -> None:
    """Ctrl-C is for the caller to handle; a worker ends when the caller lets go of it, or is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _sent.append(work)

    def wait() -> None:
        try:
            lifeline.recv()
        except (EOFError, OSError):
            os._exit(1)

    Thread(target=wait, daemon=True).start()


@cache
def _work() -> Any:
    return pickle.loads(_sent[0])


def _attempt(item: Any) -> Any:
    """``work(item)``; an error that cannot be pickled is told in words, since it would take the worker down."""
    try:
        return _work()(item)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise RuntimeError(f"{type(error).__name__}: {error}") from None
        raise


# ---- at the caller


def _result(job: Future[Result], item: object, number: str) -> Result:
    try:
        return job.result()
    except ArcwiseError as error:
        error.args = (f"{number} ({_SHOWN.repr(item)}): {error}",)
        raise
    except Exception as error:
        raise RuntimeError(f"{number} ({_SHOWN.repr(item)}): {type(error).__name__}: {error}") from error
