"""Which examples are run: those that need torch where torch is. Pages are skipped with a reason where it is not, as tests/tensors are."""

from pathlib import Path

import pytest

from arcwise.optional import is_installed

HAS_TORCH = is_installed("torch")
TORCH_PAGES = ("docs/tutorials/a-parser-layer-in-pytorch.md", "docs/reference/torch.md")
NEURAL = Path(__file__).parent / "src" / "arcwise" / "neural"
collect_ignore_glob = [] if HAS_TORCH else ["src/arcwise/torch/*"]
collect_ignore = (
    [] if HAS_TORCH else [str(p) for p in NEURAL.glob("*.py") if "\nimport torch\n" in p.read_text()]
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not HAS_TORCH and item.path.as_posix().endswith(TORCH_PAGES):
            item.add_marker(pytest.mark.skip(reason="needs torch: make test-torch"))
