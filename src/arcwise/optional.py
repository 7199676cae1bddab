"""Optional libraries: check that they are installed before work starts, and say how to install them."""

from __future__ import annotations

import shlex
import shutil
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from arcwise.errors import MissingExtraError


def require(*libraries: str, extra: str | None = None) -> None:
    """Raise ``MissingExtraError``, which names all missing libraries, unless all are installed. Imports none.

    ``extra``: the extra of arcwise that has them, which is then what to install.

    >>> require("numpy")
    """
    missing = [library for library in libraries if not is_installed(library)]
    if missing and extra is not None:
        raise MissingExtraError(" and ".join(missing), install_command(f"arcwise[{extra}]"))
    if missing:
        raise MissingExtraError(" and ".join(missing), install_command(*missing))


def import_optional(module: str) -> Any:
    """Import a module of an optional library; raises ``MissingExtraError`` with the install command."""
    require(module.split(".")[0])
    return import_module(module)


def is_installed(library: str) -> bool:
    """Return whether a library can be imported."""
    try:
        return find_spec(library) is not None
    except (ImportError, ValueError):  # its parent package is missing, or it is blocked in sys.modules
        return False


def install_command(*libraries: str) -> str:
    """Return a command that installs libraries for the running Python, however arcwise was installed."""
    # Quoted: shells expand brackets, which the names of extras have.
    python, names = Path(sys.executable), " ".join(map(shlex.quote, libraries))
    if not is_installed("pip"):  # for example, an environment of uv
        return f"uv pip install -p {shlex.quote(str(python))} {names}"
    pip = shutil.which("pip")
    if pip is not None and Path(pip).parent == python.parent:
        return f"pip install {names}"
    return f"{shlex.quote(str(python))} -m pip install {names}"
