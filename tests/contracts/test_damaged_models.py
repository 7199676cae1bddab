"""A damaged model is refused when it is opened, in one sentence, or it parses; it never ends the process."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arcwise.cli.main import run
from arcwise.errors import ModelError
from arcwise.learning.model_file import Packed, write_model
from arcwise.models.registry import open_model, open_packed
from contracts.damaged_models import KINDS, run_faults
from contracts.every_parser import PARSERS

SAMPLE, MANY = 50, 3500


@pytest.mark.parametrize("kind", KINDS)
def test_a_sample_of_damaged_models_is_refused_or_parses(kind: str) -> None:
    assert run_faults(kind, 0, SAMPLE) == []


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_damaged_models_are_refused_or_parse(kind: str) -> None:
    """24,500 in all."""
    assert len(KINDS) * MANY >= 20_000
    assert run_faults(kind, SAMPLE, MANY) == []


def with_tagger(packed: Packed, **values: Any) -> Packed:
    return replace(packed, header={**packed.header, "tagger": {**packed.header["tagger"], **values}})


def test_a_state_without_bundles_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It led outside an array, and ended the process."""
    packed = PARSERS["pipeline"]().pack("int8")
    tagger = packed.header["tagger"]
    for name in ("bundles_of_state", "scripts_of_upos"):
        damaged = with_tagger(packed, **{name: [[] for _ in tagger[name]]})
        with pytest.raises(ModelError, match=f"{name}: found an empty list"):
            open_packed(damaged)
    write_model(tmp_path / "m.arcwise", damaged)
    (tmp_path / "a.txt").write_text("Birds sing.")
    assert run(["parse", str(tmp_path / "a.txt"), "--model", str(tmp_path / "m.arcwise")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_word_atom_out_of_range_is_refused() -> None:
    """It wrote outside an array."""
    packed = PARSERS["graph-latent"]().pack("int8")
    alphabets = {**packed.header["alphabets"], "word_atom": 10}
    with pytest.raises(ModelError, match="word_atom: found 10, expected a place in atoms"):
        open_packed(replace(packed, header={**packed.header, "alphabets": alphabets}))


@pytest.mark.parametrize("value", ["x", 1, None, []])
def test_a_column_that_does_not_exist_is_refused(value: Any, tmp_path: Path) -> None:
    """The grammar was opened, and the first sentence was refused."""
    grammar = PARSERS["dmv"]()
    packed = grammar.pack("int8")
    with pytest.raises(ModelError, match="column: found"):
        open_packed(replace(packed, header={**packed.header, "column": value}))
    grammar.save(tmp_path / "grammar.json")
    saved = json.loads((tmp_path / "grammar.json").read_text())
    (tmp_path / "damaged.json").write_text(json.dumps({**saved, "column": value}))
    with pytest.raises(ModelError, match=r"damaged\.json: .*column: found"):
        open_model(tmp_path / "damaged.json")


@pytest.mark.parametrize("value", ["x", 1, None, [], True])
def test_a_decoder_that_does_not_exist_is_refused(value: Any) -> None:
    packed = PARSERS["graph-latent"]().pack("int8")
    decoding = {**packed.header["decoding"], "decode": value}
    with pytest.raises(ModelError):
        open_packed(replace(packed, header={**packed.header, "decoding": decoding}))
