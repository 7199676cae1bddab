"""Which examples are run: those that need torch or starlette where these are. Pages are skipped with a reason where they are not, as tests/torch_backend are."""

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
HAS_WEB = is_installed("starlette") and is_installed("uvicorn")
WEB_PAGES = ("docs/reference/annotate-api.md", "docs/reference/server.md")
collect_ignore_glob = [] if HAS_TORCH else ["src/arcwise/torch/*", *_TRAINING]
collect_ignore = ["docs/reference/exchange.md"]  # tests/docs/test_exchange_page.py runs what can be run of it
collect_ignore_glob += [] if HAS_WEB else ["src/arcwise/web/*"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not HAS_TORCH and item.path.as_posix().endswith(TORCH_PAGES):
            item.add_marker(pytest.mark.skip(reason="needs torch: make test-torch"))
        if not HAS_WEB and item.path.as_posix().endswith(WEB_PAGES):
            item.add_marker(
                pytest.mark.skip(reason="needs starlette and uvicorn: pip install starlette uvicorn")
            )
