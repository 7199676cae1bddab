"""Build the WebAssembly module: ``python native/web/build.py [FOLDER]`` (``make web-module``).

Writes arcwise.wasm, arcwise.js and the model en-web.arcwise.gz to build/web. The compiler is clang with its
C++ library from the PyPI package ziglang, which caches compiled files. Without it the script prints a
message and builds nothing.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "build" / "web"
KERNELS = {
    "base": ("unicode",),
    "factors": ("eisner_siblings", "legal_search", "legal_trees"),
    "features": ("look_alikes", "token_atoms"),
    "inference": ("eisner", "matrix_product", "matrix_tree", "spanning_tree", "tall_sums", "tree_decoder"),
    "learning": ("softmax", "sparse_linear"),
    "neural": (
        *("input_layer", "network_batch", "network_loops", "network_loops_baseline", "neural_network"),
        *("neural_parse", "packed_matrix", "sentence_scorer"),
    ),
    "text": (
        *("addresses", "chain", "character_classes", "line_ends", "multiword", "squeezed_text", "stems"),
        *("tagger", "tokenized_text", "tokenizer"),
    ),
    "treebanks": ("lemma_scripts", "string_column", "treebank_layout"),
}
"""The kernels that parsing needs: room → files."""
FLAGS = (
    *("-target", "wasm32-wasi", "-mcpu=generic+simd128+bulk_memory+sign_ext+nontrapping_fptoint"),
    *("-std=c++20", "-O2", "-ffp-contract=off", "-fno-rtti", "-fignore-exceptions"),
    *("-ffunction-sections", "-fdata-sections", "-fvisibility=hidden", "-mexec-model=reactor", "-s"),
    *("-Wl,--gc-sections", "-Wl,-z,stack-size=1048576"),
)
"""128-bit vectors, and the same sums as everywhere; exceptions end in JavaScript (module.cpp)."""


def main(arguments: Sequence[str]) -> None:
    """Build files that are missing or older than their sources."""
    output = Path(arguments[0]) if arguments else OUTPUT
    if importlib.util.find_spec("ziglang") is None:
        print("make web-module: skipped: the compiler is missing: pip install ziglang")
        return
    output.mkdir(parents=True, exist_ok=True)
    compile_module(output / "arcwise.wasm")
    shutil.copyfile(ROOT / "native" / "web" / "arcwise.js", output / "arcwise.js")
    model = output / "en-web.arcwise.gz"
    sources = (
        ROOT / "recipes" / "web_model.py",
        ROOT / "src" / "arcwise" / "shipped_models" / "en.arcwise",
    )
    if not model.exists() or any(path.stat().st_mtime > model.stat().st_mtime for path in sources):
        subprocess.run([sys.executable, str(sources[0]), str(model)], check=True)
    for path in sorted(output.iterdir()):
        print(f"{path}: {path.stat().st_size / 1e6:.2f} MB")


def compile_module(module: Path) -> None:
    """Compile the interface and the kernels into one module."""
    front = sorted((ROOT / "native" / "web").glob("*.cpp"))
    kernels = [
        ROOT / "native" / "kernels" / room / f"{name}.cpp"
        for room, names in KERNELS.items()
        for name in names
    ]
    compiler = [sys.executable, "-m", "ziglang", "c++", *FLAGS, "-I", str(ROOT / "native")]
    files = [str(path.relative_to(ROOT)) for path in (*front, *kernels)]
    subprocess.run([*compiler, *files, "-o", str(module)], cwd=ROOT, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
