"""Which examples are run: those that need torch where torch is. Pages are skipped with a reason where it is not, as tests/tensors are."""

from importlib.util import find_spec

import pytest

HAS_TORCH = find_spec("torch") is not None
TORCH_PAGES = ("docs/tutorials/a-parser-layer-in-pytorch.md", "docs/reference/torch.md")
collect_ignore_glob = [] if HAS_TORCH else ["src/arcwise/torch/*"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not HAS_TORCH and item.path.as_posix().endswith(TORCH_PAGES):
            item.add_marker(pytest.mark.skip(reason="needs torch: make test-torch"))
