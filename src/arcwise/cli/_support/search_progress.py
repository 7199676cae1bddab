"""Progress on standard error; for a search, Ctrl-C as a graceful stop."""

from __future__ import annotations

import signal
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

    from arcwise.induction.global_search import TracePoint

_LINE_SECONDS = 10.0


class ProgressLine:
    """One live line on a terminal, elsewhere a line every ten seconds."""

    def __enter__(self) -> Self:
        self._live: Any = None
        self._last = self._began = time.monotonic()
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, line: str) -> None:
        """Show this line."""
        if self._live is not None:
            self._live.update(line)
        elif time.monotonic() - self._last >= _LINE_SECONDS:
            self._last = time.monotonic()
            print(line, file=sys.stderr, flush=True)

    def count(self, done: int, total: int, unit: str) -> None:
        """Show how much is done, with speed and remaining time."""
        speed = done / max(time.monotonic() - self._began, 1e-9)
        left = (total - done) / max(speed, 1e-9)
        self.say(f"{done} of {total} {unit} ({speed:.1f}/s, {left:.0f} s left)")


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _interrupt(self, *_: Any) -> None:
        if self._stop:
            raise KeyboardInterrupt
        self._stop = True

    def should_stop(self) -> bool:
        """Whether the user has asked to stop."""
        return self._stop

    def show(self, point: TracePoint) -> None:
        """Show the state of the search."""
        speed = point.nodes / max(point.seconds, 1e-9)
        self.say(
            f"{point.seconds:7.1f} s  incumbent {point.lower:.4f}  bound {point.upper:.4f}  gap "
            f"{100 * point.gap:.2f} %  {point.nodes} nodes ({speed:.0f}/s), {point.open_nodes} open"
        )
