"""``Parser`` under Ray Data: the recipe of docs/how-to/a-billion-words.md."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arcwise.distributed import Parser
from arcwise.parsing.parser import ParseOptions
from corpora.making import MODEL, pipeline, texts, write_jsonl

GIVEN = texts(12)

pytestmark = pytest.mark.filterwarnings("ignore")  # Ray warns of itself


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="needs Ray: make test-ray")
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install pyarrow")
    if ray.is_initialized():
        ray.shutdown()
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield ray
    ray.shutdown()


def test_map_batches(ray: Any, tmp_path: Path) -> None:
    import ray.data

    ray.data.DataContext.get_current().enable_progress_bars = False
    write_jsonl(tmp_path / "crawl/a.jsonl", [{"text": text, "n": n} for n, text in enumerate(GIVEN)])
    rows = ray.data.read_json(str(tmp_path / "crawl"))
    given = {"model": MODEL, "columns": ("conllu", "heads")}
    parsed = rows.map_batches(Parser, fn_constructor_kwargs=given, concurrency=1, batch_size=5)
    parsed.write_parquet(str(tmp_path / "parsed"))
    found = sorted(ray.data.read_parquet(str(tmp_path / "parsed")).take_all(), key=lambda row: row["n"])
    wanted = pipeline().analyse_texts(GIVEN, options=ParseOptions())
    assert [row["conllu"] for row in found] == [document.treebank.text for document in wanted]
    heads = [[list(sentence) for sentence in row["heads"]] for row in found]
    assert heads == [[s.heads[1:].tolist() for s in document.treebank] for document in wanted]
