"""Tags come from the pass that makes the trees, and are what a pass of their own gives."""

from __future__ import annotations

import numpy as np
import pytest
from tests.neural.random_models import random_parser, small_treebank

from arcwise.inference import Constraints
from arcwise.neural.scorer import EnsembleScorer
from arcwise.neural.tags import TagAlphabets
from arcwise.parsing import ParseOptions
from arcwise.treebanks import Treebank

OPTIONS = {
    "trees": ParseOptions(),
    "confidences": ParseOptions(confidence=True),
    "alternatives": ParseOptions(alternatives=2),
    "k best": ParseOptions(k_best=3),
    "kept tags": ParseOptions(keep=("upos",)),
    "minimum risk": ParseOptions(decode="mbr"),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("threads", [1, 3])
def test_one_pass_gives_what_two_give(
    options: ParseOptions, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    treebank = small_treebank()
    parser, other = (random_parser(learns=("upos",), seed=13) for _ in range(2))
    monkeypatch.setattr(other, "_tagging", lambda: other)
    found = parser.parse(treebank, options=options, threads=threads)
    assert found.data == other.parse(treebank, options=options, threads=threads).data
    assert (list(found.column("upos")) == list(treebank.column("upos"))) is ("upos" in options.kept)


def test_the_trees_need_no_second_pass_for_the_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a pass for the tags alone")

    monkeypatch.setattr(EnsembleScorer, "tags", refused)
    parser = random_parser(learns=("upos",), seed=13)
    parser.parse(small_treebank(), options=ParseOptions(confidence=True))


def test_tags_of_all_sentences_though_some_are_parsed_apart() -> None:
    treebank = small_treebank()
    parser = random_parser(learns=("upos",), seed=13)
    decided = [Constraints(required=[(0, 1)]), *[None] * (len(treebank) - 1)]
    found = parser.parse(treebank, constraints=decided)
    assert list(found.column("upos")) == list(parser.parse(treebank).column("upos"))


def test_bundles_of_features_are_those_of_each_word_however_many_attributes() -> None:
    """Forty attributes of nine values each: more bundles than there are numbers."""
    random = np.random.default_rng(3)
    names = tuple(f"feats.{chr(65 + i // 10)}{i % 10}" for i in range(40))
    tags = TagAlphabets(names, tuple(("", *"abcdefgh") for _ in names))
    codes = [random.integers(0, 9, 30).astype(np.int32) for _ in names]
    for one in codes:
        one[20:] = one[:10]  # the same words again
    coded = tags.annotations(small_treebank(), codes)["feats"]
    for word, code in enumerate(coded.codes):
        pairs = [f"{n[6:]}={tags.values[i][codes[i][word]]}" for i, n in enumerate(names) if codes[i][word]]
        assert coded.strings[code] == "|".join(pairs)
    assert len(coded.strings) == 20


def test_features_are_as_probable_as_all_attributes_together() -> None:
    values = ("", "a")
    tags = TagAlphabets(("upos", "feats.Case", "lemma", "feats.Number"), (values, values, values, values))
    by_tag = [np.array(shares) for shares in ([0.9, 1.0], [0.5, 0.8], [0.7, 0.6], [0.4, 0.5])]
    probabilities = tags.probabilities(by_tag)
    assert list(probabilities) == ["upos", "feats", "lemma"]
    np.testing.assert_allclose(probabilities["upos"], [0.9, 1.0])
    np.testing.assert_allclose(probabilities["feats"], [0.2, 0.4])
    np.testing.assert_allclose(probabilities["lemma"], [0.7, 0.6])


LEMMAS = """1	Birds	bird	NOUN	_	_	2	nsubj	_	_
2	sang	sing	VERB	_	_	0	root	_	_
3	songs	song	NOUN	_	_	2	obj	_	_

1	Birds	bird	NOUN	_	_	2	nsubj	_	_
2	sang	sing	VERB	_	_	0	root	_	_
3	odd	_	ADJ	_	_	2	obj	_	_

"""


def test_lemmas_are_learned_as_scripts_that_serve_other_words() -> None:
    treebank = Treebank.from_string(LEMMAS)
    tags = TagAlphabets.learn(treebank, ("lemma",))
    (codes,) = tags.codes(treebank)
    assert tags.columns == ("lemma",)
    assert codes[0] == codes[2] == codes[3]  # birds and songs inflect alike
    assert codes[5] == -1  # what is seen once is not learned
    other = Treebank.from_string(LEMMAS.replace("Birds\tbird", "Cats\t_"))
    known = np.where(codes < 0, codes[0], codes)
    assert tags.annotations(other, [known])["lemma"].strings[:3] == ["cat", "sing", "song"]
    assert TagAlphabets.read({"names": tags.names, "values": tags.values}) == tags


def test_no_lemmas_no_scripts() -> None:
    assert TagAlphabets.learn(small_treebank(), ("lemma",)) == TagAlphabets()


@pytest.mark.parametrize("script", ["x", "[]", '["l", 0, 2, "", "e"]', '["x", 0, 2, "", "e", false]'])
def test_what_is_no_script_is_refused(script: str) -> None:
    with pytest.raises(ValueError, match=r"expected a lemma script|Expecting value"):
        TagAlphabets.read({"names": ["lemma"], "values": [[script]]})
