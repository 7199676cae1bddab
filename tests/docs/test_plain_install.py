"""What a plain install (``pip install .``) can do: all tutorials, and all trainers but those that say at once
what they need.

Every library that is an extra in pyproject.toml is kept from being imported, as if it were not installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from arcwise.errors import MissingExtraError
from arcwise.graph import TRAINERS
from arcwise.learning.config import read_toml
from arcwise.optional import install_command, is_installed, require

ROOT = Path(__file__).parents[2]
_WITH_EXTRAS = ("a-parser-layer-in-pytorch", "train-a-neural-parser", "a-treebank-from-nothing")
TUTORIALS = sorted(
    page for page in (ROOT / "docs" / "tutorials").glob("*.md") if page.stem not in _WITH_EXTRAS
)
"""All but those that are about an extra, and say so."""
_PROJECT = read_toml(ROOT / "pyproject.toml")["project"]

_BLOCK = """
import sys
class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"No module named {name!r} (blocked)", name=name)
sys.meta_path.insert(0, Blocker())
"""


def libraries(requirements: list[str]) -> set[str]:
    """The libraries that requirements name, as they are imported."""
    return {re.split(r"[^\w.-]", r)[0].replace("-", "_").split(".")[0] for r in requirements} - {"arcwise"}


PLAIN = libraries(_PROJECT["dependencies"])
EXTRAS = (
    libraries([r for extra in _PROJECT["optional-dependencies"].values() for r in extra])
    - PLAIN
    - {"tomli", "pytest"}  # pytest's own reports are in no way part of what is tried
)


def run_plain(script: str) -> subprocess.CompletedProcess[str]:
    """Run Python where no extra can be imported."""
    start = f"BLOCKED = {sorted(EXTRAS)!r}\n{_BLOCK}\n"
    return subprocess.run([sys.executable, "-c", start + script], capture_output=True, text=True, cwd=ROOT)


def test_the_extras_are_known() -> None:
    assert {"highspy", "scipy", "matplotlib", "pandas", "conllu", "spacy", "hypothesis", "networkx"} <= EXTRAS
    assert {"numpy", "safetensors", "typer", "rich"} <= PLAIN


def test_the_extras_are_documented() -> None:
    page = (ROOT / "docs" / "install.md").read_text()
    for_developers = {"test", "test-browser", "test-exchange", "test-ray", "test-torch", "lint"} | {
        name for name in _PROJECT["optional-dependencies"] if name.startswith("bench")
    }
    undocumented = {name for name in _PROJECT["optional-dependencies"] if f"| `{name}` |" not in page}
    assert undocumented == for_developers


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_every_tutorial_works_from_a_plain_install(page: Path) -> None:
    done = run_plain(
        "import doctest\n"
        "flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE\n"
        f"result = doctest.testfile({str(page)!r}, module_relative=False, optionflags=flags)\n"
        "assert result.attempted and not result.failed"
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_every_trainer_trains(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text("epochs = 1\narc_bits = 12\nrow_bits = 12\n")
    script = f"""
sys.path.insert(0, "tests")
from pathlib import Path
from arcwise.cli.main import run
from contracts.small_treebank import small_treebank
folder = Path({str(tmp_path)!r})
small_treebank().write(folder / "train.conllu")
for trainer in {list(TRAINERS)!r}:
    line = ["train", "--train", folder / "train.conllu", "--model", folder / trainer, "--trainer", trainer]
    print(trainer, run([*map(str, line), "--config", str(folder / "small.toml"), "--quiet"]))
"""
    done = run_plain(script)
    assert done.returncode == 0, done.stderr
    statuses = dict(line.split() for line in done.stdout.splitlines())
    assert statuses == dict.fromkeys(TRAINERS, "0")


def test_induction_works_or_names_the_solver_before_it_starts(tmp_path: Path) -> None:
    script = f"""
sys.path.insert(0, "tests")
from pathlib import Path
from arcwise.cli.main import run
from arcwise.errors import MissingExtraError
from arcwise.induction import induce_globally, viterbi_em
corpus = Path({str(tmp_path)!r}) / "corpus.conllu"
rows = [f"{{i}}\\tw\\t_\\t{{t}}\\t_\\t_\\t_\\t_\\t_\\t_\\n" for i, t in enumerate("ABA", 1)]
corpus.write_text("".join(rows) + "\\n")
for options in ("--learner em", "--learner viterbi-em", "--learner global", "--learner global --estimate 2"):
    assert run(["induce", str(corpus), *options.split()]) == 0, options
assert "highspy" not in sys.modules
sentences = [["A", "B", "A"]]
for needs in (
    lambda: induce_globally(sentences, method="theta"),
    lambda: induce_globally(sentences, method="milp"),
    lambda: viterbi_em(sentences, e_step="relaxed"),
):
    try:
        needs()
    except MissingExtraError as error:
        assert "highspy" in str(error)
    else:
        raise AssertionError("found no error")
print("refused:")
for options in ("--learner global --method theta", "--learner global --method milp", "--e-step relaxed"):
    print(run(["induce", str(corpus), *options.split()]))
"""
    done = run_plain(script)
    assert done.returncode == 0, done.stderr
    assert done.stdout.partition("refused:\n")[2] == "2\n2\n2\n"  # the corpus was not even counted
    messages = done.stderr.splitlines()[-3:]
    pattern = r"arcwise: this needs highspy, which is not installed: .+ install highspy"
    assert all(re.fullmatch(pattern, message) for message in messages)


def test_the_advice_works(monkeypatch: pytest.MonkeyPatch) -> None:
    command = install_command("matplotlib")
    assert command.endswith(" install matplotlib")
    program = command.removesuffix(" install matplotlib")
    if program.endswith("pip"):  # the pip of this very Python
        done = subprocess.run(f"{program} --version", shell=True, capture_output=True, text=True, check=True)
        assert str(Path(sys.prefix).resolve()) in str(Path(done.stdout.split()[3]).resolve())
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    if is_installed("pip"):
        assert install_command("matplotlib") == "pip install matplotlib"
    monkeypatch.setitem(sys.modules, "pip", None)
    assert install_command("matplotlib") == f"uv pip install -p {sys.executable} matplotlib"


def test_all_that_is_missing_is_told_at_once() -> None:
    require("numpy", "json")
    with pytest.raises(MissingExtraError, match=r"^this needs nothere, which is not installed: .* nothere$"):
        require("numpy", "nothere")
    with pytest.raises(
        MissingExtraError,
        match=r"^this needs nothere and neither, which are not installed: .* nothere neither$",
    ):
        require("nothere", "numpy", "neither")
