"""Build the documentation site: ``python docs/site/build.py`` (``make site``; the extra ``docs``).

Sphinx, MyST and furo make build/site/html from the Markdown pages as they stand in the repository. The pages
are first copied with the files that they link to, in the same folders, so that a relative link leads to the
same place on a code host and in the site. The reading order is that of docs/README.md. Pages of the API come
from the docstrings of every module that declares ``__all__``. A warning is an error, and nothing is fetched.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"
WORK = ROOT / "build" / "site"
MODELS = ROOT / "src" / "arcwise" / "shipped_models"
PARSER = ROOT / "build" / "web"
"""Where ``make web-module`` puts the WebAssembly module of the demo page."""
DRAWING = ROOT / "src" / "arcwise" / "web" / "static" / "annotate"
PLACES = ("docs/**/*.md", "benchmarks/*.md", "experiments/results/*.md", "src/arcwise/shipped_models/*.md")
TOP = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def main(output: Path = WORK / "html") -> int:
    """Stage the pages and run Sphinx; its exit status."""
    source = WORK / "source"
    stage(source)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-j", "2"]
    command += ["-c", str(SITE), "-d", str(WORK / "doctrees"), str(source), str(output)]
    status = subprocess.run(command, check=False).returncode
    if not status:
        add_parser(output / "_static" / "parse")
        print(f"{output / 'index.html'}: built without a warning")
    return status


def stage(source: Path) -> None:
    """Copy the pages and the files they link to; write the landing page and the pages of the API."""
    shutil.rmtree(source, ignore_errors=True)
    pages = sorted({page for place in PLACES for page in ROOT.glob(place)} | {ROOT / name for name in TOP})
    pages = [page for page in pages if SITE not in page.parents]
    files = {linked_file(page, target) for page in pages for target in LINK.findall(page.read_text("utf-8"))}
    for path in [*pages, *sorted(file for file in files if file)]:
        copy = source / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            copy.write_text(without_blank_ends(path.read_text("utf-8")), "utf-8")
        else:
            shutil.copy2(path, copy)
    for name in ("parsed.svg", "annotate.png"):
        shutil.copy2(ROOT / "docs" / "images" / name, source / "docs" / "images" / name)
    demo = source / "docs" / "site" / "demo.md"
    demo.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(SITE / "demo.md", demo)
    landing = without_blank_ends((SITE / "landing.md").read_text("utf-8")).replace("](../", "](docs/")
    (source / "index.md").write_text(landing + contents(), "utf-8")
    write_api(source / "api")


def drawing_files() -> list[Path]:
    """The files of the annotation page that draw trees in the demo page, too."""
    return [DRAWING / name for name in ("dom.js", "kinds.js", "layout.js", "tree.css", "tree.js")]


def add_parser(folder: Path) -> None:
    """Copy what the demo page runs: module and model, if they were built, and the drawing of trees."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in drawing_files():
        shutil.copy2(path, folder / path.name)
    names = ("arcwise.js", "arcwise.wasm", "en-web.arcwise.gz")
    if not all((PARSER / name).exists() for name in names):
        print("demo page: without its parser, which `make web-module` builds")
        return
    for name in names:
        shutil.copy2(PARSER / name, folder / name)


def without_blank_ends(text: str) -> str:
    """Leave out the empty line that ends the last output of a Python session, which only doctest needs."""
    return re.sub(r"(?ms)^(```python\n(?:(?!^```).)*?)\n+^```$", r"\1\n```", text)


def linked_file(page: Path, target: str) -> Path | None:
    """The file of the repository that a relative link names, unless it is an address or a folder."""
    if ":" in target:
        return None
    path = (page.parent / target).resolve()
    return path if path.is_file() and ROOT in path.parents and path.suffix != ".md" else None


def contents() -> str:
    """The tables of contents: the sections of docs/README.md with their links, in its order."""
    parts = [
        "\n```{toctree}\n:hidden:\n\nAll documentation <docs/README>\ndocs/install\n"
        "Try it in the browser <docs/site/demo>\n```\n"
    ]
    for section in re.split(r"(?m)^## ", (ROOT / "docs" / "README.md").read_text("utf-8"))[2:]:
        title, _, text = section.partition("\n")
        links = dict.fromkeys(linked_page(target) for target in LINK.findall(text) if target.endswith(".md"))
        if title == "Reference":
            links["api/index"] = None
        parts.append(f"\n```{{toctree}}\n:hidden:\n:caption: {title}\n\n" + "\n".join(links) + "\n```\n")
    models = "\n".join(
        path.relative_to(ROOT).with_suffix("").as_posix() for path in sorted(MODELS.glob("*.md"))
    )
    return "".join([*parts, f"\n```{{toctree}}\n:hidden:\n:caption: Models\n\n{models}\n```\n"])


def linked_page(target: str) -> str:
    return (ROOT / "docs" / target).resolve().relative_to(ROOT).with_suffix("").as_posix()


def public_modules() -> list[str]:
    """Every module that declares ``__all__``, and ``arcwise.errors``."""
    import arcwise

    names = ["arcwise.errors"]
    for info in pkgutil.walk_packages(arcwise.__path__, "arcwise.", onerror=lambda name: None):
        path = info.module_finder.path  # type: ignore[union-attr]
        leaf = Path(path) / info.name.rpartition(".")[2]
        file = leaf / "__init__.py" if info.ispkg else leaf.with_suffix(".py")
        if ".cli" not in info.name and file.exists() and "\n__all__ = [" in file.read_text("utf-8"):
            names.append(info.name)
    return sorted(names)


def write_api(folder: Path) -> None:
    """A page for each public module, and one that lists them with their summaries."""
    folder.mkdir()
    names = public_modules()
    rows, listed, described = [], [], set()
    for name in names:
        if name == "arcwise.torch" and importlib.util.find_spec("torch") is None:
            rows.append("| `arcwise.torch` | described in [its reference](../docs/reference/torch.md) |")
            continue
        module = importlib.import_module(name)
        elsewhere = [public for public in public_names(module) if id(getattr(module, public)) in described]
        described |= {id(getattr(module, public)) for public in public_names(module)}
        if len(elsewhere) == len(public_names(module)):
            continue  # a package exports all of it
        options = f"   :exclude-members: {', '.join(elsewhere)}\n" if elsewhere else ""
        (folder / f"{name}.md").write_text(
            MODULE.format(name=name, options=options) + values(module, elsewhere), "utf-8"
        )
        rows.append(f"| [`{name}`]({name}.md) | {first_line(module)} |")
        listed.append(name)
    index = API.format(rows="\n".join(rows), top=top_level_names(), pages="\n".join(listed))
    (folder / "index.md").write_text(index, "utf-8")


def values(module: ModuleType, elsewhere: list[str]) -> str:
    """Entries of public values and type aliases, whose docstrings automodule does not see."""
    entries = []
    for name in public_names(module):
        value = getattr(module, name)
        if name in elsewhere or isinstance(value, type) or inspect.isroutine(value):
            continue
        definition, text = definition_of(module, name)
        shown = f"   :value: {definition}\n" if name[0].isupper() and not name.isupper() else ""
        entries.append(f".. py:data:: {module.__name__}.{name}\n{shown}\n   {text}\n\n")
    return f"\n```{{eval-rst}}\n{''.join(entries)}```\n" if entries else ""


def definition_of(module: ModuleType, name: str) -> tuple[str, str]:
    """How a module-level name is defined somewhere in the package, and its docstring on one line."""
    for file in sorted(Path(str(module.__file__)).parent.rglob("*.py")):
        statements = ast.parse(file.read_text("utf-8")).body
        for statement, following in zip(statements, [*statements[1:], ast.Pass()], strict=True):
            targets = (
                statement.targets
                if isinstance(statement, ast.Assign)
                else [getattr(statement, "target", None)]
            )
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                text = ""
                if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                    text = " ".join(str(following.value.value).split())
                return " ".join(ast.unparse(statement.value).split()), text
    return "", ""


def public_names(module: ModuleType) -> list[str]:
    """The names that are functions, classes or values with pages of their own."""
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]


def top_level_names() -> str:
    """The names of ``arcwise`` itself, each with the page of the module that it lives in."""
    import arcwise

    homes = arcwise._HOME
    public = {name: home for name, home in homes.items() if home in public_modules()}
    return "\n".join(
        f"| {{py:obj}}`arcwise.{name} <{home}.{name}>` | {first_line(getattr(arcwise, name))} |"
        for name, home in sorted(public.items())
    )


def first_line(value: object) -> str:
    return (
        (value.__doc__ or "")
        .strip()
        .split("\n\n")[0]
        .replace("``", "`")
        .replace("\n", " ")
        .replace("|", "\\|")
    )


MODULE = """# {name}

```{{eval-rst}}
.. automodule:: {name}
   :members:
   :imported-members:
   :undoc-members:
   :member-order: bysource
{options}```
"""

API = """# API

Everything public, generated from the docstrings, with types.
The names of `arcwise` itself are imported on first use, so that a program starts fast:

| name | |
|---|---|
{top}

The modules:

| module | |
|---|---|
{rows}

```{{toctree}}
:hidden:

{pages}
```
"""

if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
