"""The other end of a ``Job``: reads what to do from standard input, does it, tells how far it is in lines of JSON on standard output.

It runs at low priority, and ends when standard input does: with the process that started it, however that came to its end.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from threading import Thread
from typing import Any, BinaryIO

from arcwise.errors import ArcwiseError

Tell = Callable[[Mapping[str, Any]], None]
Task = Callable[[Mapping[str, Any], bytes, Tell], Mapping[str, Any]]
"""(request, data, how to tell) → what there is to say in the end."""


def _task(name: str) -> Task:
    """The work of that name; its modules are imported when it is asked for."""
    if name == "train":
        from arcwise.annotation.training import train_task

        return train_task
    from arcwise.annotation.cross_fitting import doubts_task

    return doubts_task


def main() -> None:
    """Do one piece of work."""
    given = sys.stdin.buffer
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing but messages goes to standard output
    head = json.loads(given.readline())
    data = given.read(head["bytes"])
    Thread(target=_end_with, args=(given,), daemon=True).start()
    with contextlib.suppress(OSError, AttributeError):
        os.nice(10)

    def tell(message: Mapping[str, Any]) -> None:
        out.write(json.dumps(message).encode() + b"\n")
        out.flush()

    try:
        tell({"end": "done", **_task(head["task"])(head["request"], data, tell)})
    except ArcwiseError as error:
        tell({"end": "failed", "told": str(error)})


def _end_with(given: BinaryIO) -> None:
    """End the process when its standard input ends."""
    with contextlib.suppress(OSError, ValueError):
        given.read(1)
    os._exit(1)


if __name__ == "__main__":
    main()
