"""Train a neural parser: prepare the data, train one network or an ensemble, tune on development data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.distillation import Distillation, DistillationData, distillation_data, distillation_report
from arcwise.engine import Engine, ThisProcess
from arcwise.errors import InputError
from arcwise.evaluation.attachment import GoldTrees
from arcwise.inference.labels import codes_of, only_root_label
from arcwise.learning.cross_validation import FoldScores, FoldTask, cross_validate, fold_tasks
from arcwise.learning.folds import (
    Development,
    Folds,
    development,
    report_warnings,
)
from arcwise.learning.preparation import PreparedTrees, prepare_trees
from arcwise.learning.progress import Progress
from arcwise.learning.training import Best, DevScore, Weights, fit, interruptible, training_report
from arcwise.neural.checkpoint import TrainingCheckpoint
from arcwise.neural.config import NeuralConfig, check_device
from arcwise.neural.inputs import Inputs
from arcwise.neural.model import NeuralModel, network_shape
from arcwise.neural.model_selection import calibrate, select_tag_columns, tune_decoding
from arcwise.neural.pieces import WordPieces
from arcwise.neural.pretrained import Pretrained
from arcwise.neural.shape import NetworkShape
from arcwise.neural.tags import PredictedTags, TagAlphabets
from arcwise.neural.transformer import Transformer
from arcwise.parsing.scored import Decoding
from arcwise.parsing.scorer import label_codes
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike


def train_model(
    train: Treebank,
    dev: Development,
    config: NeuralConfig,
    *,
    threads: int = 1,
    progress: Progress | None = None,
    predicted_tags: PredictedTags | None = None,
    checkpoint: PathLike | None = None,
    distillation: Distillation | None = None,
    engine: Engine = ThisProcess(),
) -> NeuralModel:
    """Train the networks of a configuration; see ``NeuralParser.train`` for the arguments."""
    progress = progress or Progress(shown=False)
    config.refuse_unread()
    if distillation is not None:
        config.check_distillation()
    chosen = development(train, dev)
    doubts = report_warnings(train, chosen, progress)
    predicted_tags = predicted_tags or PredictedTags(train)
    distilled = distillation_data(
        distillation, train, config, projective=config.projective, threads=threads, progress=progress
    )
    learner = NeuralLearner.of(train, predicted_tags.train, config, threads, progress, distilled)
    keeper = None
    if checkpoint is not None:
        keeper = TrainingCheckpoint(checkpoint, learner.fingerprint(predicted_tags.dev or chosen))
    if isinstance(chosen, Folds):
        return _cross_validated(learner, chosen, progress, engine)
    gold, chosen = chosen, predicted_tags.dev or chosen
    model, best = learner.run(chosen, progress, keeper, engine=engine)
    if chosen is None or gold is None or best.interrupted:
        return replace(model, writes=learner.tags.columns)
    with interruptible(best, progress):
        model = replace(model, writes=select_tag_columns(model, gold, chosen, threads, progress))
        model = tune_decoding(model, chosen, doubts, threads=threads, progress=progress)
    return replace(model, report={**model.report, "interrupted": best.interrupted})


@dataclass(frozen=True)
class NeuralLearner:
    """Training data with their alphabets, ready to train networks on."""

    config: NeuralConfig
    """Resolved: every option has a value."""
    train: Treebank
    tagged: Treebank
    """The training data with the tags that the network gets as input."""
    prepared: PreparedTrees
    inputs: Inputs
    labels: tuple[str, ...]
    tags: TagAlphabets
    device: str
    threads: int
    pretrained: Pretrained | None = None
    """The pretrained transformer, if it is the encoder."""
    distilled: DistillationData | None = None
    """A teacher's predictions; its text then follows the treebank in the training data."""

    @classmethod
    def of(
        cls,
        train: Treebank,
        tagged: Treebank,
        config: NeuralConfig,
        threads: int,
        progress: Progress,
        distilled: DistillationData | None = None,
    ) -> NeuralLearner:
        """Prepare the trees and learn the alphabets; ``distilled`` adds its text to the training data."""
        if not train.word_count:
            raise InputError(f"{train.source}: has no words, expected trees to learn from")
        if distilled is not None:
            text = distilled.treebank[distilled.gold_sentences :]
            train = distilled.treebank
            tagged = Treebank.from_sentences([*tagged, *text], source=tagged.source)
        config = config.resolved(train.word_count)
        prepared = prepare_trees(train, projective=config.projective, single_root=config.single_root)
        for note in prepared.notes:
            progress.say(note)
        device = check_device(config.device)
        pretrained = None
        if config.encoder:
            pretrained = Pretrained.read(config.encoder, layers=config.encoder_layers)
        labels = tuple(sorted(set(prepared.labels) - {"_"})) if config.labelled else ()
        learner = cls(
            config,
            train,
            tagged,
            prepared,
            Inputs.learn(tagged, () if config.encoder else config.inputs, rare=config.rare),
            labels,
            TagAlphabets.learn(train, config.learns),
            device,
            threads,
            pretrained,
            distilled,
        )
        weights = sum(int(np.prod(shape)) for shape in learner.shape.arrays.values())
        progress.say(
            f"{weights:,} weights, dropout {config.dropout}, {config.epochs} epochs, "
            f"batches of {config.batch_words} words, on {device}"
        )
        return learner

    @property
    def root_label(self) -> int:
        """The label of all arcs from the root and of no others in the training data, -1 if there is none."""
        if not self.labels:
            return -1
        return only_root_label(self.prepared.heads, codes_of(self.prepared.labels, self.labels))

    @property
    def shape(self) -> NetworkShape:
        """Sizes of the networks."""
        return network_shape(self.config, self.inputs, self.labels, self.tags, self.transformer)

    @property
    def transformer(self) -> Transformer | None:
        """The transformer encoder without its weights; None for LSTMs."""
        return None if self.pretrained is None else self.pretrained.transformer

    @property
    def _rows(self) -> Inputs | WordPieces:
        """Encoder of words as input rows."""
        return self.inputs if self.transformer is None else self.transformer.pieces

    def fingerprint(self, dev: Treebank | Folds | None) -> str:
        """Hash of configuration, data and device, which a checkpoint must match."""
        from hashlib import sha256

        # Checkpoints of earlier versions have this hash: keep the parts and their order.
        dev_data = dev.data if isinstance(dev, Treebank) else str(dev).encode()
        parts: tuple[bytes, ...] = (
            repr(self._portable_config).encode(),
            b"" if self.pretrained is None else self.pretrained.digest.encode(),
            b"" if self.distilled is None else self.distilled.soft_targets.probabilities.tobytes(),
            self.device.encode(),
            self.train.data,
            self.tagged.data,
            dev_data,
        )
        if self.distilled is not None and self.distilled.text_tags is not None:
            parts = (*parts, *(share.tobytes() for share in self.distilled.text_tags.probabilities))
        return sha256(b"\0".join(parts)).hexdigest()

    @property
    def _portable_config(self) -> NeuralConfig:
        """The configuration for the model file: a transformer by the name of its folder, without the path."""
        encoder = self.config.encoder
        return self.config if encoder is None else replace(self.config, encoder=Path(encoder).resolve().name)

    def run(
        self,
        dev: Treebank | None,
        progress: Progress,
        keeper: TrainingCheckpoint | None = None,
        *,
        epochs: int | None = None,
        engine: Engine = ThisProcess(),
    ) -> tuple[NeuralModel, Best]:
        """Train all networks, each with the weights of its best epoch.

        Also return the ``Best`` of the last one.

        ``epochs``: stop each network after this many, with the learning-rate schedule of the full number.
        ``engine``: where the networks of an ensemble are trained.
        """
        members: list[Mapping[str, npt.NDArray[Any]]] = []
        scores: list[DevScore] = []
        best = Best()
        for best in self._networks(dev, progress, keeper, epochs, engine):
            assert best.weights is not None
            members.append(self.shape.split(best.weights))
            if best.score is not None:
                scores.append(best.score)
            if best.interrupted:
                break
        report = training_report(self.train, dev, self.prepared.notes, best)
        report |= {"device": self.device} | distillation_report(self.distilled)
        if len(scores) > 1:
            report["members_dev_las"] = [score.las for score in scores]
        decoding = Decoding("mbr", self.config.projective, self.config.single_root)
        if self.config.objective == "hinge":
            decoding = replace(decoding, decode="map")
        model = NeuralModel(
            self._portable_config,
            self.inputs,
            self.labels,
            self.tags,
            tuple(members),
            decoding,
            report=report,
            transformer=self.transformer,
            root_label=self.root_label,
        )
        return model, best

    def _networks(
        self,
        dev: Treebank | None,
        progress: Progress,
        keeper: TrainingCheckpoint | None,
        epochs: int | None,
        engine: Engine,
    ) -> Iterator[Best]:
        """Train the networks of the ensemble in order; those trained by workers have no checkpoint."""
        count = self.config.ensemble
        if count == 1 or isinstance(engine, ThisProcess):
            for number in range(count):
                if count > 1:
                    progress.say(f"network {number + 1} of {count}")
                yield self._run_one(number, dev, progress, keeper, epochs)
            return
        progress.say(f"workers train {count} networks, without a checkpoint")
        gold = len(self.train) if self.distilled is None else self.distilled.gold_sentences
        make_learner = partial(
            NeuralLearner.of,
            self.train[:gold],
            self.tagged[:gold],
            self.config,
            self.threads,
            distilled=self.distilled,
        )
        for number, best in enumerate(
            engine.map(partial(_network, make_learner, dev, epochs), range(count)), 1
        ):
            progress.say(f"network {number} of {count}: epoch {best.epoch} {best.score or ''}")
            yield best

    def _run_one(
        self,
        number: int,
        dev: Treebank | None,
        progress: Progress,
        keeper: TrainingCheckpoint | None,
        epochs: int | None,
    ) -> Best:
        import torch

        from arcwise.neural.data import Data
        from arcwise.neural.trainer import NetworkTrainer, repeatable

        torch.set_num_threads(max(self.threads, 1))
        config = replace(self.config, seed=self.config.seed + number)
        epochs = epochs or config.epochs
        assert epochs is not None
        labels = codes_of(self.prepared.labels, self.labels)
        tags, targets = self.tags.codes(self.train), None
        soft_tags: list[Any] = []
        if self.distilled is not None:
            targets = self._soft_targets(self.distilled, labels)
            gold_words = int(self.train.sentence_words[self.distilled.gold_sentences])
            for codes in tags:
                codes[gold_words:] = -1  # the tags of the text are predictions
            soft_tags = self._soft_tags(self.distilled, gold_words)
        data = Data.of(
            self.tagged, self._rows, self.prepared.heads, labels, tags, self.device, targets, soft_tags
        )
        with repeatable(self.device, config.seed):
            trainer = NetworkTrainer(config, self.shape, data, self.inputs.atoms, self._encoder())
            return fit(
                trainer,
                len(self.train),
                epochs=epochs,
                patience=config.patience,
                seed=config.seed,
                evaluate=None if dev is None else self._evaluator(trainer, dev),
                progress=progress,
                checkpoint=None if keeper is None else keeper.of(number, trainer, epochs),
            )

    def _soft_targets(self, distilled: DistillationData, labels: npt.NDArray[np.int32]) -> Any:
        """The teacher's predictions with the labels of the network."""
        from arcwise.distillation.tensor_targets import TensorTargets

        arcs = distilled.targets(self.prepared.heads, labels, self.labels)
        return TensorTargets(arcs, distilled.weights, self.train.sentence_words.astype(np.int64))

    def _soft_tags(self, distilled: DistillationData, gold_words: int) -> list[Any]:
        """The teacher's tags of the text in the network's alphabets, weighted as its trees."""
        if distilled.text_tags is None or not self.tags.names:
            return []
        text_words = np.arange(-gold_words, len(distilled.text_tags)).clip(min=-1)
        tags = distilled.text_tags.select_words(text_words)
        weight = np.float32(distilled.config.text_weight)
        return [
            (codes, weight * probabilities)
            for codes, probabilities in tags.in_alphabets(self.tags.names, self.tags.values)
        ]

    def _encoder(self) -> Any:
        """The pretrained transformer; None for embeddings and LSTMs."""
        if self.pretrained is None:
            return None
        from arcwise.neural.transformer_encoder import TransformerEncoder

        encoder = TransformerEncoder(self.pretrained.transformer, layers=self.config.encoder_layers)
        encoder.load(self.pretrained.weights)
        return encoder

    def _evaluator(self, trainer: Any, dev: Treebank) -> Callable[[Weights], DevScore]:
        """Return a function that scores the trainer's averaged weights on the development data."""
        from arcwise.neural.data import Data

        if not (dev.heads >= 0).any():
            raise InputError(f"{dev.source}: has no heads, expected gold trees")
        heads = np.ascontiguousarray(dev.heads, np.int32)
        data = Data.of(dev, self._rows, heads, label_codes(dev, self.labels), (), self.device)
        gold = GoldTrees.of(dev, self.labels)
        by_risk = self.config.objective != "hinge"
        return lambda weights: gold.score(*trainer.parse(data, minimum_risk=by_risk))


def _network(
    make_learner: Callable[..., NeuralLearner], dev: Treebank | None, epochs: int | None, number: int
) -> Best:
    """Train one network in a worker, which makes its own learner: a learner cannot be pickled."""
    quiet = Progress(shown=False)
    return make_learner(progress=quiet)._run_one(number, dev, quiet, None, epochs)


def _train_fold(
    config: NeuralConfig, threads: int, task: FoldTask[DistillationData]
) -> tuple[NeuralModel, FoldScores]:
    """Train a network without the fold and score each epoch on it."""
    quiet = Progress(shown=False)
    assert task.seen is not None
    learner = NeuralLearner.of(task.train, task.seen, config, threads, quiet, task.distilled)
    model, best = learner.run(task.held_out, quiet)
    return model, FoldScores.of(task.held_out, best.history, interrupted=best.interrupted)


def _cross_validated(learner: NeuralLearner, folds: Folds, progress: Progress, engine: Engine) -> NeuralModel:
    """Choose the epoch by cross-validation, train on the whole treebank, calibrate with the folds."""
    distilled = learner.distilled
    gold = len(learner.train) if distilled is None else distilled.gold_sentences
    tasks = fold_tasks(folds, learner.train[:gold], distilled, seen=learner.tagged[:gold])
    train_fold = partial(_train_fold, replace(learner.config, ensemble=1), learner.threads)
    chosen = cross_validate(folds, tasks, train_fold, engine=engine, progress=progress)
    held_out = [(model, task.held_out) for model, task in zip(chosen.results, tasks, strict=True)]
    model, best = learner.run(None, progress, epochs=chosen.epoch, engine=engine)
    model = replace(model, writes=learner.tags.columns, report={**model.report, **chosen.report})
    if best.interrupted:
        return model
    with interruptible(best, progress):
        model = calibrate(model, held_out, folds, (), learner.threads, progress)
    return replace(model, report={**model.report, "interrupted": best.interrupted})
