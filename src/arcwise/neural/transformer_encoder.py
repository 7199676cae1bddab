"""``TransformerEncoder``: a transformer over word pieces, in PyTorch.

Devlin et al. 2019; Kondratyuk & Straka 2019.
"""

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
from arcwise.neural.pieces import WordPieces, windows
from arcwise.neural.pretrained import first_line
from arcwise.neural.shape import TRANSFORMER
from arcwise.neural.transformer import Transformer

_START = "transformer."
_DEFAULT_WINDOW = 512
"""Window in pieces for a transformer whose configuration states no limit."""


class TransformerEncoder(nn.Module):
    """Encoder whose hidden state for a word is the mean over the word's pieces.

    The vector of a piece is the mean of the last ``layers`` layers. The root, and words for which the
    tokenizer produces no piece, have learned vectors. Long sentences are encoded in overlapping windows.
    """

    def __init__(self, transformer: Transformer, *, layers: int = 1) -> None:
        super().__init__()
        self.model = make_transformer(transformer.config)
        self.root = nn.Parameter(torch.zeros(transformer.width))
        self.nothing = nn.Parameter(torch.zeros(transformer.width))
        self._pieces, self._layers = transformer.pieces, layers
        self._padding = int(transformer.config.get("pad_token_id") or 0)
        shapes = tuple((name, tuple(p.shape)) for name, p in self.model.named_parameters())
        if shapes != transformer.arrays:
            raise ModelError(
                "the installed version of transformers builds this model's transformer with other arrays; "
                "install the version that the model was trained with"
            )

    def start(self) -> None:
        """Initialise the root's vector; the transformer itself is pretrained."""
        nn.init.normal_(self.root)

    def flatten(self) -> None:
        """Do nothing: only LSTM weights need flattening."""

    def load(self, weights: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Load the pretrained weights of the transformer."""
        with torch.no_grad():
            for name, parameter in self.model.named_parameters():
                parameter.copy_(torch.from_numpy(np.array(weights[name])))

    def parameter_of(self) -> dict[str, Sequence[Any]]:
        """Map each array name of ``NetworkShape`` to the parameters whose sum it is."""
        learned: dict[str, Sequence[Any]] = {
            f"{_START}root": (self.root,),
            f"{_START}nothing": (self.nothing,),
        }
        return learned | {f"{TRANSFORMER}{name}": (p,) for name, p in self.model.named_parameters()}

    def forward(self, rows: Tensor, batch: Batch, drops: Dropout | None = None) -> Tensor:
        """Encode the batch's positions: (N, width).

        ``rows``: (N, ·), the pieces of each position, padded with -1; those of roots are ignored.
        """
        piece_rows = rows.cpu().numpy().copy()
        piece_rows[: batch.size] = -1  # the first positions are the roots
        plan = _PiecePlan(piece_rows, batch.places.cpu().numpy() // batch.width, self._pieces, self._padding)
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
        # One index_add per piece number, so that each call adds to a row at most once: with duplicate
        # indices the order of summation, and so the result, would vary from run to run on a GPU.
        vectors = states.new_zeros(len(rows), states.shape[1])
        for number in range(int(plan.counts.max(initial=0))):
            words = np.flatnonzero(plan.counts > number)
            places = torch.from_numpy(plan.starts[words] + number).to(device)
            vectors = vectors.index_add(0, torch.from_numpy(words).to(device), states[places])
        counts = torch.from_numpy(plan.counts).to(device)[:, None]
        # The clamp avoids 0 / 0, whose NaN would reach the gradient even where torch.where drops it.
        vectors = torch.where(counts > 0, vectors / counts.clamp(min=1), self.nothing)
        is_root = torch.arange(len(rows), device=device)[:, None] < batch.size
        return apply_dropout(torch.where(is_root, self.root, vectors), batch, drops)


class _PiecePlan:
    """Layout of a batch's pieces: ``pieces`` and ``mask``, both (windows, longest window).

    ``starts`` holds, for each row, the flat index of its first piece in ``pieces``, ``counts`` its number
    of pieces.
    """

    def __init__(
        self, rows: npt.NDArray[Any], sentence: npt.NDArray[Any], tokenizer: WordPieces, padding: int
    ) -> None:
        before, after = tokenizer.special
        self.counts = (rows >= 0).sum(1)
        order = np.argsort(sentence, kind="stable")  # stable: keeps the positions of a sentence in order
        piece_windows: list[npt.NDArray[np.int64]] = []
        starts = np.zeros(len(rows), np.int64)
        of_window = np.zeros(len(rows), np.int64)
        for members in np.split(order, np.flatnonzero(np.diff(sentence[order])) + 1):
            counts = self.counts[members]
            ends = np.concatenate([[0], np.cumsum(counts)])
            flat = rows[members][rows[members] >= 0]
            for window in windows(counts.tolist(), tokenizer.room):
                words = members[window.own_first : window.own_last]
                starts[words] = len(before) + ends[window.own_first : window.own_last] - ends[window.first]
                of_window[words] = len(piece_windows)
                inside = flat[ends[window.first] : ends[window.last]]
                piece_windows.append(np.concatenate([before, inside, after]).astype(np.int64))
        lengths = np.array([len(pieces) for pieces in piece_windows])
        inside = np.arange(max(int(lengths.max(initial=0)), 1)) < lengths[:, None]
        self.pieces = np.full(inside.shape, padding, np.int64)
        self.pieces[inside] = np.concatenate(piece_windows)
        self.mask = inside.astype(np.int64)
        self.starts = starts + of_window * inside.shape[1]


def make_transformer(config: Mapping[str, Any]) -> Any:
    """Build a transformer from its configuration, with random weights."""
    from transformers import AutoConfig, AutoModel

    settings = copy.deepcopy(dict(config))
    model_type = settings.pop("model_type")
    # fork_rng: the random weights are replaced anyway and must not shift the caller's random numbers.
    with _quiet(), torch.random.fork_rng(devices=[]):
        try:
            model = AutoModel.from_config(
                AutoConfig.for_model(model_type, **settings),
                attn_implementation="eager",
                trust_remote_code=False,
            )
        except Exception as error:  # the library raises many types for a bad configuration
            raise ModelError(
                f"cannot build a transformer of type {model_type!r} ({first_line(error)})"
            ) from error
    return _without_pooler(model)


def read_transformer(folder: str) -> Any:
    """Load the transformer of a folder on the CPU.

    Raises ``OptionError`` if it cannot be read or weights are missing.
    """
    from transformers import AutoModel

    with _quiet(), torch.random.fork_rng(devices=[]):
        try:
            model, loading_info = AutoModel.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
                attn_implementation="eager",
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # reported below, in one line
            )
        except Exception as error:  # the library raises many types for a bad folder
            raise OptionError(
                "encoder", f"{folder}: cannot be read as a transformer ({first_line(error)})"
            ) from error
    missing = sorted(name for name in loading_info["missing_keys"] if "pooler" not in name)
    missing += sorted(str(name) for name, *_ in loading_info["mismatched_keys"])
    if missing:
        raise OptionError(
            "encoder", f"{folder}: the weights {missing[0]!r} are missing or do not match config.json"
        )
    if not all(bool(p.isfinite().all()) for p in model.parameters()):
        raise OptionError("encoder", f"{folder}: some weights are not finite")
    return _without_pooler(model)


def position_limit(model: Any) -> int:
    """Return how many pieces a transformer accepts at once.

    That is its number of position embeddings, less the offset of the first (RoBERTa's positions start
    after its padding index).
    """
    limit = getattr(model.config, "max_position_embeddings", None)
    if not isinstance(limit, int) or limit < 1:
        return _DEFAULT_WINDOW
    for name, part in model.named_modules():
        if "position" in name and isinstance(part, nn.Embedding) and part.padding_idx is not None:
            return limit - part.padding_idx - 1
    return limit


def _without_pooler(model: Any) -> Any:
    """Drop the pooling layer over the first piece, which is never used, and convert to float32."""
    if getattr(model, "pooler", None) is not None:
        model.pooler = None
    return model.float()


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the log messages and progress bars of transformers."""
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
