"""Libraries that arcwise works without: whether one is here, asked before work starts, and how to get it."""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from arcwise.errors import MissingExtraError


def require(*libraries: str) -> None:
    """``MissingExtraError``, with advice, unless the libraries are installed; all that are missing are told at once. None is imported.

    >>> require("numpy")
    """
    missing = [library for library in libraries if not is_installed(library)]
    if missing:
        raise MissingExtraError(" and ".join(missing), install_command(*missing))


def is_installed(library: str) -> bool:
    """Whether a library can be imported."""
    try:
        return find_spec(library) is not None
    except (ImportError, ValueError):  # the package above it is not there, or it was blocked in sys.modules
        return False


def install_command(*libraries: str) -> str:
    """A command that installs libraries for the Python that runs now, however arcwise itself came there."""
    python, wanted = Path(sys.executable), " ".join(libraries)
    if not is_installed("pip"):  # an environment of uv, say
        return f"uv pip install -p {shlex.quote(str(python))} {wanted}"
    pip = shutil.which("pip")
    if pip is not None and Path(pip).parent == python.parent:
        return f"pip install {wanted}"
    return f"{shlex.quote(str(python))} -m pip install {wanted}"
