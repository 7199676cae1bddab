"""Test wheels in empty environments: run the commands of README and the tutorials, word for word.

``make test-wheels`` runs it for every Python it finds and the wheels of ``dist/``, ``make test-wheel`` for
the Python of this clone and a wheel made of its compiled kernels. There is no compiler on the PATH, the
folder contains only the files that the pages mention, and the package comes only from the wheel.

Pages run in two environments: the plain install, and one with the extras that a page asks for.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from build_wheels import interpreter
from sources import ROOT

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
TUTORIALS = ROOT / "docs" / "tutorials"
INSTALL = ROOT / "docs" / "install.md"
NEEDS = {
    "a-treebank-from-nothing": "web",
    "find-the-best-grammar": "plot",
    "a-parser-layer-in-pytorch": "torch",
    "train-a-neural-parser": "torch",
}
"""Tutorials about an extra, which they name at their top."""
TAVI = TUTORIALS / "tavi"
ROW = "{}\tw\t_\t{}\t_\t_\t_\t_\t_\t_\n"
TAGS = ("DET NOUN VERB", "NOUN VERB DET NOUN", "PRON VERB", "PRON VERB ADV", "DET ADJ NOUN VERB")
TOOLS = ("cat", "sh")
"""Programs that the lines of the pages use besides arcwise."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", action="append", help="version (default: all that are installed)")
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist", help="folder of wheels, or a wheel")
    parser.add_argument("--extras", action="store_true", help="also the pages about the extras web and plot")
    parser.add_argument("--installers", action="store_true", help="also uv and pipx, both from PyPI")
    arguments = parser.parse_args()
    for version in arguments.python or PYTHONS:
        with tempfile.TemporaryDirectory() as work:
            wheels = arguments.wheels.resolve()
            environment = Environment(interpreter(version), wheels, Path(work))
            try_python(environment, arguments.extras)
            if arguments.installers:
                environment.try_installers(wheels)
    return 0


def try_python(environment: Environment, extras: bool) -> None:
    print(f"Python {environment.version}, {environment.wheel.name}", flush=True)
    environment.try_kernels()
    pages = [ROOT / "README.md", *sorted(TUTORIALS.glob("*.md"))]
    for page in pages:
        if page.stem not in NEEDS:
            environment.try_page(page)
    if extras:
        wanted = sorted({extra for extra in NEEDS.values() if extra != "torch"})
        environment.install(extras=",".join(wanted))
        for page in pages:
            if page.name == "README.md" or NEEDS.get(page.stem) in wanted:
                environment.try_page(page, with_extras=True)


class Environment:
    """An empty virtual environment and folder, with a wheel installed and no compiler on the PATH."""

    def __init__(self, python: str, wheels: Path, work: Path) -> None:
        self.folder, self.bin = work / "folder", work / "environment" / "bin"
        tools = work / "tools"
        for folder in (self.folder, tools):
            folder.mkdir()
        for name in TOOLS:
            (tools / name).symlink_to(str(shutil.which(name)))
        run([python, "-m", "venv", str(self.bin.parent)])
        kept = {
            name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "LANG"))
        }
        self.variables = {**kept, "PATH": f"{self.bin}{os.pathsep}{tools}", "HOME": str(work)}
        assert not any(
            shutil.which(name, path=self.variables["PATH"]) for name in ("cc", "c++", "gcc", "g++", "clang")
        )
        self.wheel = self._fitting(wheels, work / "wheel")
        self.install()
        self.version = self._output("import sys; print(sys.version.split()[0])")
        place = self._output("import arcwise; print(arcwise.__file__)")
        assert Path(place).is_relative_to(self.bin.parent), place

    def _fitting(self, wheels: Path, folder: Path) -> Path:
        """The wheel that pip selects for this Python."""
        where = ["--find-links", str(wheels)] if wheels.is_dir() else []
        what = ["arcwise"] if wheels.is_dir() else [str(wheels)]
        command = [
            "-m",
            "pip",
            "download",
            "-q",
            "--no-deps",
            "--no-index",
            "--pre",
            "--only-binary",
            ":all:",
        ]
        self.check([*command, *where, "-d", str(folder), *what])
        (wheel,) = folder.glob("*.whl")
        return wheel

    def install(self, extras: str = "") -> None:
        """``pip install`` the wheel, and wheels alone of all that it needs."""
        started = time.perf_counter()
        requirement = f"{self.wheel}[{extras}]" if extras else str(self.wheel)
        self.check(["-m", "pip", "install", "-q", "--only-binary", ":all:", requirement])
        print(
            f"  installed{f' [{extras}]' * bool(extras)} in {time.perf_counter() - started:.0f} s", flush=True
        )

    def try_kernels(self) -> None:
        """Check the kernels, for every instruction set that the wheel has."""
        files = self.bin.parent.glob("lib/python*/site-packages/arcwise/_native_*")
        variants = sorted(path.name.partition(".")[0].removeprefix("_native_") for path in files)
        for variant in variants:
            self.variables["ARCWISE_NATIVE"] = variant
            self.check([str(ROOT / "release" / "smoke.py")], f"release/smoke.py, {variant}")
        del self.variables["ARCWISE_NATIVE"]
        print(f"  release/smoke.py: {', '.join(variants)}", flush=True)

    def try_page(self, page: Path, with_extras: bool = False) -> None:
        """Run a page's Python sessions and commands; console sessions must give what the page shows."""
        for file in self.folder.iterdir():
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        prepare(self.folder)
        text = page.read_text("utf-8")
        sessions = text.count("\n>>> ")
        if sessions:
            self.check(["-c", DOCTEST, str(page)], page.name)
        lines = list(shell_lines(text, with_extras))
        for line in lines:
            if line.startswith("arcwise annotate"):
                self._open(line)
            else:
                self._shell(line, page)
        shown = list(console_sessions(text)) if with_extras and page.stem in NEEDS else []
        for line, output in shown:
            said = self._shell(line, page)
            # The model is trained on other sentences here, so its output is not compared.
            if "tavi.arcwise" not in line:
                assert said.split() == output.split(), f"{page.name}: {line}\n{said}\nexpected\n{output}"
        print(f"  {page.name}: {sessions} lines of Python, {len(lines) + len(shown)} commands", flush=True)

    def try_installers(self, wheels: Path) -> None:
        """Run the lines of the install page that use uv and pipx."""
        self.check(["-m", "pip", "install", "-q", "--only-binary", ":all:", "uv", "pipx"])
        python = str(self.bin / "python")
        self.variables |= {"UV_PYTHON": python, "PIPX_DEFAULT_PYTHON": python}
        commands = installer_lines(INSTALL.read_text("utf-8"), wheels, self.wheel)
        for line in commands:
            self._shell(line, INSTALL)
        # The tool that uv installed, not the command of this environment.
        self._shell('"$HOME/.local/bin/arcwise" parse --text "Birds sing."', INSTALL)
        print(f"  {', '.join(' '.join(line.split()[:2]) for line in commands)}", flush=True)

    def check(self, arguments: list[str], what: str = "") -> str:
        command = [str(self.bin / "python"), *arguments]
        return run(command, cwd=self.folder, env=self.variables, what=what)

    def _output(self, program: str) -> str:
        return self.check(["-c", program]).strip()

    def _shell(self, line: str, page: Path) -> str:
        # Commands that find something, as diff does, end with status 1.
        line = f"{line} || test $? = 1" if line.startswith("arcwise diff") else line
        return run(["sh", "-c", line], cwd=self.folder, env=self.variables, what=f"{page.name}: {line}")

    def _open(self, line: str) -> None:
        """Start an editor, wait for its page and close it; without a browser, on a free port."""
        if "--new" in line.split():
            (self.folder / line.split()[2]).unlink()
        command = ["sh", "-c", f"exec {line} --no-browser --port 0"]
        how = {"cwd": self.folder, "env": self.variables, "text": True}
        with subprocess.Popen(command, stdout=subprocess.PIPE, **how) as editor:  # type: ignore[call-overload]
            assert editor.stdout is not None
            address = next(
                (word for text in editor.stdout for word in text.split() if word.startswith("http")), ""
            )
            assert address, f"{line}: no address"
            editor.send_signal(signal.SIGINT)
            editor.wait(60)
        prepare(self.folder)


DOCTEST = """
import doctest, sys
flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
result = doctest.testfile(sys.argv[1], module_relative=False, optionflags=flags)
sys.exit(not result.attempted or result.failed)
"""


def prepare(folder: Path) -> None:
    """Write small versions of the files that the pages mention."""
    texts = "I saw the man with a telescope.\nHe didn't mind!\n"
    for name in (
        "letters.txt",
        "enormous.txt",
        "my-text.txt",
        "folder-of-texts/a.txt",
        "folder-of-texts/b.txt",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(texts, "utf-8")
    for name in ("train.conllu", "dev.conllu", "mine.conllu", "tavi.conllu"):
        shutil.copy(TAVI / "tavi.conllu", folder / name)
    for name in ("corpus.conllu", "more.conllu"):
        rows = ("".join(ROW.format(*pair) for pair in enumerate(tags.split(), 1)) for tags in TAGS)
        (folder / name).write_text("".join(f"{tree}\n" for tree in rows), "utf-8")
    shutil.copy(TAVI / "second.conllu", folder / "second.conllu")
    (folder / "new.txt").write_text("Ul mirel turet nul dasel. Suva ne sidet.\n", "utf-8")


def shell_lines(text: str, with_extras: bool) -> Iterator[str]:
    """The commands of a page, in the order in which they can run; ``annotate`` and ``--plot`` need extras."""
    lines = []
    for block in blocks(text, "", "sh"):
        block = block.replace("\\\n", " ")
        lines += [line.partition("  #")[0].strip() for line in block.splitlines() if "arcwise " in line]
    plain = [line for line in lines if not re.match(r"arcwise annotate|.*--plot|.*--beside", line)]
    yield from lines if with_extras else plain


def installer_lines(text: str, wheels: Path, wheel: Path) -> list[str]:
    """The commands of the install page with uv and pipx, for these wheels instead of those of ``dist/``."""
    lines = [line.partition("  #")[0].strip() for block in blocks(text, "") for line in block.splitlines()]
    folder = wheels if wheels.is_dir() else wheels.parent
    return [
        line.replace("dist/WHEEL", str(wheel)).replace(" dist ", f" {folder} ")
        for line in lines
        if line.startswith(("uv ", "pipx "))
    ]


def console_sessions(text: str) -> Iterator[tuple[str, str]]:
    """Commands with the output that the page shows."""
    for block in blocks(text, "console"):
        yield from re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)


def blocks(text: str, *languages: str) -> Iterator[str]:
    """The blocks of a page in these languages."""
    for language, block in re.findall(r"^```([\w-]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if language in languages:
            yield block


def run(command: list[str], what: str = "", **options: object) -> str:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)  # type: ignore[call-overload]
    if done.returncode:
        raise SystemExit(f"{what or ' '.join(command)}: status {done.returncode}\n{done.stdout}")
    return str(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
