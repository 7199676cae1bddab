"""Which examples are run: those that need torch where torch is. Pages are skipped with a reason where it is not, as tests/tensors are."""

from pathlib import Path

import pytest

from arcwise.optional import is_installed

HAS_TORCH = is_installed("torch")
TORCH_PAGES = (
    "docs/tutorials/a-parser-layer-in-pytorch.md",
    "docs/tutorials/train-a-neural-parser.md",
    "docs/reference/torch.md",
)
_ROOM = Path(__file__).parent / "src/arcwise/neural"
_TRAINING = [str(p) for p in _ROOM.glob("*.py") if "\nimport torch\n" in p.read_text("utf-8")]
collect_ignore_glob = [] if HAS_TORCH else ["src/arcwise/torch/*", *_TRAINING]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not HAS_TORCH and item.path.as_posix().endswith(TORCH_PAGES):
            item.add_marker(pytest.mark.skip(reason="needs torch: make test-torch"))
