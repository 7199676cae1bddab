"""The assistant says what a parse around the decisions says, whatever the parser."""

import numpy as np
import pytest

from annotation.decided import sentence_of
from arcwise.annotation.assistant import Assistant
from arcwise.annotation.states import ArcDecisions, only_decided
from arcwise.parsing import ParseOptions
from arcwise.parsing.misc_form import sentence_alternatives
from arcwise.parsing.parser import TAGS
from arcwise.treebanks import Treebank
from contracts.every_parser import PARSERS
from contracts.small_treebank import partial, small_treebank

SCORED = [name for name in PARSERS if name.startswith(("graph", "neural")) or name == "pipeline"]
OTHERS = ["transition-arc-standard", "dmv"]
SAYS_ALL = ParseOptions(keep=(*TAGS, "head", "deprel"), confidence=True, alternatives=10)


@pytest.fixture(scope="module", params=SCORED)
def parser(request):
    try:
        return PARSERS[request.param]()
    except ImportError as error:
        pytest.skip(str(error))


def pairs(misc):
    return dict(pair.partition("=")[::2] for pair in misc.split("|"))


@pytest.mark.parametrize("decided", ["all", "some", "labels", "none"])
def test_the_assistant_says_what_parse_says(parser, decided):
    treebank = small_treebank(crossing=True)
    if decided == "some":
        treebank = partial(treebank)
    if decided == "labels":
        treebank = treebank.annotate(heads=np.full(treebank.word_count, -1, np.int32))
    if decided == "none":
        blank = ["_"] * treebank.word_count
        treebank = treebank.annotate(heads=np.full(treebank.word_count, -1, np.int32), deprel=blank)
    parsed = parser.parse(treebank, options=SAYS_ALL)
    assistant = Assistant(parser)
    for before, after in zip(treebank, parsed, strict=True):
        thoughts = assistant.suggest(before)
        assert [own.head for own in thoughts.words] == after.heads[1:].tolist()
        if assistant.labels:
            assert [own.label for own in thoughts.words] == after.deprels
        assert f"{thoughts.probability:.6g}" == after.comments["tree_prob"]
        assert f"{thoughts.entropy / np.log(2):.4f}" == after.comments["tree_entropy"]
        written = sentence_alternatives(after)
        assert written is not None
        for own, misc, others in zip(thoughts.words, after.misc, written, strict=True):
            known = pairs(misc)
            assert f"{own.probability:.4f}" == known["HeadProb"]
            if assistant.labels:
                assert f"{own.label_probability:.4f}" == known["DeprelProb"]
            shares = [p for _, _, p in own.alternatives]
            assert shares == pytest.approx([p for _, _, p in others if p >= 0.001][: len(shares)], abs=6e-5)
        assert (thoughts.note is None) == ("parse_note" not in after.comments)


def test_proposals_in_the_file_are_no_decisions(parser):
    treebank = small_treebank()
    proposed = parser.parse(treebank, options=ParseOptions(keep=TAGS, confidence=True))
    open_ones = only_decided(proposed)
    assert (open_ones.heads < 0).all()
    assistant = Assistant(parser)
    for own in proposed:
        thoughts = assistant.suggest(own)
        assert not any(word.decided_head for word in thoughts.words)
        assert [word.head for word in thoughts.words] == own.heads[1:].tolist()


def test_missing_tags_are_proposed_by_a_pipeline():
    pipeline = PARSERS["pipeline"]()
    words = Treebank.from_string(small_treebank()[0].to_conllu().replace("NOUN", "_"))
    thoughts = Assistant(pipeline).suggest(words[0])
    tagged = pipeline.parse(words, options=ParseOptions(keep=TAGS, confidence=True))[0]
    assert thoughts.words[1].tags["upos"] == tagged.upos[1]
    assert thoughts.words[1].upos_probability == float(pairs(tagged.misc[1])["UposProb"])
    assert "upos" not in thoughts.words[0].tags
    assert thoughts.words[0].upos_probability is None


def test_missing_tags_are_proposed_by_a_network_that_learned_them():
    parser = PARSERS["neural-tags"]()
    words = Treebank.from_string(small_treebank()[0].to_conllu().replace("NOUN", "_"))
    thoughts = Assistant(parser).suggest(words[0])
    written = parser.parse(words, options=ParseOptions(keep=TAGS))[0]
    assert [own.tags.get("upos", "_") for own in thoughts.words] == ["_", written.upos[1], "_"]


@pytest.mark.parametrize("name", OTHERS)
def test_other_parsers_propose_trees_and_say_that_there_is_no_more(name):
    assistant = Assistant(PARSERS[name]())
    assert not assistant.gives_probabilities
    sentence = partial(small_treebank())[1]
    thoughts = assistant.suggest(sentence, gains=True)
    decisions = ArcDecisions.of(sentence)
    for own, head, label in zip(thoughts.words, decisions.heads, decisions.labels, strict=True):
        assert own.probability is None
        assert own.gain is None
        assert own.alternatives == ()
        assert own.head == head if head >= 0 else own.head >= 0
        assert own.label == label if label != "_" else True
    assert thoughts.note is not None
    assert "without probabilities or alternatives" in thoughts.note
    assert assistant.explain_changes(sentence) == ()
    assert assistant.reconsider(sentence, 2).decided_head is False
    assert assistant.suggest(sentence_of([2, 1])).clash == (1, 2)
