"""Hashes of the sources that can change a figure, so that a figure computed by older code is recognised.

Each kind of computation declares its sources: Python packages, kernel folders with their bindings, and
files of this repository. The hash of Python ignores comments, docstrings and layout, that of C++ comments
and white space: only what can change a figure changes the hash. ``tests/papers/test_sources.py`` runs a
small cell of each kind and compares the modules and native names it used with these declarations.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "arcwise"
KERNELS, BINDINGS = ROOT / "native" / "kernels", ROOT / "native" / "bindings"
BUILD = (ROOT / "CMakeLists.txt",)
"""Compiler flags (floating-point contraction, instruction sets) can change the last digits."""


_CPP = {".hpp", ".cpp", ".cu", ".cuh"}


@dataclass(frozen=True)
class Sources:
    """What a kind of computation depends on."""

    packages: tuple[str, ...]
    """Rooms and modules of ``arcwise``, with all that is in them except ``UNRELATED`` ones not named here."""
    kernels: tuple[str, ...]
    """Folders of ``native/kernels``; the files of ``native/bindings`` that begin with the same name belong
    to them."""
    files: tuple[str, ...] = ()
    """Files beside the package, relative to the repository."""
    cuda: bool = False
    """Whether GPU kernels can run."""


UNRELATED = (
    # Treebanks are read, cut and annotated for a cell; nothing in these sub-packages takes part in that.
    "treebanks.search",
    "treebanks.validation",
    "treebanks.exchange",
    "treebanks.edits",
    # Text drawings of trees.
    "trees.draw",
    "trees.text_width",
)
"""Parts of the packages that most cells do not use; the test of the declarations would see one that does."""

HARMLESS = {
    "arcwise": "the package itself: lazy imports",
    "arcwise.errors": "messages",
    "arcwise.log": "logging",
    "arcwise.deprecation": "former names and their warnings",
    "arcwise.optional": "whether a library is installed",
    "arcwise.memory": "settings of malloc",
    "arcwise.schema": "declarations of JSON",
    "arcwise.native": "chooses the compiled module; variants give the same sums (-ffp-contract=off)",
    "arcwise.engine": "where independent work runs; results do not depend on it (tests/engine)",
    "arcwise.learning.progress": "progress bars",
    "measuring.cell_file": "how figures are stored",
    "measuring.memory": "peak memory, not compared",
    "measuring.sources": "these hashes",
    "measuring.tables": "Markdown and the name of the machine",
    "measuring.timing": "seconds, not compared",
}
"""Modules that run for a cell without being able to change its figures, each with the reason."""

_COMMON = ("trees", "treebanks", "inference", "features", "evaluation", "learning", "parsing", "distillation")
_COMMON_KERNELS = ("base", "trees", "treebanks", "inference", "features", "learning")
_TRAININGS = tuple(
    f"measuring/{name}.py" for name in ("inputs", "measures", "trainings", "soft_clusters", "czech")
)

KINDS: dict[str, Sources] = {
    "graph": Sources((*_COMMON, "graph"), (*_COMMON_KERNELS, "graph", "factors"), _TRAININGS),
    "transition": Sources((*_COMMON, "transition"), (*_COMMON_KERNELS, "transition"), _TRAININGS),
    "neural": Sources(
        (*_COMMON, "neural", "torch", "factors"),
        (*_COMMON_KERNELS, "neural", "factors"),
        _TRAININGS,
        cuda=True,
    ),
    "siblings": Sources(
        (*_COMMON, "siblings", "factors", "treebanks.validation"),
        (*_COMMON_KERNELS, "graph", "siblings", "factors"),
        ("measuring/inputs.py", "measuring/second_order.py"),
        cuda=True,
    ),
    "votes": Sources(
        (*_COMMON, "transition"), (*_COMMON_KERNELS, "transition"), (*_TRAININGS, "measuring/votes.py")
    ),
    "text": Sources((*_COMMON, "text"), (*_COMMON_KERNELS, "text"), (*_TRAININGS, "measuring/tags.py")),
    "induction": Sources(
        (*_COMMON, "induction"),
        (*_COMMON_KERNELS, "induction"),
        ("experiments/grammar_searches.py", "measuring/inputs.py"),
    ),
    "data": Sources(("trees", "treebanks"), ("base", "trees", "treebanks"), ("measuring/inputs.py",)),
}
"""Sources by kind. A computation of several kinds is written with plus signs: ``graph+votes``."""


@cache
def code_hash(kind: str) -> str:
    """Return the hash of the sources of a kind, computed once per process.

    >>> code_hash("graph") == code_hash("graph"), code_hash("graph") == code_hash("transition")
    (True, False)
    """
    digest = hashlib.sha256()
    for path in sorted({path for part in kind.split("+") for path in files_of(KINDS[part])}):
        digest.update(f"{path.relative_to(ROOT).as_posix()} {_file_hash(path)}\n".encode())
    return digest.hexdigest()[:12]


def files_of(sources: Sources) -> Iterator[Path]:
    """All files whose content takes part in the hash."""
    for name in sources.packages:
        path = PACKAGE.joinpath(*name.split("."))
        yield from (path.with_suffix(".py"),) if path.with_suffix(".py").exists() else _modules(path)
    endings = _CPP if sources.cuda else {".hpp", ".cpp"}
    for room in sources.kernels:
        yield from (path for path in (KERNELS / room).rglob("*") if path.suffix in endings)
    for path in BINDINGS.iterdir():
        # Headers of bindings convert arrays for all rooms.
        if path.suffix == ".hpp" or path.stem.split("_")[0] in sources.kernels:
            yield path
    yield from BUILD
    yield from (ROOT / name for name in sources.files)


def require_built(kinds: Iterable[str]) -> None:
    """End the program if C++ sources of these kinds are newer than the compiled module.

    The hash is that of the sources; it would be wrong for the figures of an older compiled module.
    """
    from arcwise import native

    compiled = max(path.stat().st_mtime for path in map(Path, _module_files(native)))
    parts = {part for kind in kinds for part in kind.split("+")}
    files = {path for part in parts for path in files_of(KINDS[part]) if path.suffix in _CPP}
    newer = [path for path in files if path.stat().st_mtime > compiled]
    if newer:
        raise SystemExit(f"{min(newer).relative_to(ROOT)} is newer than the compiled module: make setup")


def _module_files(native: object) -> list[str]:
    """The file of the compiled module that ``arcwise.native`` has chosen."""
    names = {getattr(value, "__module__", "") for value in vars(native).values()}
    modules = [sys.modules[name] for name in names if isinstance(name, str) and "_native_" in name]
    return [str(module.__file__) for module in modules]


def covers(kind: str, module: str) -> bool:
    """Whether a module of arcwise or measuring takes part in the hash of a kind, or cannot matter.

    >>> covers("graph", "arcwise.graph.trainers"), covers("graph", "arcwise.transition.parser")
    (True, False)
    >>> covers("graph", "arcwise.engine.forks"), covers("graph", "arcwise.treebanks.search.query")
    (True, False)
    """
    if any(_within(module, name) for name in HARMLESS if name != "arcwise") or module == "arcwise":
        return True
    parts = [KINDS[part] for part in kind.split("+")]
    named = {name for part in parts for name in part.packages}
    if any(_within(module, f"arcwise.{name}") for name in set(UNRELATED) - named):
        return False
    if module.replace(".", "/") + ".py" in {name for part in parts for name in part.files}:
        return True
    packages = {name for part in parts for name in part.packages}
    return any(_within(module, f"arcwise.{name}") for name in packages)


def _within(module: str, package: str) -> bool:
    return module == package or module.startswith(package + ".")


def _modules(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*.py"):
        name = "arcwise." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        unrelated = [part for part in UNRELATED if PACKAGE.joinpath(*part.split(".")) != folder]
        left_out = [*(f"arcwise.{part}" for part in unrelated), *HARMLESS]
        if not any(_within(name, other) for other in left_out if other != "arcwise"):
            yield path


@cache
def _file_hash(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        text = python_essence(text)
    elif path.suffix in _CPP:
        text = cpp_essence(text)
    else:  # CMake
        text = " ".join(re.sub(r"#.*", "", text).split())
    return hashlib.sha256(text.encode()).hexdigest()


def python_essence(source: str) -> str:
    """A program without comments, docstrings and layout, the same in every version of Python.

    >>> a = python_essence('def f(x):\\n    "Double."\\n    return x * 2  # fast')
    >>> a == python_essence('def f(x):\\n    "Twice x."\\n\\n    return (x*2)')
    True
    >>> a == python_essence("def f(x):\\n    return x * 3")
    False
    """
    parts: list[str] = []
    _write_node(ast.parse(source), parts)
    return "".join(parts)


_NO_MEANING = {"type_comment", "kind", "ctx"}
"""Fields of nodes without an effect; empty fields are left out, since newer versions of Python add some."""


def _write_node(node: object, parts: list[str]) -> None:
    if isinstance(node, ast.AST):
        node = _without_help(node)
        parts.append(f"({type(node).__name__}")
        for name, value in ast.iter_fields(node):
            if name == "body" and isinstance(value, list):
                value = [statement for statement in value if not _is_text(statement)]
            if value is None or value == [] or name in _NO_MEANING:
                continue
            parts.append(f" {name}=")
            _write_node(value, parts)
        parts.append(")")
    elif isinstance(node, list):
        parts.append("[")
        for item in node:
            _write_node(item, parts)
            parts.append(",")
        parts.append("]")
    else:
        parts.append(repr(node))


def _without_help(node: ast.AST) -> ast.AST:
    """Leave out the description of an option: ``option(5, "Number of epochs.")``."""
    is_option = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "option"
    if is_option and len(node.args) > 1:
        return ast.Call(node.func, [node.args[0], *node.args[2:]], node.keywords)
    return node


def _is_text(statement: object) -> bool:
    """Whether a statement is a string alone: a docstring, or the description of an attribute."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


_CPP_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<raw>R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)")
    |(?P<text>"(?:\\.|[^"\\\n])*")
    |(?P<number>\d(?:'?[\w.])*)
    |(?P<character>'(?:\\.|[^'\\\n])+')
    |(?P<directive>^[ \t]*\#)
    |(?P<word>\w+)
    |(?P<newline>\n)
    |(?P<space>[ \t\r\f\v]+|\\\n)
    |(?P<operator>.)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def cpp_essence(source: str) -> str:
    """A program without comments and white space.

    >>> cpp_essence('int f(int a) { return a + +1\\'000; } // "sum"') == cpp_essence(
    ...     "/* sum */ int f(int a)\\n{\\n  return a + +1'000;\\n}")
    True
    >>> cpp_essence('g("a  b")') == cpp_essence('g("a b")'), cpp_essence("a + +b") == cpp_essence("a ++ b")
    (False, False)
    """
    return " ".join(_cpp_tokens(source))


def _cpp_tokens(source: str) -> Iterable[str]:
    """Tokens, where operators written together are one token, and a directive ends with its line."""
    tokens: list[str] = []
    joined = in_directive = False
    for match in _CPP_TOKEN.finditer(source):
        kind, text = match.lastgroup, match.group()
        kind = "raw" if kind == "mark" else kind
        if kind in {"comment", "space"}:
            joined = False
        elif kind == "newline":
            joined = False
            if in_directive:
                tokens.append("\n")
                in_directive = False
        elif kind == "operator":
            joins = joined and text in "+-&|<>=*/!:." and tokens[-1][-1] in "+-&|<>=*/!:."
            tokens[-1:] = [tokens[-1] + text] if joins else [*tokens[-1:], text]
            joined = True
        else:
            in_directive = in_directive or kind == "directive"
            tokens.append(text.strip() if kind == "directive" else text)
            joined = False
    return tokens
