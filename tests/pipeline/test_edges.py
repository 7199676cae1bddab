"""What people hand to parsers besides treebanks; what they see when they print an object or ask for help."""

from __future__ import annotations

import io
import pickle
import pydoc
from typing import Any

import pytest

from arcwise import InputError, Sentence, Treebank
from arcwise.errors import OptionError
from arcwise.graph import GraphConfig, GraphParser
from arcwise.induction.dmv import DMV
from arcwise.induction.parser import DmvParser
from arcwise.parsing import FunctionScorer, ScoredParser
from arcwise.pipeline.pipeline import Pipeline
from arcwise.text.tagger import Tagger
from arcwise.text.tokenizer import Tokenizer
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks.exchange import to_pandas

ROWS = "1\tBirds\tbird\tNOUN\tN\t_\t2\tnsubj\t_\t_\n2\tsing\tsing\tVERB\tV\t_\t0\troot\t_\t_\n\n"
GOLD = Treebank.from_string(9 * ROWS)
WORDS = [["Birds", "sing"], ["Birds", "sing"]]


@pytest.fixture(scope="module")
def graph() -> GraphParser:
    return GraphParser.train(GOLD, config=GraphConfig(epochs=2, arc_bits=12, row_bits=12))


@pytest.fixture(scope="module")
def transition() -> TransitionParser:
    return TransitionParser.train(GOLD, config=TransitionConfig(epochs=2, move_bits=12, label_bits=10))


@pytest.fixture(scope="module")
def nlp(graph: GraphParser) -> Pipeline:
    card = {"language": "Toy", "treebank": "Birds"}
    return Pipeline(Tokenizer.train(GOLD), Tagger.train(GOLD), graph, card=card)


@pytest.fixture(params=["pipeline", "graph", "transition", "dmv"])
def parser(request: pytest.FixtureRequest, nlp: Any, graph: Any, transition: Any) -> Any:
    return {
        "pipeline": nlp,
        "graph": graph,
        "transition": transition,
        "dmv": DmvParser(DMV.uniform(("NOUN", "VERB", "_"))),
    }[request.param]


def test_lists_of_words_and_of_sentences_are_parsed(parser: Any, nlp: Pipeline) -> None:
    tags = ["NOUN", "VERB"]  # without which a grammar has nothing to go by
    words = [Sentence.from_words(own, upos=tags) for own in WORDS] if parser.kind == "dmv" else WORDS
    parsed = parser.parse(words)
    assert [sentence.forms for sentence in parsed] == WORDS
    assert (parsed.heads >= 0).all()
    tagged = nlp.parse(WORDS)
    for given in (list(tagged), tuple(tagged), nlp("Birds sing"), tagged[0]):
        assert set(parser.parse(given).column("form")) == {"Birds", "sing"}


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("Birds sing", r"treebank: found text, .*; a pipeline parses text when it is called: nlp\(text\)"),
        (["Birds", "sing"], r"treebank: found a list of strings, .*: \[\['Birds', 'sing'\]\]"),
        ([], "treebank: found an empty list"),
        (None, "treebank: found NoneType, expected a Treebank"),
        (3, "treebank: found int, expected a Treebank"),
        (io.StringIO(ROWS), "treebank: found StringIO, expected a Treebank"),
        ([["Birds"], []], r"treebank\[1\]: found \[\], expected a Sentence or a list of words"),
        ([["Birds", 3]], r"treebank\[0\]: found \['Birds', 3\]"),
        ([GOLD[0], None], r"treebank\[1\]: found None"),
    ],
)
def test_what_is_no_treebank_is_refused(parser: Any, given: Any, what: str) -> None:
    for method in (parser.parse, parser.analyse):
        with pytest.raises(InputError, match=what):
            method(given)
    with pytest.raises(InputError, match=what):
        to_pandas(given)


def test_pandas_takes_a_document(nlp: Pipeline) -> None:
    pytest.importorskip("pandas")
    table = to_pandas(nlp("Birds sing"))
    assert table["form"].tolist()[:2] == ["Birds", "sing"]
    assert to_pandas(GOLD[:1]).equals(to_pandas(GOLD[0]))
    assert to_pandas(Sentence.from_words(["Birds"]))["head"].tolist() == [-1]


def test_representations(nlp: Pipeline, graph: GraphParser, transition: TransitionParser) -> None:
    assert repr(graph) == "<GraphParser: trained by mira, 2 labels, 2 tags>"
    assert repr(transition).startswith("<TransitionParser: ")
    assert "2 labels" in repr(transition)
    assert repr(nlp).startswith(
        "<Pipeline for Toy, Birds: <Tokenizer without multiword tokens>, <Tagger: 2 UPOS,"
    )
    assert repr(nlp).endswith(f"{graph!r}>")
    assert repr(ScoredParser(FunctionScorer(len))).startswith("<ScoredParser: FunctionScorer, map, ")
    assert repr(DMV.uniform(("N", "V"))) == "<DMV over 2 tags: N V>"
    for thing in (graph, graph.model, transition, transition.model, nlp):
        assert len(repr(thing)) < 400
        assert " object at 0x" not in repr(thing)


def test_configurations_show_what_was_changed() -> None:
    assert repr(GraphConfig()) == "GraphConfig()"
    assert repr(GraphConfig(epochs=3, trainer="perceptron")) == "GraphConfig(trainer='perceptron', epochs=3)"
    assert repr(TransitionConfig(beam=4)) == "TransitionConfig(beam=4)"


@pytest.mark.parametrize("kind", [GraphParser, TransitionParser, Pipeline, ScoredParser])
def test_help_is_readable(kind: type[Any]) -> None:
    """No line that does not fit on a page: defaults are short, and every public method says what it does."""
    lines = pydoc.render_doc(kind, renderer=pydoc.plaintext).splitlines()
    assert max(map(len, lines)) < 300
    for name, member in vars(kind).items():
        if callable(member) and not name.startswith("_"):
            assert member.__doc__, name


@pytest.mark.parametrize(
    "text",
    ["", " ", "\n \t\n", "a\x00b c", "half \ud800 a pair", "\ufeffmark", " a  b ", "a" + " b" * 150_000],
    ids=["empty", "blank", "lines", "nul", "surrogate", "mark", "spaces", "long"],
)
def test_the_text_of_a_document_is_the_text(nlp: Pipeline, text: str) -> None:
    document = nlp(text)
    assert document.text == text
    for token in document.tokens[:20]:
        assert len(text[token.start : token.end]) == len(token.form)
    assert next(nlp.pipe([text])).text == text
    assert pickle.loads(pickle.dumps(document)).text == text


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, None])
def test_threads_are_a_number_from_one(
    nlp: Pipeline, graph: GraphParser, transition: TransitionParser, threads: Any
) -> None:
    grammar = DmvParser(DMV.uniform(("NOUN", "VERB")))
    for parse in (
        lambda: nlp("Birds sing.", threads=threads),
        lambda: nlp.parse([["Birds"]], threads=threads),
        lambda: list(nlp.pipe(["Birds sing."], threads=threads)),
        lambda: graph.parse([["Birds"]], threads=threads),  # type: ignore[arg-type]
        lambda: transition.parse([["Birds"]], threads=threads),  # type: ignore[arg-type]
        lambda: grammar.parse([["Birds"]], threads=threads),  # type: ignore[arg-type]
    ):
        with pytest.raises(OptionError, match=f"threads: found {threads}, expected a whole number"):
            parse()


def test_an_empty_word_is_refused(nlp: Pipeline) -> None:
    with pytest.raises(InputError, match=r"treebank\[1\]: found an empty word at 2, expected text"):
        nlp.parse([["Birds"], ["a", "b", ""]])
    with pytest.raises(InputError, match="forms: found an empty word at 0"):
        Sentence.from_words(["", "a"])
