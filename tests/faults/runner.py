"""A process that has imported what tests need and forks itself for each planted fault: importing takes longer
than most of the tests.

It reads requests from standard input, a line of JSON each (the number of the fault, arguments of pytest, the
most seconds), and answers with a line of JSON (exit status, output). The number of the fault is read at its
first use, so it must not be asked for before the fork.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import time
import traceback
from importlib import import_module
from typing import Any

WARM = (
    "numpy",
    "pytest",
    "_pytest.main",
    "_pytest.terminal",
    "_pytest.assertion.rewrite",
    "_pytest.python",
    "hypothesis",
    "hypothesis.strategies",
    "arcwise.graph",
    "arcwise.transition",
    "arcwise.inference",
    "arcwise.induction",
    "arcwise.text",
    "arcwise.models",
    "arcwise.evaluation",
)
KILLED = -9


def serve() -> None:
    """Until standard input is closed."""
    import faults.plugin  # noqa: F401  (puts the module with the faults in place, before arcwise is imported)

    for name in WARM:
        import_module(name)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        json.dump(run(json.loads(line)), answers)
        answers.write("\n")
        answers.flush()


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run the tests in a fork."""
    with tempfile.TemporaryFile() as output:
        child = os.fork()
        if child == 0:
            _tests(request, output.fileno())
        status = _waited(child, time.monotonic() + request["seconds"])
        output.seek(0)
        return {"status": status, "output": output.read().decode(errors="replace")}


def _tests(request: dict[str, Any], output: int) -> None:
    status = 70
    try:
        import pytest

        nothing = os.open(os.devnull, os.O_RDONLY)
        for ours, theirs in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(ours, theirs)
        os.environ["ARCWISE_FAULT"] = str(request["number"])
        status = int(pytest.main(request["arguments"]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _waited(child: int, until: float) -> int:
    """Its exit status; a child that takes too long is killed."""
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return KILLED
        time.sleep(0.01)


if __name__ == "__main__":
    serve()
