"""The documents hold together: links lead somewhere, commands exist, nothing of one machine is left in the
files."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_PLACES = ("*.md", "docs/**/*.md", "benchmarks/*.md", "experiments/results/*.md")
DOCUMENTS = sorted(path for place in _PLACES for path in ROOT.glob(place))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text()):
        if not target.startswith(("http:", "https:", "mailto:")):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_commands_named_in_documents_exist() -> None:
    from arcwise.cli.main import COMMANDS

    known = {name.split()[0] for section in COMMANDS.values() for name in section}
    makefile = (ROOT / "Makefile").read_text()
    commands, targets = set(), set()
    for document in DOCUMENTS:
        for block in re.findall(r"```.*?```|`[^`\n]+`", document.read_text(), re.DOTALL):
            for command in re.findall(r"(?:^|[\n`$] ?)arcwise ([a-z][a-z-]+)", block):
                assert command in known, f"{document.name} names arcwise {command}"
                commands.add(command)
            for target in re.findall(r"(?:^|[\n`$] ?)make ([a-z-]+)", block):
                assert re.search(rf"^{target}:", makefile, re.MULTILINE), (
                    f"{document.name} names make {target}"
                )
                targets.add(target)
    assert {"train", "parse", "evaluate"} <= commands  # they are found at all
    assert {"setup", "test"} <= targets


def test_what_papers_md_names_is_there() -> None:
    text = (ROOT / "docs" / "papers.md").read_text()
    tests = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    kernels = re.findall(r"`(\w+\.[ch]pp)", text)
    assert min(len(tests), len(kernels)) > 30
    for file, name in tests:
        assert (ROOT / file).exists(), file
        assert not name or f"def {name}(" in (ROOT / file).read_text(), f"{file} has no {name}"
    for kernel in kernels:
        assert any((ROOT / "native").rglob(kernel)), kernel


def test_the_checklist_of_papers_names_what_is_there() -> None:
    text = (ROOT / "docs" / "papers-checklist.md").read_text()
    rows = re.findall(r"^\| (?!item|---)(.+?) \| (.+?) \| (.+) \|$", text, re.MULTILINE)
    assert len(rows) > 40
    for item, status, where in rows:
        assert status in ("●", "◐", "○"), item
        files = re.findall(r"`((?:tests|experiments|measuring|benchmarks)/[\w/]+\.py)`", where)
        assert all((ROOT / file).exists() for file in files), where
        if status != "●":  # what is missing, beyond the places
            assert len(re.sub(r"`[^`]*`", "", where).split()) >= 2, f"{item}: no reason"
    for page in re.findall(r"`python -m experiments\.(\w+)`", text):
        assert (ROOT / "experiments" / f"{page}.py").exists()


def tracked_files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("needs a git checkout to know which files belong to the repository")
    return [ROOT / name for name in listed.stdout.split("\0") if name]


def test_nothing_of_one_machine_is_in_the_repository() -> None:
    folders = [f"/{name}/" for name in ("work", "root", "home")]
    registries = [
        f"{name}[.]{domain}" for name, domain in (("pypi", "org"), ("npmjs", "org"), ("npmjs", "com"))
    ]
    forbidden = re.compile("|".join(folders + registries))
    found = []
    for path in tracked_files():
        if path.suffix in {".png", ".xz", ".gz", ".safetensors"} or not path.is_file():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if forbidden.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}")
    assert found == []
