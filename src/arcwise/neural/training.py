"""Training a neural parser: prepare the trees, learn alphabets, train one network or several, choose on development data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    seen: PredictedTags | None = None,
    checkpoint: PathLike | None = None,
    distillation: Distillation | None = None,
    engine: Engine = ThisProcess(),
) -> NeuralModel:
    """Train as the configuration says. ``seen``: the data with the tags that the network is to see, where these are not those that it
    learns. ``distillation``: it learns what another parser says of the treebank, and of text. ``engine``: where the networks of an ensemble,
    or of folds, are trained."""
    progress = progress or Progress(shown=False)
    config.refuse_unread()
    if distillation is not None:
        config.check_distillation()
    chosen = development(train, dev)
    doubts = report_warnings(train, chosen, progress)
    seen = seen or PredictedTags(train)
    distilled = distillation_data(
        distillation, train, config, projective=config.projective, threads=threads, progress=progress
    )
    learner = NeuralLearner.of(train, seen.train, config, threads, progress, distilled)
    keeper = (
        None
        if checkpoint is None
        else TrainingCheckpoint(checkpoint, learner.fingerprint(seen.dev or chosen))
    )
    if isinstance(chosen, Folds):
        return _cross_validated(learner, chosen, progress, engine)
    gold, chosen = chosen, seen.dev or chosen
    model, best = learner.run(chosen, progress, keeper, engine=engine)
    if chosen is None or gold is None or best.interrupted:
        return replace(model, writes=learner.tags.columns)
    with interruptible(best, progress):
        model = replace(model, writes=select_tag_columns(model, gold, chosen, threads, progress))
        model = tune_decoding(model, chosen, doubts, threads=threads, progress=progress)
    return replace(model, report={**model.report, "interrupted": best.interrupted})


@dataclass(frozen=True)
class NeuralLearner:
    """The training data and their alphabets: ready to learn from."""

    config: NeuralConfig
    """With a value for every option."""
    train: Treebank
    seen: Treebank
    """The training data as the network sees them."""
    prepared: PreparedTrees
    inputs: Inputs
    labels: tuple[str, ...]
    tags: TagAlphabets
    device: str
    threads: int
    pretrained: Pretrained | None = None
    """The transformer that is the encoder, if one is."""
    distilled: DistillationData | None = None
    """What a teacher says; text that it told of is then among the training data, after the treebank."""

    @classmethod
    def of(
        cls,
        train: Treebank,
        seen: Treebank,
        config: NeuralConfig,
        threads: int,
        progress: Progress,
        distilled: DistillationData | None = None,
    ) -> NeuralLearner:
        """The trees prepared, alphabets learned; with ``distilled``, from their sentences."""
        if not train.word_count:
            raise InputError(f"{train.source}: has no words, expected trees to learn from")
        if distilled is not None:
            text = distilled.treebank[distilled.gold_sentences :]
            train, seen = distilled.treebank, Treebank.from_sentences([*seen, *text], source=seen.source)
        prepared = prepare_trees(train, projective=config.projective, single_root=config.single_root)
        for note in prepared.notes:
            progress.say(note)
        device = check_device(config.device)
        pretrained = None
        if config.encoder:
            pretrained = Pretrained.read(config.encoder, layers=config.encoder_layers)
        config = config.resolved(train.word_count)
        labels = tuple(sorted(set(prepared.labels) - {"_"})) if config.labelled else ()
        learner = cls(
            config,
            train,
            seen,
            prepared,
            Inputs.learn(seen, () if config.encoder else config.inputs, rare=config.rare),
            labels,
            TagAlphabets.learn(train, config.learns),
            device,
            threads,
            pretrained,
            distilled,
        )
        weights = sum(int(np.prod(shape)) for shape in learner.shape.arrays.values())
        progress.say(
            f"{weights:,} weights, dropout {config.dropout}, {config.epochs} epochs, batches of {config.batch_words} words, on {device}"
        )
        return learner

    @property
    def shape(self) -> NetworkShape:
        """The sizes of the networks."""
        return network_shape(self.config, self.inputs, self.labels, self.tags, self.transformer)

    @property
    def transformer(self) -> Transformer | None:
        """The transformer that is the encoder, if one is, but for its weights."""
        return None if self.pretrained is None else self.pretrained.transformer

    @property
    def _rows(self) -> Inputs | WordPieces:
        """What the network sees of words."""
        return self.inputs if self.transformer is None else self.transformer.pieces

    def fingerprint(self, dev: Treebank | Folds | None) -> str:
        """What a checkpoint must agree with: configuration, data and device."""
        from hashlib import sha256

        told = dev.data if isinstance(dev, Treebank) else str(dev).encode()
        before = b"" if self.pretrained is None else self.pretrained.digest.encode()
        taught = b"" if self.distilled is None else self.distilled.soft_targets.probabilities.tobytes()
        own = (
            repr(self._told_config).encode(),
            before,
            taught,
            self.device.encode(),
            self.train.data,
            self.seen.data,
            told,
        )
        return sha256(b"\0".join(own)).hexdigest()

    @property
    def _told_config(self) -> NeuralConfig:
        """As the model tells it: a transformer by the name of its folder, wherever that is."""
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
        """All networks, each with the weights of its best epoch; and how the last of them came about. ``epochs``: after so many each is
        stopped, the learning rate being what it is then. ``engine``: where the networks of an ensemble are trained."""
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
            self._told_config,
            self.inputs,
            self.labels,
            self.tags,
            tuple(members),
            decoding,
            report=report,
            transformer=self.transformer,
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
        """The networks of the ensemble, one after the other; those that workers train have no checkpoint."""
        count = self.config.ensemble
        if count == 1 or isinstance(engine, ThisProcess):
            for number in range(count):
                if count > 1:
                    progress.say(f"network {number + 1} of {count}")
                yield self._run_one(number, dev, progress, keeper, epochs)
            return
        progress.say(f"{count} networks are trained by workers: no checkpoint is kept")
        own = len(self.train) if self.distilled is None else self.distilled.gold_sentences
        again = partial(
            NeuralLearner.of,
            self.train[:own],
            self.seen[:own],
            self.config,
            self.threads,
            distilled=self.distilled,
        )
        for number, best in enumerate(engine.map(partial(_network, again, dev, epochs), range(count)), 1):
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
        labels = _codes(self.prepared.labels, self.labels)
        tags, taught = self.tags.codes(self.train), None
        if self.distilled is not None:
            taught = self._taught(self.distilled, labels)
            own = int(self.train.sentence_words[self.distilled.gold_sentences])
            for codes in tags:
                codes[own:] = -1  # what the text has is somebody's guess
        data = Data.of(self.seen, self._rows, self.prepared.heads, labels, tags, self.device, taught)
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

    def _taught(self, distilled: DistillationData, labels: npt.NDArray[np.int32]) -> Any:
        """What the teacher says, in the labels of the network."""
        from arcwise.distillation.tensor_targets import TensorTargets

        arcs = distilled.targets(self.prepared.heads, labels, self.labels)
        return TensorTargets(arcs, distilled.weights, self.train.sentence_words.astype(np.int64))

    def _encoder(self) -> Any:
        """The transformer, before it is fine-tuned; None for one of tables and LSTMs."""
        if self.pretrained is None:
            return None
        from arcwise.neural.transformer_encoder import TransformerEncoder

        encoder = TransformerEncoder(self.pretrained.transformer, layers=self.config.encoder_layers)
        encoder.load(self.pretrained.weights)
        return encoder

    def _evaluator(self, trainer: Any, dev: Treebank) -> Callable[[Weights], DevScore]:
        """A function that scores the trainer's averaged weights on the development data."""
        from arcwise.neural.data import Data

        if not (dev.heads >= 0).any():
            raise InputError(f"{dev.source}: has no heads, expected gold trees")
        heads = np.ascontiguousarray(dev.heads, np.int32)
        data = Data.of(dev, self._rows, heads, label_codes(dev, self.labels), (), self.device)
        gold = GoldTrees.of(dev, self.labels)
        by_risk = self.config.objective != "hinge"
        return lambda weights: gold.score(*trainer.parse(data, minimum_risk=by_risk))


def _network(
    learner_of: Callable[..., NeuralLearner], dev: Treebank | None, epochs: int | None, number: int
) -> Best:
    """One network of an ensemble, where there is no learner yet (one does not travel)."""
    quiet = Progress(shown=False)
    return learner_of(progress=quiet)._run_one(number, dev, quiet, None, epochs)


def _train_fold(
    config: NeuralConfig, threads: int, task: FoldTask[DistillationData]
) -> tuple[NeuralModel, FoldScores]:
    """Train a network without the fold and score each epoch on it."""
    quiet = Progress(shown=False)
    assert task.seen is not None
    learner = NeuralLearner.of(task.train, task.seen, config, threads, quiet, task.distilled)
    model, best = learner.run(task.held_out, quiet)
    return model, FoldScores.of(task.held_out, best.history, interrupted=best.interrupted)


def _codes(values: Sequence[str], names: Sequence[str]) -> npt.NDArray[np.int32]:
    known = {name: code for code, name in enumerate(names)}
    return np.array([known.get(value, -1) for value in values], np.int32)


def _cross_validated(learner: NeuralLearner, folds: Folds, progress: Progress, engine: Engine) -> NeuralModel:
    """Choose the epoch by cross-validation, train the final networks for that many epochs on the whole treebank, and
    calibrate them with the held-out networks."""
    distilled = learner.distilled
    gold = len(learner.train) if distilled is None else distilled.gold_sentences
    tasks = fold_tasks(folds, learner.train[:gold], distilled, seen=learner.seen[:gold])
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
