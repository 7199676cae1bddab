"""What a release consists of agrees: version, dates, changelog, citation, workflows, and the extras that the
install page lists."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

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
    steps = [step["run"] for job in workflow("ci")["jobs"].values() for step in job["steps"] if "run" in step]
    assert steps == [f"make {target}" for target in targets.split()]


def workflow(name: str) -> dict[str, Any]:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    parsed: dict[str, Any] = yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())
    return parsed


@pytest.mark.parametrize("name", ["ci", "docs", "release", "wheels"])
def test_workflows_pin_actions_and_grant_little(name: str) -> None:
    text = (ROOT / f".github/workflows/{name}.yml").read_text()
    parsed = workflow(name)
    assert parsed["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    makefile = (ROOT / "Makefile").read_text()
    steps = [step for job in parsed["jobs"].values() for step in job.get("steps", [])]
    for step in steps:
        if "uses" in step:  # a commit, which nobody can move, and the version that it is
            line = rf"uses: {re.escape(step['uses'])} # v\d+\.\d+\.\d+$"
            assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
            assert re.search(line, text, re.MULTILINE), step["uses"]
        elif target := re.fullmatch(r"make ([a-z-]+)", step["run"]):
            assert re.search(rf"^{target[1]}:", makefile, re.MULTILINE), step["run"]
        else:
            assert re.fullmatch(
                r"python -m (pip install \w+==[\d.]+|cibuildwheel|build) ?[\w -]*", step["run"]
            )
    called = [job["uses"] for job in parsed["jobs"].values() if "uses" in job]
    assert all((ROOT / path).exists() for path in called)


def test_releases_are_published_without_a_secret() -> None:
    publish = workflow("release")["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write", "attestations": "write"}
    assert (publish["environment"], publish["needs"]) == ("release", "wheels")


def test_one_commit_of_each_action_is_used() -> None:
    texts = [path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml")]
    commits = {pair for text in texts for pair in re.findall(r"uses: ([\w-]+/[\w-]+)@(\w+)", text)}
    assert len(commits) == len({name for name, _ in commits})


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


def test_the_recipe_of_conda_agrees() -> None:
    yaml = pytest.importorskip("yaml", reason="needs PyYAML")
    text = (ROOT / "release/conda/recipe.yaml").read_text()
    recipe = yaml.safe_load(text)
    assert recipe["context"]["version"] == project()["version"]
    wanted = {re.sub(r";.*", "", line).replace(" ", "") for line in project()["dependencies"]}
    assert {line.replace(" ", "") for line in recipe["requirements"]["run"]} == wanted | {"python"}
    (script,) = project()["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(script)]
    assert recipe["about"]["license"] == project()["license"]
    assert recipe["about"]["summary"] == project()["description"]
