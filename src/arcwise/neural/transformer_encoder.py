"""``TransformerEncoder``: a transformer over the pieces of words, in PyTorch (Devlin et al. 2019; Kondratyuk & Straka 2019)."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from arcwise.errors import ModelError, OptionError
from arcwise.neural.batch import Batch, Dropout, apply_dropout
from arcwise.neural.pieces import windows
from arcwise.neural.shape import TRANSFORMER
from arcwise.neural.transformer import Transformer

_START = "transformer."
_LONGEST = 512
"""Pieces at once, of a transformer that does not tell."""


class TransformerEncoder(nn.Module):
    """The state of a word is the mean of the vectors of its pieces, each the mean of the last ``layers`` layers; those of the root, and of a
    word that the tokenizer makes nothing of, are learned. A sentence that is too long goes through in windows that overlap."""

    def __init__(self, transformer: Transformer, *, layers: int = 1) -> None:
        super().__init__()
        self.model = make_transformer(transformer.config)
        self.root = nn.Parameter(torch.zeros(transformer.width))
        self.nothing = nn.Parameter(torch.zeros(transformer.width))
        self._pieces, self._layers = transformer.pieces, layers
        self._padding = int(transformer.config.get("pad_token_id") or 0)
        own = tuple((name, tuple(p.shape)) for name, p in self.model.named_parameters())
        if own != transformer.arrays:
            raise ModelError(
                "the transformer of this model has other arrays with the transformers that is installed here, expected one of the version "
                "that it was trained with"
            )

    def start(self) -> None:
        """The root's first vector; the transformer has its weights already."""
        nn.init.normal_(self.root)

    def flatten(self) -> None:
        """There is nothing to do."""

    def load(self, weights: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Take the weights of the transformer as it was before it is fine-tuned."""
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(torch.from_numpy(np.array(weights[name])))

    def parameter_of(self) -> dict[str, Sequence[Any]]:
        """Name of an array (``NetworkShape``) → the parameters whose sum it is."""
        found: dict[str, Sequence[Any]] = {
            f"{_START}root": (self.root,),
            f"{_START}nothing": (self.nothing,),
        }
        return found | {f"{TRANSFORMER}{name}": (p,) for name, p in self.model.named_parameters()}

    def forward(self, rows: Tensor, batch: Batch, drops: Dropout | None = None) -> Tensor:
        """(N, width), ``rows`` (N, ·) being the pieces of the batch's positions, -1 after the last; those of roots are not looked at."""
        given = rows.cpu().numpy().copy()
        given[: batch.size] = -1  # the first positions are the roots
        plan = _PiecePlan(given, batch.places.cpu().numpy() // batch.width, self._pieces, self._padding)
        device = rows.device
        pieces = torch.from_numpy(plan.pieces).to(device)
        output = self.model(
            input_ids=pieces,
            attention_mask=torch.from_numpy(plan.mask).to(device),
            output_hidden_states=self._layers > 1,
        )
        states: Tensor = output.last_hidden_state
        if self._layers > 1:
            states = torch.stack(output.hidden_states[-self._layers :]).mean(0)
        states = states.flatten(0, 1)
        # A loop, for each place is then added to once: sums in any order would not be the same from run to run on a GPU.
        vectors = states.new_zeros(len(rows), states.shape[1])
        for number in range(int(plan.counts.max(initial=0))):
            own = np.flatnonzero(plan.counts > number)
            places = torch.from_numpy(plan.starts[own] + number).to(device)
            vectors = vectors.index_add(0, torch.from_numpy(own).to(device), states[places])
        counts = torch.from_numpy(plan.counts).to(device)[:, None]
        vectors = torch.where(counts > 0, vectors / counts.clamp(min=1), self.nothing)
        is_root = torch.arange(len(rows), device=device)[:, None] < batch.size
        return apply_dropout(torch.where(is_root, self.root, vectors), batch, drops)


class _PiecePlan:
    """Where the pieces of a batch go: ``pieces`` and ``mask`` (windows, longest); of each row the place of its first piece in the former,
    flat, and how many it has."""

    def __init__(self, rows: npt.NDArray[Any], sentence: npt.NDArray[Any], own: Any, padding: int) -> None:
        before, after = own.special
        self.counts = (rows >= 0).sum(1)
        order = np.argsort(sentence, kind="stable")  # positions of a sentence are in order already
        found: list[npt.NDArray[np.int64]] = []
        starts = np.zeros(len(rows), np.int64)
        of_window = np.zeros(len(rows), np.int64)
        for members in np.split(order, np.flatnonzero(np.diff(sentence[order])) + 1):
            counts = self.counts[members]
            ends = np.concatenate([[0], np.cumsum(counts)])
            flat = rows[members][rows[members] >= 0]
            for window in windows(counts.tolist(), own.room):
                mine = members[window.own_first : window.own_last]
                starts[mine] = len(before) + ends[window.own_first : window.own_last] - ends[window.first]
                of_window[mine] = len(found)
                inside = flat[ends[window.first] : ends[window.last]]
                found.append(np.concatenate([before, inside, after]).astype(np.int64))
        lengths = np.array([len(one) for one in found])
        inside = np.arange(max(int(lengths.max(initial=0)), 1)) < lengths[:, None]
        self.pieces = np.full(inside.shape, padding, np.int64)
        self.pieces[inside] = np.concatenate(found)
        self.mask = inside.astype(np.int64)
        self.starts = starts + of_window * inside.shape[1]


def make_transformer(config: Mapping[str, Any]) -> Any:
    """A transformer of this configuration, whatever its weights."""
    from transformers import AutoConfig, AutoModel

    settings = copy.deepcopy(dict(config))
    kind = settings.pop("model_type")
    with _quietly(), torch.random.fork_rng(devices=[]):
        try:
            made = AutoModel.from_config(
                AutoConfig.for_model(kind, **settings), attn_implementation="eager", trust_remote_code=False
            )
        except Exception as error:  # whatever the library says of a configuration
            raise ModelError(
                f"a transformer of the kind {kind!r} cannot be made ({_short(error)})"
            ) from error
    return _without_pooler(made)


def read_transformer(folder: str) -> Any:
    """The transformer of a folder, on the CPU; ``OptionError`` if it cannot be read or has not all its weights."""
    from transformers import AutoModel

    with _quietly(), torch.random.fork_rng(devices=[]):
        try:
            model, told = AutoModel.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                attn_implementation="eager",
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # told below, in one sentence
            )
        except Exception as error:  # whatever the library says of a folder
            raise OptionError(
                "encoder", f"{folder}: is no transformer that can be read ({_short(error)})"
            ) from error
    missing = sorted(name for name in told["missing_keys"] if "pooler" not in name)
    missing += sorted(str(name) for name, *_ in told["mismatched_keys"])
    if missing:
        raise OptionError("encoder", f"{folder}: has no weights {missing[0]!r} that fit its config.json")
    if not all(bool(p.isfinite().all()) for p in model.parameters()):
        raise OptionError("encoder", f"{folder}: has weights that are not finite")
    return _without_pooler(model)


def position_limit(model: Any) -> int:
    """Pieces that a transformer takes at once: its positions, less those before the first (RoBERTa counts from its padding on)."""
    limit = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(limit, int) or limit < 1:
        return _LONGEST
    for name, part in model.named_modules():
        if "position" in name and isinstance(part, nn.Embedding) and part.padding_idx is not None:
            return limit - part.padding_idx - 1
    return limit


def _without_pooler(model: Any) -> Any:
    """Without the layer over the first piece, which some have and nothing here reads; in single precision."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model.float()


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what transformers writes to standard error by itself."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _short(error: Exception) -> str:
    """The first line of a message."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
