"""What a worker does with an item: the result, or the error in a form that travels."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any


def attempt(work: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What ``work`` gives, or its error; an error that cannot be pickled is told in words.

    >>> attempt(lambda: 1)
    (1, None)
    >>> attempt(lambda: [][0])
    (None, IndexError('list index out of range'))
    """
    try:
        return work(), None
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            return None, RuntimeError(f"{type(error).__name__}: {error}")
        return None, error
