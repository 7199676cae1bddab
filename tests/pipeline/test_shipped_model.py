"""The English model that comes with arcwise."""

import io
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import arcwise
from arcwise import native
from arcwise.annotation.assistant import Assistant
from arcwise.annotation.tag_accuracy import TagAccuracy
from arcwise.cli.main import run
from arcwise.models import shipped_models
from arcwise.models.train_pipeline import raw_text_scores
from arcwise.parsing.parser import TAGS, ParseOptions
from arcwise.treebanks import Treebank
from contracts.english import random_english

ROOT = Path(__file__).parents[2]


def test_every_shipped_model_is_small_and_has_a_card() -> None:
    models = shipped_models()
    assert "en" in models
    for path in models.values():
        assert path.stat().st_size <= 12_000_000
        card = path.with_suffix(".md").read_text()
        for word in ("Data", "Licence", "Training command", "LAS"):
            assert word in card


def test_english() -> None:
    doc = arcwise.load("en")("Dr. Smith doesn't live in New York. She moved to Berlin in 2019!")
    assert [s.forms for s in doc] == [
        ["Dr.", "Smith", "does", "n't", "live", "in", "New", "York", "."],
        ["She", "moved", "to", "Berlin", "in", "2019", "!"],
    ]
    assert doc[1].upos == ["PRON", "VERB", "ADP", "PROPN", "ADP", "NUM", "PUNCT"]
    assert doc[1].lemmas[1] == "move"
    assert doc[1].tree.heads[1:].tolist() == [2, 0, 4, 2, 6, 2, 2]


@pytest.mark.parametrize("name", ["en", "en-fast"])
def test_sing_does_not_get_the_lemma_script_of_using(name: str) -> None:
    """Its lemma was *se*."""
    doc = arcwise.load(name)("Birds sing. She sings. He wants to sing.")
    assert [word.lemma for word in doc.words if word.form.startswith("sing")] == ["sing"] * 3


FORMS = ["The", "round", "table", "sounds", "well", "down", "by", "the", "old", "mill", "."]
WORDS = "".join("\t".join([str(m), form, *"_" * 8]) + "\n" for m, form in enumerate(FORMS, 1)) + "\n"


@pytest.mark.parametrize("name", ["en", "en-fast"])
def test_keeping_tags_where_there_are_none_changes_nothing(name: str) -> None:
    nlp = arcwise.load(name)
    words = Treebank.from_string(WORDS)
    with_confidence, keeping = ParseOptions(confidence=True), ParseOptions(confidence=True, keep=TAGS)
    free = nlp.parse(words, options=with_confidence)
    assert nlp.parse(words, options=keeping).text == free.text
    shares = [float(misc.split("UposProb=")[1].split("|")[0]) for misc in free.column("misc")]
    assert min(shares) < 0.95
    # What is given stays, with UposProb=1; the other tags of that word follow it.
    given = words.annotate(upos=["_", "NOUN", *["_"] * 9], lemma=["THE", *["_"] * 10])
    kept = nlp.parse(given, options=keeping)
    assert kept.column("upos")[1] == "NOUN"
    assert kept.column("feats")[1] == "Number=Sing"
    assert kept.column("lemma")[0] == "THE"
    assert kept.column("misc")[1].startswith("UposProb=1.000|HeadProb=")
    assert kept.column("misc")[5].split("|")[0] != "UposProb=1.000"


@pytest.mark.parametrize("name", ["en", "en-fast"])
def test_the_annotation_page_suggests_the_tags_of_a_parse_with_their_confidences(name: str) -> None:
    nlp = arcwise.load(name)
    words = Treebank.from_string(WORDS)
    parsed = nlp.parse(words, options=ParseOptions(confidence=True))
    for m, word in enumerate(Assistant(nlp).suggest(words[0]).words):
        assert word.tags == {name: value for name in TAGS if (value := parsed.column(name)[m]) != "_"}
        assert f"UposProb={word.upos_probability:.3f}|" in parsed.column("misc")[m]


def test_tags_of_the_network_have_its_probabilities_on_the_annotation_page() -> None:
    """Also in a file without any annotated tag, on which ``TagAccuracy`` has nothing to measure."""
    nlp = arcwise.load("en")
    words = Treebank.from_string(WORDS)
    parser: Any = nlp.parser
    network = parser.tag_probabilities(nlp.tagger.tag(words, keep=TAGS, confidence=True))
    suggested = Assistant(nlp).suggest(words[0]).words
    for m, word in enumerate(suggested):
        agreed = {name for name, (values, _) in network.items() if values[m] == word.tags.get(name)}
        assert {"upos", "xpos"} <= agreed
        assert set(word.tag_probabilities) == agreed
        for name in agreed - {"upos"}:
            assert word.tag_probabilities[name] == network[name][1][m]
    assert all(set(word.tag_probabilities) == set(word.tags) for word in suggested)
    # Nothing measured on the file replaces them.
    measured = TagAccuracy({"xpos": {"4 known": (1, 2)}}, frozenset(form.lower() for form in FORMS))
    completed = measured.complete(words[0], Assistant(nlp).suggest(words[0])).words
    assert [word.tag_probabilities for word in completed] == [word.tag_probabilities for word in suggested]


@pytest.mark.parametrize("name", ["en", "en-fast"])
@pytest.mark.parametrize(
    "options",
    [ParseOptions(), ParseOptions(confidence=True), ParseOptions(confidence=True, alternatives=2)],
    ids=["plain", "confidence", "alternatives"],
)
def test_raw_text_is_indexed_once_and_written_once(
    name: str, options: ParseOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tokenizer's words are indexed; all columns of tagger and parser are written together."""
    calls: Counter[str] = Counter()

    def counted(function: str) -> Callable[..., Any]:
        original = getattr(native, function)

        def call(*arguments: Any) -> Any:
            calls[function] += bool(arguments[-1])  # no bytes need no work
            return original(*arguments)

        return call

    for function in ("treebank_layout", "treebank_written"):
        monkeypatch.setattr(native, function, counted(function))
    nlp = arcwise.load(name)
    if options.alternatives and not nlp.capabilities.alternatives:
        pytest.skip("a transition-based parser has no alternatives")
    # Curly quotes are read as straight ones, in a view that needs no bytes either.
    text = "“It’s Paul’s,” she said. We cannot go – really… "
    for analysis in nlp.analyses(io.BytesIO(text.encode()), options=options):
        assert analysis.treebank.data.count(b"\troot\t") == 2
    assert calls == {"treebank_layout": 1, "treebank_written": 1}
    calls.clear()
    assert nlp.analyse_texts([text], options=options)[0].to_conllu().count("\troot\t") == 2
    assert calls == {"treebank_layout": 1, "treebank_written": 1}
    calls.clear()
    documents = nlp.analyse_texts([text, "Birds sing.", ""], options=options)
    assert [document.to_conllu().count("\troot\t") for document in documents] == [2, 1, 0]
    assert calls == {"treebank_layout": 1, "treebank_written": 1}


def seconds(nlp: Any, text: bytes) -> float:
    """Processor time from raw text to CoNLL-U."""
    start = time.process_time()
    for analysis in nlp.analyses(io.BytesIO(text), options=ParseOptions()):
        len(analysis.treebank.data)
    return time.process_time() - start


@pytest.mark.slow
def test_en_fast_is_three_times_as_fast_as_en() -> None:
    """In turns, loaded or not: the minimum of the rounds, so that other work on the machine does not
    count."""
    text = random_english(100_000).encode()
    models = {name: arcwise.load(name) for name in ("en", "en-fast")}
    rounds = [{name: seconds(nlp, text) for name, nlp in models.items()} for _ in range(5)]
    fastest = {name: min(times[name] for times in rounds) for name in models}
    assert fastest["en"] >= 3 * fastest["en-fast"]


def test_the_picture_of_the_readme_is_a_parse(tmp_path: Path) -> None:
    parsed, picture = tmp_path / "parsed.conllu", tmp_path / "parsed.svg"
    text = "The letter that she sent from Prague arrived yesterday."
    assert run(["parse", "--confidence", "--text", text, "--output", str(parsed)]) == 0
    assert run(["show", str(parsed), "--svg", str(picture)]) == 0
    assert picture.read_text() == (ROOT / "docs/images/parsed.svg").read_text()


def test_info_tells_where_it_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["info", "en"]) == 0
    out = capsys.readouterr().out
    assert "treebank: UD English-EWT r2.16" in out
    assert "licence: CC BY-SA 4.0" in out


@pytest.mark.parametrize("content", ["", "1\tw\n\n"], ids=["empty", "broken"])
def test_a_bad_conllu_file_is_not_taken_for_text(
    content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "bad.conllu", tmp_path / "out.conllu"
    source.write_text(content)
    assert run(["parse", str(source), "--output", str(target)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not target.exists()


@pytest.mark.slow
@pytest.mark.treebanks
def test_scores_on_the_test_part(treebanks: Path) -> None:
    scores = raw_text_scores(arcwise.load("en"), Treebank.read(treebanks / "English-EWT" / "test.conllu.xz"))
    for metric, least in {
        "Tokens": 99,
        "Words": 98.9,
        "Sentences": 88.5,
        "UPOS": 94.5,
        "UFeats": 95,
        "Lemmas": 96,
        "UAS": 83,
        "LAS": 79.5,
    }.items():
        assert scores[metric] >= least, scores
