"""UDPipe 1's parser, trained like the models its authors publish (needs ufal.udpipe and gensim, not
arcwise).

The options are those of training/models-ud-2.0/params_parser in the repository ufal/udpipe; as there, word
embeddings are first trained on the training data with word2vec (skip-gram, 50 dimensions, window 10, 5
negative samples, 15 epochs, minimum count 2).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.peers.conllu_files import join, words

_COMMON = (
    "iterations=30;embedding_upostag=20;embedding_feats=20;embedding_xpostag=0;embedding_form=50;"
    "embedding_lemma=0;"
    "embedding_deprel=20;learning_rate_final=0.001;hidden_layer=200;batch_size=10;"
)
_PROJECTIVE = "transition_system=projective;transition_oracle=dynamic;"
_SWAP = "transition_system=swap;transition_oracle=static_lazy;"
OPTIONS = {
    "da": _COMMON + _SWAP + "learning_rate=0.01;l2=0.5;structured_interval=8",
    "en": _COMMON + _PROJECTIVE + "learning_rate=0.01;l2=0.5;structured_interval=8",
    "sl": _COMMON + _PROJECTIVE + "learning_rate=0.02;l2=0.5;structured_interval=8",
    "tr": _COMMON + _PROJECTIVE + "learning_rate=0.01;l2=0.3;structured_interval=8",
}
"""Published parser options, by language."""
_TAGGER = (
    "models=2;templates_1=tagger;guesser_suffix_rules_1=12;guesser_enrich_dictionary_1=6;"
    "guesser_prefixes_max_1=0;use_lemma_1=1;"
    "use_xpostag_1=1;use_feats_1=1;provide_lemma_1=0;provide_xpostag_1=1;provide_feats_1=1;"
    "prune_features_1=0;"
    "templates_2=lemmatizer;guesser_prefixes_max_2=4;use_lemma_2=1;use_xpostag_2=0;use_feats_2=0;"
    "provide_lemma_2=1;"
    "provide_xpostag_2=0;provide_feats_2=0;prune_features_2=0;"
)
TAGGER_OPTIONS = {
    "en": _TAGGER + "guesser_suffix_rules_2=6;guesser_enrich_dictionary_2=6",
    "tr": _TAGGER + "guesser_suffix_rules_2=8;guesser_enrich_dictionary_2=4",
}
_TOKENIZER = "epochs=100;initialization_range=0.1;batch_size=100;learning_rate=0.005;early_stopping=1;"
TOKENIZER_OPTIONS = {
    "en": _TOKENIZER + "dimension=64;dropout=0.1",
    "tr": _TOKENIZER + "dimension=24;dropout=0.3",
}
"""The same for the whole pipeline from raw text."""
MODEL = "model.udpipe"


def train(
    train: Sequence[str], dev: Sequence[str], language: str, folder: Path, *, raw_text: bool = False
) -> None:
    """Train the parser on gold tags, or the whole pipeline from raw text.

    Without ``dev`` training runs all iterations and keeps the last. For raw text a subprocess trains the
    tokenizer while tagger and parser train; UDPipe joins the parts (``from_model``) into the model that a
    single call would make.
    """
    with tempfile.TemporaryDirectory() as scratch:
        vectors = Path(scratch) / "forms.vectors"
        parser = OPTIONS[language]
        if _learn_vectors(train, vectors):
            parser += f";embedding_form_file={vectors}"
        if not raw_text:
            _train_parts(train, dev, ("none", "none", parser), folder / MODEL)
            return
        parts = Path(scratch) / "tokenizer", Path(scratch) / "tagger", Path(scratch) / "parser"
        beside = get_context("fork").Process(
            target=_train_parts, args=(train, dev, (TOKENIZER_OPTIONS[language], "none", "none"), parts[0])
        )
        beside.start()
        try:
            _train_parts(train, dev, ("none", TAGGER_OPTIONS[language], "none"), parts[1])
            _train_parts(train, dev, ("none", f"from_model=file:{parts[1]}", parser), parts[2])
        except BaseException:
            beside.terminate()
            raise
        finally:
            beside.join()
        if beside.exitcode:
            raise SystemExit("the tokenizer was not trained")
        tokenizer, tagger, parser = (f"from_model=file:{part}" for part in parts)
        _train_parts(train, dev, (tokenizer, tagger, parser), folder / MODEL)


def _train_parts(train: Sequence[str], dev: Sequence[str], options: tuple[str, str, str], path: Path) -> None:
    """Train tokenizer, tagger and parser, each with its options or ``none``."""
    from ufal.udpipe import ProcessingError, Trainer

    error = ProcessingError()
    model = Trainer.train("morphodita_parsito", _read(train), _read(dev), *options, error)
    if error.occurred():
        raise SystemExit(error.message)
    path.write_bytes(model)


def load(folder: Path) -> Callable[[str], str]:
    """Load the parser: CoNLL-U in, CoNLL-U with trees out."""
    return process(folder / MODEL, raw_text=False)


def process(path: Path, *, raw_text: bool) -> Callable[[str], str]:
    """Load a model: raw text or CoNLL-U in, parsed CoNLL-U out."""
    from ufal.udpipe import Model, Pipeline, ProcessingError

    model = Model.load(str(path))
    source, tagging = ("tokenize", Pipeline.DEFAULT) if raw_text else ("conllu", Pipeline.NONE)
    pipeline = Pipeline(model, source, tagging, Pipeline.DEFAULT, "conllu")

    def run(text: str) -> str:
        assert model is not None  # UDPipe's pipeline does not keep its model alive; this closure does
        return str(pipeline.process(text, ProcessingError()))

    return run


def _read(parts: Sequence[str]) -> Any:
    from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences

    reader, sentences = InputFormat.newConlluInputFormat(), Sentences()
    reader.setText(join(parts))
    error, sentence = ProcessingError(), Sentence()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = Sentence()
    if error.occurred():
        raise SystemExit(error.message)
    return sentences


def _learn_vectors(train: Sequence[str], path: Path) -> bool:
    """Train word embeddings; returns whether there were words to train on."""
    from gensim.models import Word2Vec

    forms = [[row[1].replace(" ", "_") for row in words(sentence)] for sentence in train]
    try:
        learned = Word2Vec(
            forms,
            sg=1,
            vector_size=50,
            window=10,
            negative=5,
            hs=0,
            sample=0.1,
            workers=1,
            epochs=15,
            min_count=2,
            seed=1,
        )
    except RuntimeError:  # no word occurs twice
        return False
    learned.wv.save_word2vec_format(str(path), binary=False)
    return True
