"""``Job``: work in a process of its own, which tells how far it is, can be ended at any moment, and ends with whoever started it; ``Working``:
what gives out such work, once at a time."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock, Thread, current_thread
from typing import Any, ClassVar, Literal

import arcwise
from arcwise.errors import InputError

Told = Callable[[Mapping[str, Any]], None]
"""Called with each message of a job; the last one has the key ``end``: ``done``, ``failed`` or ``cancelled``."""


class Job:
    """A function of ``annotation.worker`` that runs in another process. ``told`` is called from a thread of this one."""

    def __init__(self, task: str, request: Mapping[str, Any], data: bytes, told: Told) -> None:
        self._told = told
        self._cancelled = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "arcwise.annotation.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": _python_path()},
        )
        head = json.dumps({"task": task, "request": dict(request), "bytes": len(data)})
        self._thread = Thread(
            target=self._listen, args=(head.encode() + b"\n" + data,), name=task, daemon=True
        )
        self._thread.start()

    def cancel(self) -> None:
        """End it now; nothing is left half-written."""
        self._cancelled = True
        self._process.kill()
        self.wait()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has ended; whether it has."""
        if current_thread() is not self._thread:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _listen(self, sent: bytes) -> None:
        """Send the work; then pass on what is told. The process's input stays open: when it closes, the process ends."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        lines: list[str] = []
        errors = Thread(target=lambda: lines.extend(_decoded(process.stderr)), daemon=True)
        errors.start()
        end: Mapping[str, Any] | None = None
        try:
            process.stdin.write(sent)
            process.stdin.flush()
            for line in process.stdout:
                message = json.loads(line)
                if "end" in message:
                    end = message
                else:
                    self._told(message)
        except (OSError, ValueError) as error:
            lines.append(str(error))
        finally:
            for stream in (process.stdin, process.stdout):
                _close(stream)
            process.wait()
            errors.join()
            _close(process.stderr)
        if self._cancelled:
            end = {"end": "cancelled"}
        if end is None:
            why = lines[-1].strip() if lines else f"the process ended with status {process.returncode}"
            end = {"end": "failed", "told": why}
        self._told(end)


@dataclass(frozen=True)
class TrainState:
    """Where some work stands."""

    state: Literal["idle", "training", "cancelled", "failed"]
    progress: float = 0.0
    """The share of the work that is done, 0..1."""
    told: str = ""
    """What it is doing, or why it failed: one sentence."""


class Working:
    """Something that is done in a process of its own, once at a time, and says where it stands."""

    busy: ClassVar[str] = "found work that is not over, expected none"

    def __init__(self, on_change: Callable[[TrainState], None] | None) -> None:
        """``on_change`` is called, from another thread, whenever the state is another one."""
        self._on_change = on_change
        self._lock = Lock()
        self._job: Job | None = None
        self._state = TrainState("idle")

    @property
    def state(self) -> TrainState:
        """Where it stands."""
        return self._state

    def cancel(self) -> None:
        """End it; what was there before stays."""
        job = self._job
        if job is not None and self._state.state == "training":
            job.cancel()

    def wait(self, seconds: float | None = None) -> TrainState:
        """Wait until it is done, or so long."""
        if self._job is not None:
            self._job.wait(seconds)
        return self._state

    def _refuse_if_busy(self) -> None:
        if self._state.state == "training":
            raise InputError(self.busy)

    def _begin(self, task: str, request: Mapping[str, Any], data: bytes) -> None:
        self._state = TrainState("training", 0.0, "starting")
        self._job = Job(task, request, data, self._hear)

    def _done(self, message: Mapping[str, Any]) -> str:
        """Take over what was done; it is told in so many words."""
        raise NotImplementedError

    def _hear(self, message: Mapping[str, Any]) -> None:
        end = message.get("end")
        if end is None:
            self._state = replace(self._state, progress=message["progress"], told=message["told"])
        elif end == "done":
            self._state = TrainState("idle", 1.0, self._done(message))
        else:
            self._state = TrainState(end, self._state.progress, message.get("told", ""))
        self._tell()

    def _tell(self) -> None:
        if self._on_change is not None:
            self._on_change(self._state)


def _decoded(stream: Any) -> list[str]:
    return [line.decode("utf-8", "replace") for line in stream]


def _close(stream: Any) -> None:
    with contextlib.suppress(OSError):  # the process was gone already
        stream.close()


def _python_path() -> str:
    """Where the other process finds this very arcwise."""
    home = str(Path(arcwise.__file__).parents[1])
    return os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))
