"""Tables and the conllu library, where they are installed: pandas, Arrow, polars, datasets; there and
back."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcwise
from arcwise.errors import InputError, MissingExtraError
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank, exchange
from arcwise.treebanks.exchange.sentence_tables import arrow_schema
from text.toy import toy_treebank
from treebanks.generated import sentences
from treebanks.samples import ALL, PARTIAL, RICH

TEXT = "  They're here,  isn't it?\nJohn can't | go. \n\nNew para.  "
COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "deps", "misc")
WHOLE = {
    "arrow": (exchange.to_arrow, exchange.from_arrow, ("pyarrow",)),
    "polars": (exchange.to_polars, exchange.from_polars, ("pyarrow", "polars")),
    "datasets": (exchange.to_dataset, exchange.from_dataset, ("pyarrow", "datasets")),
}
"""Tables from which everything comes back."""
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the other libraries


@pytest.fixture(params=WHOLE)
def there_and_back(request: pytest.FixtureRequest) -> Any:
    """The functions of a library, where it is installed."""
    there, back, libraries = WHOLE[request.param]
    for library in libraries:
        pytest.importorskip(library, reason=f"{library} is not installed")
    return there, back


@pytest.fixture(scope="module")
def document() -> Any:
    """A parsed text with white space of all kinds."""
    return arcwise.load("en")(TEXT)


# ---- Arrow, polars, datasets


def test_everything_comes_back(there_and_back: Any, document: Any) -> None:
    there, back = there_and_back
    assert back(there(Treebank.from_string(ALL))).text == ALL
    assert back(there(document)).text == document.to_conllu()
    assert back(there(Treebank.from_string(RICH)[0])).text == RICH
    several = arcwise.load("en").parse(
        document.treebank, options=ParseOptions(confidence=True, alternatives=2)
    )
    assert back(there(several)).text == several.text


def test_any_sentences_come_back_from_arrow() -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")

    @settings(max_examples=40, deadline=None)
    @given(st.lists(sentences(), min_size=1, max_size=2))
    def check(own: list[str]) -> None:
        treebank = Treebank.from_string("".join(own))
        assert exchange.from_arrow(exchange.to_arrow(treebank)).data == treebank.data

    check()


@pytest.mark.treebanks
@pytest.mark.parametrize("name", ["English-EWT", "Arabic-PADT-rs", "Turkish-IMST"])
def test_real_treebanks_come_back(there_and_back: Any, treebanks: Path, name: str) -> None:
    there, back = there_and_back
    treebank = Treebank.read(treebanks / name / "dev.conllu.xz")[:150]
    assert back(there(treebank)).data == treebank.data


def test_what_an_arrow_table_has(document: Any) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = exchange.to_arrow(document)
    assert table.schema == arrow_schema()
    for row, sentence in zip(table.to_pylist(), document, strict=True):
        assert row["text"] == sentence.text == TEXT[row["start"] : row["end"]]
        assert row["heads"] == sentence.heads[1:].tolist()
        assert row["head_probabilities"] == pytest.approx(sentence.head_probabilities, abs=1e-4)
        assert row["tree_probability"] == pytest.approx(sentence.confidence, rel=1e-4)
        places = [
            (t.start, t.end) if not t.is_multiword else (None, None) for t in sentence.tokens for _ in t.words
        ]
        assert list(zip(row["word_starts"], row["word_ends"], strict=True)) == places
    row = exchange.to_arrow(Treebank.from_string(PARTIAL)).to_pylist()[0]
    assert row["heads"] == [3, None, None]
    assert row["lemmas"] == [None] * 3
    assert row["head_probabilities"] == [None] * 3


def test_tables_that_others_made(there_and_back: Any) -> None:
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    made = exchange.from_arrow(
        arrow.table({"forms": [["Birds", "sing"], ["Hi"]], "heads": [[2, 0], [-1]], "topic": ["a", "b"]})
    )
    assert [s.forms for s in made] == [["Birds", "sing"], ["Hi"]]
    assert made[0].heads.tolist() == [-1, 2, 0]
    for table, message in [
        ({"tokens": [["Hi"]]}, r"table: the column 'forms' is missing \(columns: tokens\)"),
        ({"forms": [["Hi"]], "heads": [[1, 2]]}, r"must have one value per word; lengths: forms 1, heads 2"),
        ({"forms": [["Hi"]], "heads": [["x"]]}, r"sentences\[0\].words\[0\].head: found 'x'"),
        ({"forms": [[]]}, r"sentences\[0\].words: found \[\], expected at least one"),
    ]:
        with pytest.raises(InputError, match=message):
            exchange.from_arrow(arrow.table(table))


def test_a_parquet_file(tmp_path: Path, document: Any) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(exchange.to_arrow(document), tmp_path / "corpus.parquet")
    assert exchange.from_arrow(parquet.read_table(tmp_path / "corpus.parquet")).text == document.to_conllu()


def test_parquet_of_a_corpus(tmp_path: Path, document: Any) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    writers = pytest.importorskip("arcwise.distributed.writers")
    made = exchange.from_arrow(writers.parquet_schema().empty_table())
    assert len(made) == 0
    names = set(writers.parquet_schema().names) - {"file", "line", "id"}
    assert names <= set(arrow_schema().names)


# ---- pandas


def test_pandas_and_back() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    treebank = toy_treebank()[:5]
    table = exchange.to_pandas(treebank)
    assert list(table.columns[:4]) == ["sentence", "sent_id", "id", "form"]
    again = exchange.from_pandas(table)
    for name in COLUMNS:
        assert again.column(name) == treebank.column(name)
    assert again.heads.tolist() == treebank.heads.tolist()
    partial = exchange.from_pandas(exchange.to_pandas(Treebank.from_string(ALL)))[2]
    assert partial.tree.heads.tolist() == [-1, 3, -1, -1]
    with pytest.raises(InputError, match="the column 'form' is missing"):
        exchange.from_pandas(table[["upos"]])


def test_pandas_keeps_tokens_text_and_probabilities(document: Any) -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    table = exchange.to_pandas(document)
    assert [TEXT[a:b] for a, b in zip(table.start, table.end, strict=True)] == list(table.token_form)
    assert table.head_probability.to_list() == pytest.approx(
        [p for s in document for p in s.head_probabilities], abs=1e-4
    )
    again = exchange.from_pandas(table)
    assert again.surface == document.treebank.surface
    for before, after in zip(document, again, strict=True):
        assert after.rows == before.rows
        assert (after.sent_id, after.text) == (before.sent_id, before.text)
    rich = exchange.from_pandas(exchange.to_pandas(Treebank.from_string(RICH)))[0]
    assert rich.rows == [row for row in Treebank.from_string(RICH)[0].rows if "." not in row[0]]


def test_tables_of_pandas_that_others_made() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    made = exchange.from_pandas(
        pandas.DataFrame(
            {
                "form": ["Birds", "sing"],
                "head": [2.0, 0.0],
                "lemma": ["bird", None],
                "head_probability": [0.5, None],
            }
        )
    )
    assert (
        made.text == "1\tBirds\tbird\t_\t_\t_\t2\t_\t_\tHeadProb=0.5000\n2\tsing\t_\t_\t_\t_\t0\t_\t_\t_\n\n"
    )
    with pytest.raises(InputError, match=r"words\[0\].head: found 2.5, expected the number of a word"):
        exchange.from_pandas(pandas.DataFrame({"form": ["Hi"], "head": [2.5]}))


# ---- conllu


def test_conllu_and_back(document: Any) -> None:
    pytest.importorskip("conllu", reason="the conllu library is not installed")
    treebank = Treebank.from_string(RICH)
    library = exchange.to_conllu_library(treebank)
    assert library[0][0]["form"] == "Vámonos"
    assert exchange.from_conllu_library(library).text == RICH
    assert exchange.from_conllu_library(exchange.to_conllu_library(document)).text == document.to_conllu()


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"needs pandas, which is not installed: .*install pandas$"):
        exchange.to_pandas(arcwise.Treebank.from_string(""))
