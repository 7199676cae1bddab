"""Progress on standard error: a bar with speed and remaining time on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from logging import INFO, WARNING
from types import TracebackType
from typing import TYPE_CHECKING, Any

from arcwise.log import logger

if TYPE_CHECKING:
    from typing import Self


_WARNING = "warning: "
"""Prefix of warnings."""


class Progress:
    """A progress bar over sentences, and permanent lines (``say``). Silent if ``shown`` is False.

    >>> with Progress(shown=False) as progress, progress.epoch(1, 8, 100) as advance:
    ...     advance(100)
    """

    def __init__(self, *, shown: bool = True) -> None:
        self._shown = shown
        self._bar: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Progress, shown=False), ()  # silent in other processes, whose lines would interleave

    def __enter__(self) -> Self:
        if self._shown and sys.stderr.isatty():
            # rich takes long to import, and only a terminal shows a bar.
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[speed]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def say(self, line: str) -> None:
        """Print a permanent line, and log it (``arcwise.log``)."""
        logger.log(WARNING if line.startswith(_WARNING) else INFO, "%s", line.removeprefix(_WARNING))
        with contextlib.suppress(OSError):  # a closed stderr must not abort the work
            if self._bar is not None:
                self._bar.console.print(line, highlight=False, markup=False)
            elif self._shown:
                print(line, file=sys.stderr, flush=True)

    @contextmanager
    def epoch(self, number: int, epochs: int, sentences: int) -> Iterator[Any]:
        """Show a bar for one epoch; yields a function that advances it by sentences."""
        if self._bar is None:
            yield lambda done: None
            return
        started, total = time.monotonic(), 0
        task = self._bar.add_task(f"epoch {number}/{epochs}", total=sentences, speed="")

        def advance(done: int) -> None:
            nonlocal total
            total += done
            speed = total / max(time.monotonic() - started, 1e-9)
            left = (sentences * (epochs - number + 1) - total) / speed
            self._bar.update(task, advance=done, speed=f"{speed:,.0f} sentences/s, {left:,.0f} s left")

        try:
            yield advance
        finally:
            self._bar.remove_task(task)
