"""Options of a neural parser: what stands for None, what cannot be, TOML. Wrong values one by one:
tests/learning/test_options.py."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from arcwise.errors import InputError, OptionError
from arcwise.learning.config import from_dict, from_toml, to_dict
from arcwise.neural import NeuralConfig

BY_WORDS = ("dropout", "word_dropout", "epochs", "batch_words")


@pytest.mark.parametrize("size", ["small", "base", "large"])
def test_after_resolved_nothing_is_left_open(size: Any) -> None:
    config = NeuralConfig(size=size)
    for words in (1, 1_000, 30_000, 80_000, 200_000, 5_000_000):
        found = config.resolved(words)
        assert [f.name for f in fields(found) if getattr(found, f.name) is None] == ["encoder"]
        assert found.resolved(words) == found
        assert found.sizes == (found.layers, found.hidden, found.arc_size, found.label_size)


def test_sizes_grow_and_small_treebanks_want_more_dropout() -> None:
    sizes = [NeuralConfig(size=size).resolved(10**6).hidden or 0 for size in ("small", "base", "large")]  # type: ignore[arg-type]
    assert sizes == sorted(set(sizes))
    few, many = (NeuralConfig().resolved(words) for words in (10_000, 300_000))
    for name in ("dropout", "word_dropout", "epochs"):
        assert getattr(few, name) > getattr(many, name)
    assert (few.batch_words or 0) < (many.batch_words or 0)


def test_what_depends_on_words_goes_steadily_from_one_value_to_the_other() -> None:
    found = [NeuralConfig().resolved(words) for words in range(1_000, 400_000, 7_000)]
    for name in BY_WORDS:
        values = [getattr(one, name) for one in found]
        assert values in (sorted(values), sorted(values, reverse=True))
    assert NeuralConfig().resolved(1) == NeuralConfig().resolved(1)


def test_what_is_given_stays() -> None:
    given = NeuralConfig(hidden=7, dropout=0.0, epochs=3, batch_words=11)
    found = given.resolved(50_000)
    assert (found.hidden, found.dropout, found.epochs, found.batch_words) == (7, 0.0, 3, 11)
    assert found.layers == NeuralConfig().resolved(50_000).layers


def test_vectors_have_the_size_of_their_kind() -> None:
    config = NeuralConfig(word_size=3, affix_size=4, tag_size=5)
    atoms = ("form", "lower", "lemma", "prefix2", "suffix4", "shape", "upos", "feats.Case", "misc.K")
    assert [config.vector_size(atom) for atom in atoms] == [3, 3, 3, 4, 4, 4, 5, 5, 5]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"inputs": ()}, "inputs: found none, expected at least one"),
        ({"inputs": ("upos", "upos")}, "inputs: found upos, upos, expected each once"),
        ({"inputs": ("magic",)}, "inputs: found .*magic"),
        ({"size": "huge"}, "size: found 'huge', expected one of small, base, large"),
        ({"objective": "mse"}, "objective: found 'mse'"),
        ({"device": "tpu"}, "device: found 'tpu', expected one of auto, cpu, cuda"),
        ({"learns": ("deprel",)}, "learns: found .*'deprel'"),
        ({"dropout": 1.0}, "dropout: found 1.0"),
        ({"average": 1.0}, "average: found 1.0"),
        ({"learning_rate": 0.0}, "learning_rate: found 0.0"),
        ({"clusters": 0}, "clusters: found 0"),
        ({"ensemble": 65}, "ensemble: found 65"),
        ({"order": 3}, "order: found 3"),
        ({"order": 2, "objective": "hinge"}, "objective: found 'hinge' with order 2, expected likelihood"),
        ({"order": 2, "encoder": "folder"}, "encoder: found a transformer with order 2, expected none"),
    ],
)
def test_bad_values_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises((OptionError, InputError), match=message):
        NeuralConfig(**options)


def test_from_toml_and_back(tmp_path: Path) -> None:
    path = tmp_path / "neural.toml"
    path.write_text('size = "small"\ninputs = ["lower", "feats.Case"]\nlearns = ["upos"]\ndropout = 0.5\n')
    config = from_toml(NeuralConfig, path)
    assert config == NeuralConfig(size="small", inputs=("lower", "feats.Case"), learns=("upos",), dropout=0.5)
    assert from_dict(NeuralConfig, to_dict(config), where="") == config
    resolved = config.resolved(10_000)
    assert from_dict(NeuralConfig, to_dict(resolved), where="") == resolved
    path.write_text("hiden = 3\n")
    with pytest.raises(InputError, match=r"hiden.*hidden"):
        from_toml(NeuralConfig, path)


def test_options_that_training_would_not_read_are_refused() -> None:
    config = NeuralConfig(labelled=False, clusters=2, device="cpu")
    with pytest.raises(OptionError, match=r"clusters: .*without labels there are no clusters"):
        config.refuse_unread()
    assert replace(config, clusters=1).clusters == 1
    with pytest.raises(OptionError, match=r"sibling_size: .*order 1 scores no siblings"):
        NeuralConfig(sibling_size=3, device="cpu").refuse_unread()
    with pytest.raises(OptionError, match="order: found 2 with a teacher, expected 1"):
        NeuralConfig(order=2).check_distillation()


def test_order_2_means_projective_trees() -> None:
    assert NeuralConfig(order=2).resolved(1000).projective
    assert not NeuralConfig().resolved(1000).projective
