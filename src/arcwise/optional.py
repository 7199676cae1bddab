"""Libraries that arcwise works without: whether one is here, asked before work starts, and how to get it."""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from arcwise.errors import MissingExtraError


def require(library: str) -> None:
    """``MissingExtraError``, with advice, unless the library is installed. It is not imported.

    >>> require("numpy")
    """
    if not is_installed(library):
        raise MissingExtraError(library, install_command(library))


def is_installed(library: str) -> bool:
    """Whether a library can be imported."""
    try:
        return find_spec(library) is not None
    except (ImportError, ValueError):  # the package above it is not there, or it was blocked in sys.modules
        return False


def install_command(library: str) -> str:
    """A command that installs a library for the Python that runs now, however arcwise itself came there."""
    python = Path(sys.executable)
    if not is_installed("pip"):  # an environment of uv, say
        return f"uv pip install -p {shlex.quote(str(python))} {library}"
    pip = shutil.which("pip")
    if pip is not None and Path(pip).parent == python.parent:
        return f"pip install {library}"
    return f"{shlex.quote(str(python))} -m pip install {library}"
