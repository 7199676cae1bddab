"""A line on standard error that follows a search, and Ctrl-C as a polite way to end it."""

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


class SearchProgress:
    """On a terminal one live line, elsewhere a line every ten seconds. The first Ctrl-C ends the search, the second the program."""

    def __enter__(self) -> Self:
        self._stop = False
        self._live: Any = None
        self._last = time.monotonic()
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), transient=True)
            self._live.start()
        try:
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        except ValueError:  # not in the main thread
            self._before = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()
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
        """Where the search stands."""
        speed = point.nodes / max(point.seconds, 1e-9)
        line = (
            f"{point.seconds:7.1f} s  incumbent {point.lower:.4f}  bound {point.upper:.4f}  gap {100 * point.gap:.2f} %  "
            f"{point.nodes} nodes ({speed:.0f}/s), {point.open_nodes} open"
        )
        if self._live is not None:
            self._live.update(line)
        elif time.monotonic() - self._last >= _LINE_SECONDS:
            self._last = time.monotonic()
            print(line, file=sys.stderr, flush=True)
