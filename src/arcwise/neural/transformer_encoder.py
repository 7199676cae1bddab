"""``TransformerEncoder``: a transformer over word pieces, in PyTorch.

Devlin et al. 2019; Kondratyuk & Straka 2019.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import embedding_bag

from arcwise.errors import ModelError, OptionError
from arcwise.neural.batch import Batch, Dropout, apply_dropout, to_device
from arcwise.neural.pieces import PieceLayout
from arcwise.neural.pretrained import first_line
from arcwise.neural.shape import TRANSFORMER
from arcwise.neural.transformer import Transformer

_START = "transformer."
_FULL_ATTENTION = ("bert", "camembert", "electra", "roberta", "xlm-roberta")
"""Types of transformers in which every piece attends to all pieces of its window."""
_FUSED_PIECES = 64
"""Up to this width fused attention has a deterministic gradient: its kernel reads a window at once."""
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
        device = self.root.device
        # Fused attention on a GPU needs a width that is a multiple of 16, or pads the mask in every layer.
        step = 16 if device.type == "cuda" else 1
        layout = PieceLayout.of(piece_rows, batch.sentence_on_cpu, self._pieces, self._padding, step)
        joined = to_device(np.concatenate(layout.arrays), device)
        pieces, lengths, counts, starts, order, word_of_place = joined.split([*map(len, layout.arrays)])
        output = self._run(pieces.view(-1, layout.width), lengths)
        states: Tensor = output.last_hidden_state
        if self._layers > 1:
            states = torch.stack(output.hidden_states[-self._layers :]).mean(0)
        vectors = _WordSums.apply(states.flatten(0, 1), order, starts, word_of_place)
        counts = counts[:, None]
        # The clamp avoids 0 / 0, whose NaN would reach the gradient even where torch.where drops it.
        vectors = torch.where(counts > 0, vectors / counts.clamp(min=1), self.nothing)
        is_root = torch.arange(len(rows), device=device)[:, None] < batch.size
        return apply_dropout(torch.where(is_root, self.root, vectors), batch, drops)

    def _run(self, pieces: Tensor, lengths: Tensor) -> Any:
        """Run the transformer on windows of pieces, (windows, width), of these lengths."""
        mask = torch.arange(pieces.shape[1], device=pieces.device) < lengths[:, None]
        if self.model.config.model_type in _FULL_ATTENTION:
            # A mask that is complete already: given one of two dimensions, transformers asks the GPU whether
            # it hides anything, and waits for the answer.
            weights = self.root.new_zeros(mask.shape).masked_fill(~mask, torch.finfo(self.root.dtype).min)
            mask = weights[:, None, None].expand(-1, 1, pieces.shape[1], -1)
        else:
            mask = mask.long()
        # The gradient of fused attention over many pieces is not deterministic on a GPU.
        exact = self.training and pieces.is_cuda and pieces.shape[1] > _FUSED_PIECES
        with sdpa_kernel(SDPBackend.MATH) if exact else nullcontext():
            return self.model(input_ids=pieces, attention_mask=mask, output_hidden_states=self._layers > 1)


class _WordSums(Function):
    """Sums over the pieces of each word.

    ``order``: the places of the words' pieces, word by word, those of a word from ``starts`` on.
    ``word_of_place``: the word of each place, or the number of words for none. Both directions gather, so
    that the result does not depend on the order in which the threads of a GPU finish.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, order: Tensor, starts: Tensor, word_of_place: Tensor) -> Tensor:
        ctx.save_for_backward(word_of_place)
        return embedding_bag(order, states, starts, mode="sum")

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        (word_of_place,) = ctx.saved_tensors
        padded = torch.cat([gradient, gradient.new_zeros(1, gradient.shape[1])])
        return padded.index_select(0, word_of_place), None, None, None


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
