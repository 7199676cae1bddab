"""``CorpusParser`` in other engines: the same trees as the pipeline's, however rows are batched."""

import pickle
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.distributed.recipes import recipe, run_recipe
from tests.distributed.small_corpora import MODEL, pipeline, texts, write_jsonl

from arcwise.distributed import CorpusParser
from arcwise.errors import InputError, ModelError, OptionError
from arcwise.models import load
from arcwise.parsing.parser import ParseOptions

GIVEN = texts(12)
PARSER = CorpusParser(MODEL)


def expected(model: str = MODEL) -> list[str]:
    found = load(model).analyse_texts(GIVEN, options=ParseOptions())
    return [document.treebank.text for document in found]


def test_mappings_of_lists_and_of_arrays() -> None:
    batch: dict[str, Any] = {"text": GIVEN, "n": list(range(12))}
    found = PARSER(batch)
    assert found["conllu"] == expected()
    assert found["n"] == batch["n"]
    arrays = PARSER({"text": np.array(GIVEN, object), "n": np.arange(12)})
    assert list(arrays["conllu"]) == expected()
    assert arrays["conllu"].dtype == object


def test_a_table_of_pandas_and_what_spark_gives() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"text": GIVEN, "n": range(12)}, index=range(100, 112))
    found = PARSER(table)
    assert list(found.columns) == ["text", "n", "conllu", "error"]
    assert list(found["conllu"]) == expected()
    assert list(found.index) == list(table.index)
    lazily = PARSER(iter([table[:5], table[5:]]))  # mapInPandas
    assert [text for part in lazily for text in part["conllu"]] == expected()


def test_an_arrow_table_with_lists() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parser = CorpusParser(
        MODEL, columns=("forms", "heads", "label_probabilities"), options=ParseOptions(confidence=True)
    )
    found = parser(pyarrow.table({"text": GIVEN}))
    sure = pipeline().analyse_texts(GIVEN, options=ParseOptions(confidence=True))
    assert found.column("forms").to_pylist() == [[s.forms for s in d.treebank] for d in sure]
    assert found.column("heads").to_pylist() == [[s.heads[1:].tolist() for s in d.treebank] for d in sure]
    shares = found.column("label_probabilities").to_pylist()
    assert shares[3][0] == pytest.approx(sure[3].treebank[0].label_probabilities)
    empty = parser(pyarrow.table({"text": pyarrow.array([], pyarrow.string())}))
    assert empty.schema == found.schema


def test_it_travels_without_its_model() -> None:
    sent = pickle.dumps(PARSER)
    assert len(sent) < 2000
    assert pickle.loads(sent) == PARSER
    assert pickle.loads(sent)({"text": GIVEN})["conllu"] == expected()


def test_a_row_without_a_text_is_told_and_the_others_are_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = CorpusParser(MODEL, columns=("conllu", "forms"))(
        {"text": ["A bird sings.", None, 7, "", float("nan")]}
    )
    assert found["error"] == [
        "",
        "found NoneType, expected a string",
        "found int, expected a string",
        "",
        "found float, expected a string",
    ]
    assert found["conllu"][1:] == [""] * 4
    assert found["forms"] == [[["A", "bird", "sings", "."]], [], [], [], []]


def test_what_is_wrong_is_told() -> None:
    with pytest.raises(OptionError, match="columns: found trees, expected some of conllu, forms"):
        CorpusParser(MODEL, columns=("trees",))
    with pytest.raises(OptionError, match="columns: found none"):
        CorpusParser(MODEL, columns=())
    with pytest.raises(InputError, match="batch: found the columns body, expected 'text'"):
        PARSER({"body": GIVEN})
    with pytest.raises(InputError, match="batch: found list"):
        PARSER(GIVEN)
    with pytest.raises(ModelError):
        CorpusParser("nothing.arcwise")({"text": GIVEN})


# ---- the recipes of docs/how-to/a-billion-words.md


@pytest.fixture
def crawl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_jsonl(tmp_path / "crawl/a.jsonl.gz", [{"text": text} for text in GIVEN])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_datasets(crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    pytest.importorskip("datasets", reason="needs Hugging Face datasets: pip install datasets")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", crawl / "cache")
    parsed = run_recipe("datasets")["parsed"]
    assert parsed["conllu"][:] == expected("en")
    assert (crawl / "parsed.parquet").exists()


def test_datasets_with_lists() -> None:
    datasets = pytest.importorskip("datasets", reason="needs Hugging Face datasets: pip install datasets")
    rows = datasets.Dataset.from_dict({"text": GIVEN})
    found = rows.map(CorpusParser(MODEL, columns=("forms", "heads")), batched=True, batch_size=5)
    wanted = pipeline().analyse_texts([GIVEN[3]])[0].treebank
    assert found[3]["forms"] == [s.forms for s in wanted]
    assert found[3]["heads"] == [s.heads[1:].tolist() for s in wanted]


@pytest.mark.filterwarnings("ignore")  # dask warns of pandas
def test_dask(crawl: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # dask asks for its companion library ``distributed``; this folder, on the path of the tests, is not it.
    spec = find_spec("distributed")
    if spec is not None and spec.origin is None:
        monkeypatch.setitem(sys.modules, "distributed", None)
    dask = pytest.importorskip("dask", reason="needs dask: pip install 'dask[dataframe]'")
    pytest.importorskip("dask.dataframe", reason="needs dask: pip install 'dask[dataframe]'")
    with dask.config.set(scheduler="synchronous"):
        parsed = run_recipe("dask")["parsed"].compute()
    assert list(parsed["conllu"]) == expected("en")
    assert (crawl / "parsed").is_dir()


def test_spark_is_written_as_the_others_are() -> None:
    compile(recipe("pyspark"), "recipe", "exec")


def test_the_former_name_still_works() -> None:
    import arcwise.distributed

    with pytest.warns(DeprecationWarning, match="use arcwise.distributed.CorpusParser"):
        assert arcwise.distributed.Parser is CorpusParser
