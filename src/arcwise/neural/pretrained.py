"""``Pretrained``: a pretrained transformer in a local folder.

arcwise downloads nothing and runs no code from the folder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.errors import OptionError
from arcwise.neural.transformer import Transformer
from arcwise.optional import require

CONFIG, TOKENIZER = "config.json", "tokenizer.json"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
_OPTION = "encoder"
_SETTINGS = "tokenizer_config.json"


@dataclass(frozen=True)
class Pretrained:
    """A transformer with its weights."""

    transformer: Transformer
    weights: Mapping[str, npt.NDArray[np.float32]]

    @classmethod
    def read(cls, folder: str, *, layers: int = 1) -> Pretrained:
        """Read a folder; ``OptionError`` if it has no usable transformer or fewer than ``layers`` layers."""
        check_folder(folder)
        from arcwise.neural.transformer_encoder import position_limit, read_transformer

        model = read_transformer(folder)
        config = json.loads(model.config.to_json_string(use_diff=False))
        config = {name: value for name, value in config.items() if not name.startswith("_")}
        if layers > int(model.config.num_hidden_layers):
            available = f"but {folder} has {model.config.num_hidden_layers} layers"
            raise OptionError("encoder_layers", f"found {layers}, {available}")
        weights = {name: p.detach().float().numpy() for name, p in model.named_parameters()}
        transformer = Transformer(
            config,
            (Path(folder) / TOKENIZER).read_text(encoding="utf-8"),
            min(filter(None, (position_limit(model), _tokenizer_limit(folder)))),
            int(model.config.hidden_size),
            tuple((name, values.shape) for name, values in weights.items()),
        )
        _check_pieces(folder, transformer, embeddings=int(model.get_input_embeddings().weight.shape[0]))
        return cls(transformer, weights)

    @cached_property
    def digest(self) -> str:
        """Fingerprint of configuration, tokenizer and weights."""
        digest = sha256(json.dumps(self.transformer.header(), sort_keys=True).encode())
        digest.update(self.transformer.tokenizer.encode())
        for values in self.weights.values():
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()


def check_folder(folder: str) -> None:
    """Check that a folder has the files of a usable transformer, without loading the weights.

    Raises ``OptionError`` if not, and ``MissingExtraError`` if torch or transformers is not installed.
    """
    require("torch", "transformers")
    path = Path(folder)
    if not path.is_dir():
        problem = "is a file" if path.exists() else "no such folder"
        raise _unusable(folder, f"{problem}, expected a folder with {CONFIG}, {WEIGHTS[0]} and {TOKENIZER}")
    config = _read_json(folder, CONFIG)
    if not isinstance(config.get("model_type"), str):
        raise _unusable(folder, f"{CONFIG} has no model_type, expected the configuration of a transformer")
    if config.get("is_encoder_decoder"):
        raise _unusable(folder, "has an encoder and a decoder, expected an encoder-only transformer")
    if not any((path / name).is_file() for name in WEIGHTS):
        advice = ""
        if any(path.glob("*.bin")):
            advice = (
                "; its weights are a pickle (.bin), which arcwise does not load because it may run code: "
                "convert it with save_pretrained from transformers, which writes safetensors"
            )
        raise _unusable(folder, f"has no {WEIGHTS[0]}{advice}")
    if not (path / TOKENIZER).is_file():
        raise _unusable(
            folder,
            f"has no {TOKENIZER}: save its tokenizer with "
            "AutoTokenizer.from_pretrained(…).save_pretrained(…), which writes one where possible",
        )
    _read_json(folder, TOKENIZER)


def _check_pieces(folder: str, transformer: Transformer, *, embeddings: int) -> None:
    """Check that the tokenizer is valid, fits the transformer's embeddings and leaves room for words."""
    pieces = transformer.pieces
    try:
        highest, room = pieces.highest, pieces.room
    except Exception as error:  # the tokenizers library raises bare Exception for a bad file
        raise _unusable(folder, f"{TOKENIZER} is not a valid tokenizer ({first_line(error)})") from error
    if highest >= embeddings:
        raise _unusable(
            folder,
            f"{TOKENIZER} has {highest + 1} pieces, but the transformer has embeddings for {embeddings}",
        )
    if room < 1:
        special = transformer.window - room
        raise _unusable(
            folder,
            f"the window of {transformer.window} pieces has {special} special ones and no room for words",
        )


def _tokenizer_limit(folder: str) -> int | None:
    """Maximum input length in pieces according to the tokenizer's settings, if stated."""
    if not (Path(folder) / _SETTINGS).is_file():
        return None
    limit = _read_json(folder, _SETTINGS).get("model_max_length")
    return limit if isinstance(limit, int) and limit > 0 else None


def _read_json(folder: str, name: str) -> dict[str, Any]:
    path = Path(folder) / name
    if not path.is_file():
        raise _unusable(folder, f"has no {name}, expected {CONFIG}, {WEIGHTS[0]} and {TOKENIZER}")
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _unusable(folder, f"{name} is not valid JSON ({first_line(error)})") from error
    if not isinstance(value, dict):
        raise _unusable(folder, f"{name} is a {type(value).__name__}, expected an object")
    return value


def _unusable(folder: str, reason: str) -> OptionError:
    return OptionError(_OPTION, f"{folder}: {reason}")


def first_line(error: Exception) -> str:
    """Return the first line of an error's message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
