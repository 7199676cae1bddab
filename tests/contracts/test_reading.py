"""A tagger and every kind of parser read words by their stand-ins, and leave the words as they are."""

from pathlib import Path
from typing import Any

import pytest

from arcwise.features.look_alikes import LookAlikes
from arcwise.graph import GraphConfig, GraphParser
from arcwise.learning.progress import Progress
from arcwise.models import open_model
from arcwise.models.train_pipeline import PipelineConfig, train_pipeline
from arcwise.parsing.parser import ParseOptions
from arcwise.text.tagger import Tagger
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Treebank
from neural.random_models import random_parser
from text.toy import toy_treebank

READ = LookAlikes({"’": "'", "٪": "s"})


def other(treebank: Treebank) -> Treebank:
    """The same with words that READ takes for those of the treebank."""
    forms = [form.replace("'", "’").replace("s", "٪") for form in treebank.column("form")]
    return treebank.annotate(form=forms)


def words_alone() -> Treebank:
    """Nothing but the words tells what they are."""
    treebank = toy_treebank()
    return treebank.annotate(
        **{name: ["X"] * treebank.word_count for name in ("lemma", "upos", "xpos", "feats")}
    )


def makers() -> dict[str, Any]:
    """Parsers that look at words alone: as tags and lemmas do not tell them apart."""
    return {
        "graph": lambda: GraphParser.train(words_alone(), config=GraphConfig(epochs=1)),
        "transition": lambda: TransitionParser.train(
            words_alone(), config=TransitionConfig(epochs=1, word_dropout=0.0, seed=3)
        ),
        "neural": lambda: random_parser(treebank=toy_treebank(), inputs=("lower", "suffix2")),
        "neural-tags": lambda: random_parser(
            treebank=toy_treebank(), inputs=("lower",), learns=("upos", "lemma")
        ),
        "neural-ensemble": lambda: random_parser(treebank=toy_treebank(), inputs=("lower",), members=2),
    }


@pytest.mark.parametrize("kind", makers())
def test_parsers(kind: str, tmp_path: Path) -> None:
    plain = makers()[kind]()
    known = (toy_treebank() if kind.startswith("neural") else words_alone())[-40:]
    strange = other(known)
    expected = plain.parse(known)
    parser = plain.reading(READ)
    parsed = parser.parse(strange)
    assert parsed.column("form") == strange.column("form")
    for column in ("head", "deprel", "upos", "lemma"):
        assert parsed.column(column) == expected.column(column)
    assert plain.parse(strange).column("head") != expected.column("head")  # or there is nothing to see
    parser.save(tmp_path / "model")
    assert open_model(tmp_path / "model").parse(strange).data == parsed.data
    if parser.capabilities.k_best:
        both = [p.parse(b, options=ParseOptions(k_best=2)) for p, b in ((plain, known), (parser, strange))]
        assert both[0].column("head") == both[1].column("head")
    if parser.capabilities.distributions:
        a, b = plain.distributions(known), parser.distributions(strange)
        assert [m.tolist() for m in a.marginals] == [m.tolist() for m in b.marginals]


def test_the_tagger_and_its_lemmas() -> None:
    treebank = toy_treebank()
    tagger = Tagger.train(treebank)
    assert tagger.look_alikes.stand_ins["’"] == "'"
    text = Treebank.from_string(
        "1\tdo\t_\t_\t_\t_\t_\t_\t_\t_\n2\tn’t\t_\t_\t_\t_\t_\t_\t_\t_\n3\tRobin’s\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    )
    tagged = tagger.tag(text)
    plain = tagger.tag(text.annotate(form=["do", "n't", "Robin's"]))
    assert tagged[0].forms == ["do", "n’t", "Robin’s"]
    assert tagged[0].lemmas == plain[0].lemmas
    assert tagged[0].lemmas[1] == "not"
    assert tagged[0].upos == plain[0].upos
    assert Tagger.unpack(tagger.pack()).tag(text).data == tagged.data
    assert tagger.reading(LookAlikes()).tag(text)[0].lemmas != plain[0].lemmas


def test_a_pipeline_learns_from_words_as_it_reads_them() -> None:
    config = PipelineConfig(jackknife=2)
    rare = other(toy_treebank()).data.replace("٪".encode(), b"s")
    once = rare[: rare.index(b"\n\n") + 2].replace(b"The", "Th’e".encode())
    train = Treebank(toy_treebank().data + once)
    nlp = train_pipeline(train, None, config=config, parser={"epochs": 1}, progress=Progress(shown=False))
    assert nlp.tokenizer.look_alikes == nlp.tagger.look_alikes == nlp.parser.model.look_alikes  # type: ignore[attr-defined]
    assert nlp.tagger.look_alikes.stand_ins["’"] == "'"
    straight, curly = nlp("Dogs don't see cats!"), nlp("Dogs don’t see cats!")
    assert curly[0].forms == ["Dogs", "do", "n’t", "see", "cats", "!"]
    assert curly[0].tree.heads.tolist() == straight[0].tree.heads.tolist()
    assert curly[0].lemmas == straight[0].lemmas
