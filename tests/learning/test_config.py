"""Configurations from TOML: checked, with the known keys named."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from arcwise.errors import InputError
from arcwise.learning.config import from_dict, from_toml, to_dict


@dataclass(frozen=True)
class Table:
    bits: int = 22


@dataclass(frozen=True)
class Config:
    trainer: Literal["mira", "eg"] = "mira"
    epochs: int = 8
    C: float = 0.01
    templates: tuple[str, ...] = ()
    projective: bool | None = None
    table: Table = field(default_factory=Table)


def test_toml_and_back(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(
        'trainer = "eg"\nC = 1\ntemplates = ["a", "b"]\nprojective = true\n[table]\nbits = 20\n', "utf-8"
    )
    config = from_toml(Config, path, epochs=3, trainer=None)
    assert config == Config("eg", 3, 1.0, ("a", "b"), True, Table(20))
    assert from_dict(Config, to_dict(config)) == config


@pytest.mark.parametrize(
    "text, message",
    [
        ("epoch = 3", "found key 'epoch', expected one of trainer, epochs"),
        ("epochs = 3.5", "epochs: found 3.5, expected a whole number"),
        ("epochs = true", "epochs: found True, expected a whole number"),
        ('trainer = "svm"', "trainer: found 'svm', expected one of mira, eg"),
        ("[table]\nbit = 3", "table: found key 'bit', expected one of bits"),
        ("epochs = ", "is not valid TOML"),
    ],
)
def test_errors_name_the_key_and_what_was_expected(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"c\.toml: ") as error:
        from_toml(Config, path)
    assert message in str(error.value)
