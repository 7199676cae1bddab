"""Tiny transformers made on the spot, as folders: a BERT with word pieces and a RoBERTa with byte-level BPE.
Nothing is downloaded."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"

torch = pytest.importorskip("torch", reason="needs torch: make test-torch installs it")
transformers = pytest.importorskip("transformers", reason="needs transformers: make test-torch installs it")

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors  # noqa: E402

from arcwise.neural import NeuralConfig, NeuralParser  # noqa: E402
from contracts.small_treebank import small_treebank  # noqa: E402

torch.set_num_threads(1)

WIDTH, POSITIONS = 16, 40
WHOLE = ("the", "cat", "sing", "##s", "##ing")
"""Pieces of more than one letter."""


def word_pieces() -> Tokenizer:
    """Letters of the small treebank, and some longer pieces; [CLS] … [SEP]."""
    letters = sorted({letter for form in small_treebank().column("form") for letter in form.lower()})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    pieces = [*special, *WHOLE, *letters, *(f"##{letter}" for letter in letters)]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    found = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=1000))
    found.normalizer = normalizers.BertNormalizer(strip_accents=False)
    found.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    found.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return found


def byte_pieces() -> Tokenizer:
    """Bytes, one merge of a space with a letter; <s> … </s>; no space before the first word, as RoBERTa has
    it."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    pieces = [*special, *sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġt"]
    found = Tokenizer(models.BPE({piece: number for number, piece in enumerate(pieces)}, [("Ġ", "t")]))
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    found.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return found


def _config(kind: str, pieces: int, **changes: Any) -> Any:
    sizes = {"hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    dropout = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    first = {"bert": 0, "roberta": 2}[kind]  # RoBERTa counts positions from its padding on
    own = {"max_position_embeddings": POSITIONS + first, "pad_token_id": {"bert": 0, "roberta": 1}[kind]}
    made = {"bert": transformers.BertConfig, "roberta": transformers.RobertaConfig}[kind]
    return made(**(sizes | dropout | own | {"vocab_size": pieces} | changes))


TOKENIZERS: dict[str, Callable[[], Tokenizer]] = {"bert": word_pieces, "roberta": byte_pieces}


def make_folder(folder: Path, kind: str = "bert", **changes: Any) -> Path:
    """A folder with a transformer of that kind, its weights drawn at random; ``changes``: of its
    configuration."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = TOKENIZERS[kind]()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = transformers.AutoModel.from_config(_config(kind, tokenizer.get_vocab_size(), **changes))
        for parameter in model.parameters():  # larger than usual, so that words differ
            if parameter.ndim == 2:
                torch.nn.init.normal_(parameter, std=0.3)
    transformers.utils.logging.disable_progress_bar()
    model.save_pretrained(folder)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def quick_parser(folder: Path, **options: Any) -> NeuralParser:
    """A parser over a tiny transformer that has learned something of the small treebank; it gives the best
    tree."""
    config = NeuralConfig(
        encoder=str(make_folder(folder / "tiny-bert")),
        epochs=8,
        arc_size=12,
        label_size=8,
        batch_words=12,
        device="cpu",
        **options,
    )
    model = NeuralParser.train(small_treebank(crossing=True), config=config).model
    return NeuralParser(replace(model, decoding=replace(model.decoding, decode="map")))
