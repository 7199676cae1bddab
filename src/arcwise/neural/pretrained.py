"""``Pretrained``: a transformer in a folder on disk, before it is fine-tuned. Nothing is downloaded, no code of the folder is run."""

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
        """That of a folder, of whose last ``layers`` layers the mean will be taken; ``OptionError`` if it is none that can be used."""
        check_folder(folder)
        from arcwise.neural.transformer_encoder import position_limit, read_transformer

        model = read_transformer(folder)
        config = json.loads(model.config.to_json_string(use_diff=False))
        config = {name: value for name, value in config.items() if not name.startswith("_")}
        if layers > int(model.config.num_hidden_layers):
            has = f"but {folder} has {model.config.num_hidden_layers} layers"
            raise OptionError("encoder_layers", f"found {layers}, {has}")
        weights = {name: p.detach().float().numpy() for name, p in model.named_parameters()}
        transformer = Transformer(
            config,
            (Path(folder) / TOKENIZER).read_text(encoding="utf-8"),
            min(filter(None, (position_limit(model), _told_limit(folder)))),
            int(model.config.hidden_size),
            tuple((name, values.shape) for name, values in weights.items()),
        )
        _check_pieces(folder, transformer, known=int(model.get_input_embeddings().weight.shape[0]))
        return cls(transformer, weights)

    @cached_property
    def digest(self) -> str:
        """A fingerprint of everything in it."""
        found = sha256(json.dumps(self.transformer.header(), sort_keys=True).encode())
        found.update(self.transformer.tokenizer.encode())
        for values in self.weights.values():
            found.update(np.ascontiguousarray(values).tobytes())
        return found.hexdigest()


def check_folder(folder: str) -> None:
    """``OptionError`` unless a folder has the files of a transformer that can be used; ``MissingExtraError`` without the libraries."""
    require("torch", "transformers")
    path = Path(folder)
    if not path.is_dir():
        kind = "a file" if path.exists() else "no such folder"
        raise _refused(folder, f"{kind}, expected a folder with {CONFIG}, {WEIGHTS[0]} and {TOKENIZER}")
    config = _read_json(folder, CONFIG)
    if not isinstance(config.get("model_type"), str):
        raise _refused(folder, f"{CONFIG} has no model_type, expected the configuration of a transformer")
    if config.get("is_encoder_decoder"):
        raise _refused(folder, "reads and writes text (an encoder and a decoder), expected an encoder alone")
    if not any((path / name).is_file() for name in WEIGHTS):
        advice = ""
        if any(path.glob("*.bin")):
            advice = (
                "; it has weights as a pickle (.bin), which may run any code and is not read: "
                "save it again by save_pretrained of transformers, which writes safetensors"
            )
        raise _refused(folder, f"has no {WEIGHTS[0]}{advice}")
    if not (path / TOKENIZER).is_file():
        raise _refused(
            folder,
            f"has no {TOKENIZER}: save its tokenizer by AutoTokenizer.from_pretrained(…).save_pretrained(…), which writes one where it can",
        )
    _read_json(folder, TOKENIZER)


def _check_pieces(folder: str, transformer: Transformer, *, known: int) -> None:
    """``OptionError`` if the tokenizer is no tokenizer, or not that of the transformer, which has ``known`` pieces, or leaves no room
    for words."""
    pieces = transformer.pieces
    try:
        highest, room = pieces.highest, pieces.room
    except Exception as error:  # whatever tokenizers says of a file
        raise _refused(folder, f"{TOKENIZER} is not understood ({_short(error)})") from error
    if highest >= known:
        raise _refused(folder, f"{TOKENIZER} has {highest + 1} pieces, but the transformer knows {known}")
    if room < 1:
        special = transformer.window - room
        raise _refused(
            folder,
            f"takes {transformer.window} pieces at once, {special} of them special: no room for a word, expected more",
        )


def _told_limit(folder: str) -> int | None:
    """Pieces at once as the tokenizer's settings tell, if they do."""
    if not (Path(folder) / _SETTINGS).is_file():
        return None
    told = _read_json(folder, _SETTINGS).get("model_max_length")
    return told if isinstance(told, int) and told > 0 else None


def _read_json(folder: str, name: str) -> dict[str, Any]:
    path = Path(folder) / name
    if not path.is_file():
        raise _refused(folder, f"has no {name}, expected {CONFIG}, {WEIGHTS[0]} and {TOKENIZER}")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _refused(folder, f"{name} is no JSON ({_short(error)})") from error
    if not isinstance(found, dict):
        raise _refused(folder, f"{name} is a {type(found).__name__}, expected an object")
    return found


def _refused(folder: str, reason: str) -> OptionError:
    return OptionError(_OPTION, f"{folder}: {reason}")


def _short(error: Exception) -> str:
    """The first line of a message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
