"""Options that look up instead of scoring: rare states, FEATS of a form, places where no sentence ends."""

from __future__ import annotations

import pickle

import pytest

from arcwise.learning.model_file import read_model, write_model
from arcwise.text.tagger import Tagger, TaggerConfig
from arcwise.text.tokenizer import Tokenizer, TokenizerConfig
from arcwise.treebanks import Treebank
from text.toy import toy_treebank

ROW = "1\t{}\t{}\t{}\t_\t{}\t0\troot\t_\t_\n\n"


def words_of(counts: dict[tuple[str, str, str], int]) -> Treebank:
    """One word a sentence: (form, UPOS, FEATS) so many times each."""
    rows = [ROW.format(f, f, u, feats) * count for (f, u, feats), count in counts.items()]
    return Treebank.from_string("".join(rows))


def untagged(*forms: str) -> Treebank:
    return Treebank.from_string("".join(ROW.format(form, "_", "_", "_") for form in forms))


@pytest.mark.parametrize(("share", "upos_probability"), [(0.003, False), (0.1, True)])
def test_a_state_rarer_than_its_share_is_no_candidate(share: float, upos_probability: bool) -> None:
    words = words_of({("set", "NOUN", "_"): 57, ("set", "VERB", "_"): 3, ("go", "VERB", "_"): 9})
    tagger = Tagger.train(words, config=TaggerConfig(rare_state=share, trusted_count=10))
    tags = tagger.tags(untagged("set"))
    # A word with a single state is certain.
    assert (float(tags.upos_probability[0]) == 1.0) == upos_probability


def test_feats_that_never_vary_are_looked_up() -> None:
    words = words_of(
        {
            ("sheep", "NOUN", "Number=Sing"): 4,
            ("sheep", "NOUN", "Number=Plur"): 4,
            ("dogs", "NOUN", "Number=Plur"): 8,
            ("dog", "NOUN", "Number=Sing"): 8,
            ("otter", "NOUN", "Number=Sing"): 2,
        }
    )
    scored = Tagger.train(words)
    looked_up = Tagger.train(words, config=TaggerConfig(bundle_lexicon_count=3))
    assert len(scored._model.bundle_lexicon()[0]) == 0
    assert len(looked_up._model.bundle_lexicon()[0]) == 2  # dog and dogs: sheep varies, otter is rare
    # Without weights the lexicon alone decides, in any case.
    looked_up._model.prune(1e9)
    tagged = looked_up.tag(untagged("dogs", "Dogs", "dog"))
    assert tagged.column("feats") == ["Number=Plur", "Number=Plur", "Number=Sing"]
    # What is kept holds against the lexicon.
    kept = Treebank.from_string(ROW.format("dogs", "_", "NOUN", "Number=Sing"))
    assert looked_up.tag(kept, keep=["upos", "feats"]).column("feats") == ["Number=Sing"]


def test_the_lexicon_of_feats_travels() -> None:
    tagger = Tagger.train(toy_treebank(), config=TaggerConfig(bundle_lexicon_count=2))
    expected = [values.tolist() for values in tagger._model.bundle_lexicon()]
    assert expected[0]
    for copy in (Tagger.unpack(tagger.pack()), pickle.loads(pickle.dumps(tagger))):
        assert [values.tolist() for values in copy._model.bundle_lexicon()] == expected


def test_a_word_that_tables_tell_is_tagged_as_by_scores() -> None:
    bank = toy_treebank()
    tagger = Tagger.train(bank, config=TaggerConfig(bundle_lexicon_count=1))
    tagged = tagger.tag(bank)
    for column in ("upos", "xpos", "feats", "lemma"):
        assert tagged.column(column) == bank.column(column)


def test_no_sentence_ends_where_training_saw_almost_none(tmp_path) -> None:
    bank = toy_treebank()
    tokenizer = Tokenizer.train(bank, config=TokenizerConfig(rare_end=0.01))
    plain = Tokenizer.train(bank)
    assert tokenizer._model.never_ends().any()
    assert not plain._model.never_ends().any()
    # However strongly the weights want to end sentences, none ends between two lower-case letters.
    text = "The dog sees cats. the dog sees cats. Birds don't hear!"
    for model in (tokenizer, plain):
        model._model.sentence_bias = 1000.0
    ends = [[s.forms[-1] for s in model.tokenize(text).treebank] for model in (tokenizer, plain)]
    assert "dog" in ends[1]
    assert "dog" not in ends[0]
    path = tmp_path / "tokenizer"
    write_model(path, tokenizer.pack())
    restored = Tokenizer.unpack(read_model(path))
    assert restored._model.never_ends().tolist() == tokenizer._model.never_ends().tolist()
    assert restored.tokenize(text).treebank.data == tokenizer.tokenize(text).treebank.data
