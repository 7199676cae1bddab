"""Tiers of tests, and examples that need an optional library: skipped with a reason where it is missing.

``make test`` leaves out what is marked ``slow``, ``process``, ``faults`` or ``browser``; ``make test-all``
runs everything.
"""

import re
from pathlib import Path

import pytest

from arcwise.optional import is_installed

HAS_TORCH = is_installed("torch")
TORCH_PAGES = (
    "docs/tutorials/a-parser-layer-in-pytorch.md",
    "docs/tutorials/train-a-neural-parser.md",
    "docs/reference/torch.md",
)
_SOURCE = Path(__file__).parent / "src/arcwise"
_TRAINING = [
    str(path)
    for room in ("neural", "distillation")
    for path in (_SOURCE / room).glob("*.py")
    if re.search(r"^(import torch|from (arcwise\.)?torch)\b", path.read_text("utf-8"), re.MULTILINE)
]
HAS_WEB = is_installed("starlette") and is_installed("uvicorn")
WEB_PAGES = ("docs/reference/annotate-api.md", "docs/reference/server.md")
SLOW_PAGES = (
    "docs/how-to/a-billion-words.md",
    "docs/how-to/annotate-a-treebank.md",
    "docs/how-to/prove-it-on-a-cluster.md",
    "docs/how-to/teach-a-parser.md",
    "docs/how-to/train-with-many-workers.md",
    "docs/tutorials/train-a-neural-parser.md",
)
THINNED = 4
"""``make test`` runs every Nth case (parser, trainer, system, tree class) of a contract."""
collect_ignore_glob = [] if HAS_TORCH else ["src/arcwise/torch/*", *_TRAINING]
collect_ignore = ["docs/reference/exchange.md"]  # tests/docs/test_exchange_page.py runs what can be run of it
collect_ignore_glob += [] if HAS_WEB else ["src/arcwise/web/*"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        path = item.path.as_posix()
        if not HAS_TORCH and path.endswith(TORCH_PAGES):
            item.add_marker(pytest.mark.skip(reason="needs torch: make test-torch"))
        if not HAS_WEB and path.endswith(WEB_PAGES):
            item.add_marker(
                pytest.mark.skip(reason="needs starlette and uvicorn: pip install starlette uvicorn")
            )
        if path.endswith(SLOW_PAGES):
            item.add_marker(pytest.mark.slow)
        if "planted_faults" in item.path.name:
            item.add_marker(pytest.mark.faults)
        if "/tests/web/browser/" in path:
            item.add_marker(pytest.mark.browser)
    _thin_contracts(
        [item for item in items if "/tests/contracts/" in item.path.as_posix() and "[" in item.name]
    )


def _thin_contracts(items: list[pytest.Item]) -> None:
    """Mark all but one in ``THINNED`` cases of each contract as slow."""
    contracts: dict[str, list[pytest.Item]] = {}
    for item in items:
        contracts.setdefault(item.nodeid.partition("[")[0], []).append(item)
    # Contracts start at different cases, so that together they run every parser.
    for start, cases in enumerate(contracts.values()):
        if len(cases) > THINNED:
            for place, item in enumerate(cases, start):
                if place % THINNED:
                    item.add_marker(pytest.mark.slow)
