"""What a release consists of agrees: version, dates, changelog, citation, workflows, and the extras that the
install page lists."""

import re
import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def releases() -> list[tuple[str, str]]:
    """Version and date of each release in the changelog, newest first."""
    return re.findall(
        r"^## ([\d.]+(?:rc\d+)?) \((\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )


def test_the_changelog_goes_by_release() -> None:
    headings = re.findall(r"^## .*$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    if coming := re.fullmatch(r"## ([\d.]+) \(unreleased\)", headings[0]):  # what the next release will have
        assert coming[1] > project()["version"]
        headings = headings[1:]
    assert len(headings) == len(releases()) >= 2
    assert [date for _, date in releases()] == sorted((date for _, date in releases()), reverse=True)
    assert releases()[0][0] == project()["version"]


def test_the_citation_is_of_this_release() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    cited = dict(re.findall(r"^([a-z-]+): \"?(.*?)\"?$", text, re.MULTILINE))
    assert (cited["version"], cited["date-released"]) == releases()[0]
    assert cited["license"] == project()["license"]
    assert f"- name: {project()['authors'][0]['name']}" in text


def test_workflows_run_the_targets_of_ci() -> None:
    (targets,) = re.findall(r"^for target in (.+); do$", (ROOT / ".ci/run").read_text(), re.MULTILINE)
    workflows = "\n".join(path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml"))
    assert re.findall(r"run: make ([a-z-]+)$", workflows, re.MULTILINE) == targets.split()
    assert re.findall(r"run: (?!make [a-z-]+$)", workflows, re.MULTILINE) == []
    assert "secrets." not in workflows


def test_the_pythons_that_are_tried_are_those_that_are_named() -> None:
    (tried,) = re.findall(r"python: \[(.*)\]", (ROOT / ".github/workflows/ci.yml").read_text())
    named = [c.rpartition(" ")[2] for c in project()["classifiers"] if ":: Python :: 3." in c]
    assert re.findall(r"[\d.]+", tried) == named
    assert project()["requires-python"] == f">={named[0]}"


def test_the_install_page_lists_the_extras() -> None:
    """Every extra of pyproject.toml has a row that says what it is for, and there are no others."""
    text = (ROOT / "docs" / "install.md").read_text()
    tables = re.findall(r"^\| extra \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    named = [name for row in rows for name in re.findall(r"`([\w-]+)`", row.split("|")[1])]
    assert sorted(named) == sorted(project()["optional-dependencies"])


def test_the_documents_say_how_to_install_and_call_it() -> None:
    readme, install = (ROOT / "README.md").read_text(), (ROOT / "docs" / "install.md").read_text()
    for text in (".venv/bin/arcwise", "pip install .", "make try", "make test"):
        assert text in readme, f"README.md does not say {text}"
    for text in (".venv/bin/arcwise", "pip install .", "pip install git+", "pip install '.["):
        assert text in install, f"docs/install.md does not say {text}"


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 600
