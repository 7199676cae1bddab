"""``CorpusParser`` under Ray Data: the recipe of docs/how-to/a-billion-words.md, and columns with lists."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.distributed.recipes import run_recipe
from tests.distributed.small_corpora import MODEL, pipeline, texts, write_jsonl

from arcwise.distributed import CorpusParser
from arcwise.models import load
from arcwise.parsing.parser import ParseOptions

GIVEN = texts(12)

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]  # Ray warns of itself


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the recipe is run in; Ray's workers are where Ray was started."""
    folder = tmp_path_factory.mktemp("ray")
    write_jsonl(folder / "crawl/a.jsonl.gz", [{"text": text} for text in GIVEN])
    return folder


@pytest.fixture(scope="module")
def ray(crawl: Path) -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="needs Ray: make test-ray")
    pytest.importorskip("pyarrow", reason="needs pyarrow: pip install pyarrow")
    if ray.is_initialized():
        ray.shutdown()
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(crawl)
        ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="error")
        import ray.data

        ray.data.DataContext.get_current().enable_progress_bars = False
        yield ray
        ray.shutdown()


def test_the_recipe(ray: Any, crawl: Path) -> None:
    run_recipe("ray")
    found = {row["text"]: row["conllu"] for row in ray.data.read_parquet(str(crawl / "parsed")).take_all()}
    wanted = load("en").analyse_texts(GIVEN, options=ParseOptions())
    assert found == {text: document.treebank.text for text, document in zip(GIVEN, wanted, strict=True)}


def test_lists_of_words(ray: Any) -> None:
    rows = ray.data.from_items([{"text": text, "n": n} for n, text in enumerate(GIVEN)])
    parsed = rows.map_batches(CorpusParser(MODEL, columns=("forms", "heads")), batch_size=5)
    found = sorted(parsed.take_all(), key=lambda row: row["n"])
    wanted = pipeline().analyse_texts(GIVEN, options=ParseOptions())
    heads = [[list(sentence) for sentence in row["heads"]] for row in found]
    assert heads == [[s.heads[1:].tolist() for s in document.treebank] for document in wanted]
