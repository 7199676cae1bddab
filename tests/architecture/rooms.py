"""The plan of the house (ARCHITECTURE.md) as tables: what each room may use, in Python and in C++."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "arcwise"
NATIVE = ROOT / "native"

BELOW: dict[str, set[str]] = {"trees": set(), "engine": set()}
"""Python: room → the rooms that it may import."""
BELOW["treebanks"] = {"trees"}
BELOW["inference"] = {"trees", "treebanks"}
BELOW["features"] = {"trees", "treebanks"}
BELOW["evaluation"] = {"trees", "treebanks"}
BELOW["torch"] = {"trees", "treebanks", "inference", "factors"}
BELOW["learning"] = {"trees", "treebanks", "inference", "features", "evaluation"}
BELOW["factors"] = BELOW["learning"] | {"learning"}
BELOW["parsing"] = BELOW["factors"] | {"factors"}
BELOW["distillation"] = BELOW["parsing"] | {"parsing", "torch"}
for parser in ("graph", "neural", "transition", "induction"):
    BELOW[parser] = BELOW["parsing"] | {"parsing", "distillation"}
BELOW["siblings"] = BELOW["graph"] | {"graph"}
BELOW["text"] = BELOW["parsing"]
BELOW["neural"] |= {"torch"}
BELOW["visual"] = BELOW["siblings"] | {"siblings", "neural", "transition", "induction"}
BELOW["pipeline"] = BELOW["visual"] | {"visual", "text"}
BELOW["models"] = BELOW["pipeline"] | {"pipeline"}
BELOW["spacy_component"] = BELOW["models"] | {"models"}
BELOW["distributed"] = BELOW["models"] | {"models"}
BELOW["mining"] = BELOW["models"] | {"models"}
BELOW["annotation"] = BELOW["mining"] | {"mining"}
BELOW["web"] = BELOW["annotation"] | {"annotation", "distributed"}
BELOW["cli"] = BELOW["web"] | {"web"}

FILES = {"spacy_component"}
"""Rooms that are one file."""
OUTSIDE = {
    "deprecation", "engine", "errors", "log", "memory", "native", "optional", "schema", "_cpu", "__version__",
}  # fmt: skip
"""May be imported by all."""

BESIDE = {"measuring": set[str](), "benchmarks": {"measuring"}, "experiments": {"measuring"}}
"""Folders beside the package → those that they may import."""

NATIVE_BELOW: dict[str, set[str]] = {"base": set(), "trees": set(), "learning": set()}
"""C++: room of native/kernels → the rooms whose headers it may include; all may include ``base``."""
NATIVE_BELOW["treebanks"] = {"trees"}
NATIVE_BELOW["inference"] = {"trees"}
NATIVE_BELOW["factors"] = {"trees", "inference"}
NATIVE_BELOW["features"] = {"trees", "treebanks"}
for parser in ("graph", "neural", "transition", "induction"):
    NATIVE_BELOW[parser] = {"trees", "treebanks", "inference", "features", "learning"}
for parser in ("graph", "neural"):
    NATIVE_BELOW[parser] |= {"factors"}
NATIVE_BELOW["siblings"] = NATIVE_BELOW["graph"] | {"graph", "factors"}
NATIVE_BELOW["text"] = {"trees", "treebanks", "features", "learning"}

BINDINGS = {"pipeline": "text", "count_search": "induction"}
"""Files of native/bindings that do not begin with the name of their room."""


def room_of_binding(stem: str) -> str | None:
    """The room whose names a file of native/bindings registers; None for what belongs to all.

    >>> room_of_binding("inference_eisner"), room_of_binding("pipeline"), room_of_binding("module")
    ('inference', 'text', None)
    """
    room = BINDINGS.get(stem, stem.split("_")[0])
    return room if room in NATIVE_BELOW and room != "base" else None
