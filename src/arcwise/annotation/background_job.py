"""Long-running work in a child process: training, error detection, checks of a large file.

``BackgroundJob`` starts ``python -m arcwise.annotation.background_job`` and forwards its progress messages.
The child runs at low priority and exits when its standard input closes, so it never outlives its parent.
``BackgroundTask`` runs one such job at a time and keeps track of its state.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock, Thread, current_thread
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Literal

import arcwise
from arcwise.errors import ArcwiseError, InputError

if TYPE_CHECKING:
    from arcwise.treebanks.validation import LanguageData

Message = Mapping[str, Any]
Report = Callable[[Message], None]
"""Receives each message of a job; the last one has the key ``end``: ``done``, ``failed`` or ``cancelled``."""
Task = Callable[[Mapping[str, Any], bytes, Report], Message]
"""(request, data, report progress) → the values of the final message."""
OF_EACH_RULE = 1_000
"""Findings of every rule that are listed however many findings a file has."""


class BackgroundJob:
    """One task in a child process. ``report`` is called from a thread of this process."""

    def __init__(self, task: str, request: Mapping[str, Any], data: bytes, report: Report) -> None:
        self._report = report
        self._cancelled = False
        self._process = subprocess.Popen(
            [sys.executable, "-m", "arcwise.annotation.background_job"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # The child must import this arcwise, even if it was started from a checkout.
            env={**os.environ, "PYTHONPATH": _python_path()},
        )
        head = json.dumps({"task": task, "request": dict(request), "bytes": len(data)})
        # daemon: a job must not keep the server from exiting.
        self._thread = Thread(
            target=self._listen, args=(head.encode() + b"\n" + data,), name=task, daemon=True
        )
        self._thread.start()

    def cancel(self) -> None:
        """Kill the process and wait for it. Its output files are written atomically."""
        self._cancelled = True
        self._process.kill()
        self.wait()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait for the job to end; returns whether it has."""
        if current_thread() is not self._thread:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def _listen(self, payload: bytes) -> None:
        """Send the request and forward messages.

        Standard input stays open: the child exits when it closes.
        """
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        errors: list[str] = []
        # stderr is drained by its own thread: a child that fills the pipe would block before it reports its
        # end.
        stderr = (line.decode("utf-8", "replace") for line in process.stderr)
        drain = Thread(target=errors.extend, args=(stderr,), daemon=True)
        drain.start()
        end: Message | None = None
        try:
            process.stdin.write(payload)
            process.stdin.flush()
            for line in process.stdout:
                message = json.loads(line)
                if "end" in message:
                    end = message
                else:
                    self._report(message)
        except (OSError, ValueError) as error:
            errors.append(str(error))
        finally:
            for stream in (process.stdin, process.stdout):
                _close(stream)
            # Waited for, so that no zombie is left and the return code is known.
            process.wait()
            drain.join()
            _close(process.stderr)
        if self._cancelled:
            end = {"end": "cancelled"}
        if end is None:
            reason = errors[-1].strip() if errors else f"the process exited with status {process.returncode}"
            end = {"end": "failed", "message": reason}
        self._report(end)


@dataclass(frozen=True)
class TaskState:
    """The state of a background task."""

    state: Literal["idle", "training", "cancelled", "failed"]
    progress: float = 0.0
    """Fraction of the work done, 0..1."""
    message: str = ""
    """The current step, the result, or the reason for a failure, in one sentence."""


AT_ONCE = 1 << 18
"""Files up to this size are checked while the page waits; larger ones in a child process."""


def run_task(task: str, request: Mapping[str, Any], data: bytes, report: Report) -> BackgroundJob | None:
    """Run a task in this process if the file is small, else as a background job, which is returned.

    A thread that checked a large file would slow down every request.
    """
    if len(data) > AT_ONCE:
        return BackgroundJob(task, request, data, report)
    report(_ended(task, request, data, report))
    return None


def _ended(task: str, request: Mapping[str, Any], data: bytes, report: Report) -> Message:
    """The last message of a task, after it ran."""
    try:
        return {"end": "done", **_task(task)(request, data, report)}
    except ArcwiseError as error:
        return {"end": "failed", "message": str(error)}


class BackgroundTask:
    """Work that runs in a child process, one job at a time, and reports its state."""

    busy: ClassVar[str] = "a background task is already running"

    def __init__(self, on_change: Callable[[TaskState], None] | None) -> None:
        """``on_change`` is called, from another thread, whenever the state changes."""
        self._on_change = on_change
        self._lock = Lock()
        self._job: BackgroundJob | None = None
        self._state = TaskState("idle")

    @property
    def state(self) -> TaskState:
        """The current state."""
        return self._state

    def cancel(self) -> None:
        """Stop the running job; earlier results stay."""
        job = self._job
        if job is not None and self._state.state == "training":
            job.cancel()

    def wait(self, seconds: float | None = None) -> TaskState:
        """Wait until the job ends or ``seconds`` have passed."""
        if self._job is not None:
            self._job.wait(seconds)
        return self._state

    def _refuse_if_busy(self) -> None:
        if self._state.state == "training":
            raise InputError(self.busy)

    def _begin(self, task: str, request: Mapping[str, Any], data: bytes) -> None:
        self._state = TaskState("training", 0.0, "starting")
        self._job = BackgroundJob(task, request, data, self._receive)

    def _done(self, message: Message) -> str:
        """Take over the result; returns one sentence about it."""
        raise NotImplementedError

    def _receive(self, message: Message) -> None:
        end = message.get("end")
        if end is None:
            self._state = replace(self._state, progress=message["progress"], message=message["message"])
        elif end == "done":
            self._state = TaskState("idle", 1.0, self._done(message))
        else:
            self._state = TaskState(end, self._state.progress, message.get("message", ""))
        self._notify()

    def _notify(self) -> None:
        if self._on_change is not None:
            self._on_change(self._state)


def _close(stream: Any) -> None:
    with contextlib.suppress(OSError):  # the process has exited already
        stream.close()


def _python_path() -> str:
    """PYTHONPATH with which the child imports this installation of arcwise."""
    home = str(Path(arcwise.__file__).parents[1])
    return os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))


def validation_findings(data: bytes, limit: int, language: LanguageData | None = None) -> dict[str, Any]:
    """The validation findings of a file, as JSON; unannotated words are not reported.

    ``language``: data that levels 4 and 5 check against.

    ``findings``: errors in file order, then warnings, up to ``limit``; beyond it only the first
    ``OF_EACH_RULE`` of every rule, so that a frequent rule never hides a rare one. ``rules``: the number of
    findings of every rule, all of them counted: ``{rule, warning, count}``, errors first, the most frequent
    first.
    """
    from arcwise.treebanks import Treebank
    from arcwise.treebanks.validation import RULES, Inventory, check_treebank

    treebank = Treebank(data, strict=False)
    inventory = replace(Inventory.of(treebank), language=language)
    counts: Counter[str] = Counter()
    errors: list[dict[str, Any]] = []
    warnings: list[dict[str, Any]] = []
    for finding in check_treebank(treebank, inventory, partial=True):
        counts[finding.rule] += 1
        kept = warnings if finding.warning else errors
        if len(kept) < limit or counts[finding.rule] <= OF_EACH_RULE:
            kept.append(finding.to_json())
    ordered = sorted(counts.most_common(), key=lambda group: RULES[group[0]].warning)
    rules = [{"rule": rule, "warning": RULES[rule].warning, "count": count} for rule, count in ordered]
    return {"findings": _limited([*errors, *warnings], limit), "rules": rules}


def _limited(findings: list[dict[str, Any]], limit: int) -> list[dict[str, Any]]:
    """The first findings, and beyond the limit only the first of every rule."""
    counts = Counter(finding["rule"] for finding in findings[:limit])
    kept = findings[:limit]
    for finding in findings[limit:]:
        counts[finding["rule"]] += 1
        if counts[finding["rule"]] <= OF_EACH_RULE:
            kept.append(finding)
    return kept


def _validate(request: Mapping[str, Any], data: bytes, report: Report) -> Message:
    from arcwise.treebanks.validation import LanguageData

    language = request["language"]
    return validation_findings(data, request["most"], language and LanguageData.read(language))


def _task(name: str) -> Task:
    """Import a task: a validation need not load the modules that train."""
    if name == "validate":
        return _validate
    if name == "consistency":
        from arcwise.annotation.consistency_task import inconsistencies

        return lambda request, data, report: inconsistencies(data, request["most"])
    if name == "train":
        from arcwise.annotation.training import train_task

        return train_task
    from arcwise.annotation.mining_task import mining_task

    return mining_task


def main() -> None:
    """Run one task in the child process."""
    requests = sys.stdin.buffer
    # A duplicate taken first: descriptor 1 is about to point elsewhere.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # stray prints of libraries go to stderr; stdout carries messages only
    head = json.loads(requests.readline())
    data = requests.read(head["bytes"])
    Thread(target=_exit_at_end_of, args=(requests,), daemon=True).start()
    # The annotator works on the same machine; training may take the time that is left. Windows has no nice.
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)

    def report(message: Message) -> None:
        out.write(json.dumps(message).encode() + b"\n")
        out.flush()

    report(_ended(head["task"], head["request"], data, report))


def _exit_at_end_of(stream: BinaryIO) -> None:
    with contextlib.suppress(OSError, ValueError):
        stream.read(1)
    # sys.exit would end only this thread.
    os._exit(1)


if __name__ == "__main__":
    main()
