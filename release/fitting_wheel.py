"""Print the path of a wheel in ``dist/`` that fits this Python and was built from these sources, if there is
one, so that ``make try`` need not compile."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from sources import ROOT, recorded, sources_hash

DIST = ROOT / "dist"


def fitting_wheel(folder: Path = DIST) -> Path | None:
    """The wheel that pip would choose among those built from the same sources."""
    made_of = recorded(folder)
    if not made_of:
        return None
    here = sources_hash()
    with tempfile.TemporaryDirectory() as work:
        offered, chosen = Path(work, "offered"), Path(work, "chosen")
        offered.mkdir()
        for name, value in made_of.items():
            if value == here and (folder / name).exists():
                (offered / name).symlink_to(folder / name)
        command = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps"]
        command += [
            "--pre",
            "--no-index",
            "--only-binary",
            ":all:",
            "--find-links",
            str(offered),
            "-d",
            str(chosen),
        ]
        subprocess.run([*command, "arcwise"], capture_output=True, check=False)
        names = [path.name for path in chosen.glob("*.whl")]
    return folder / names[0] if names else None


if __name__ == "__main__":
    print(fitting_wheel() or "")
