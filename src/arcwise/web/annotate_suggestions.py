"""``SuggestionService``: suggestions of the given model or of the one trained on the current annotation."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from arcwise.annotation.background_job import TaskState
from arcwise.annotation.background_trainer import BackgroundTrainer
from arcwise.annotation.error_detection import ErrorDetection, SuspiciousWord
from arcwise.annotation.suggestions import SentenceSuggestions
from arcwise.errors import InputError
from arcwise.treebanks import Sentence, Treebank
from arcwise.web.events import Events

if TYPE_CHECKING:
    from arcwise.annotation.assistant import Assistant
    from arcwise.annotation.tag_accuracy import TagAccuracy
    from arcwise.parsing.parser import Parser
    from arcwise.text.tokenizer import Tokenizer

CACHED = 256
"""Sentences whose suggestions are cached."""
Which = Literal["given", "trained"]
Json = dict[str, Any]


@dataclass(frozen=True)
class LoadedModel:
    """A parser with its assistant and its description for the page."""

    which: Which
    name: str
    parser: Parser
    assistant: Assistant
    tag_accuracy: TagAccuracy | None = None
    """The confidence of suggested tags and lemmas, where it is known."""

    @classmethod
    def of(
        cls,
        which: Which,
        name: str,
        parser: Parser,
        tag_accuracy: TagAccuracy | None = None,
        *,
        legal: object | None = None,
    ) -> LoadedModel:
        """A model with a new assistant."""
        # Imported here: it loads numpy and all parsers, which the first page does not need without a model.
        from arcwise.annotation.assistant import Assistant

        return cls(which, name, parser, Assistant(parser, legal=legal), tag_accuracy)

    def suggest(self, sentence: Sentence, *, gains: bool) -> SentenceSuggestions:
        """Suggestions, with confidences of tags where they are known."""
        suggestions = self.assistant.suggest(sentence, gains=gains)
        return self.tag_accuracy.complete(sentence, suggestions) if self.tag_accuracy else suggestions

    def to_json(self) -> Json:
        """The description for the page."""
        return {
            "which": self.which,
            "name": self.name,
            "kind": self.parser.kind,
            "labels": list(self.assistant.labels),
            "probabilities": self.assistant.gives_probabilities,
        }


class SuggestionService:
    """Suggestions, training and error detection for a document.

    ``new_model`` is called, from any thread, when another model gives suggestions; ``trained`` after a
    training.
    """

    def __init__(
        self,
        file: Path,
        model: tuple[str, Parser] | None,
        events: Events,
        *,
        legal: object | None = None,
        new_model: Callable[[], None] = lambda: None,
        trained: Callable[[], None] = lambda: None,
        annotated: Callable[[], Iterable[Treebank]] = tuple,
        verdicts: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        """
        model: name and parser of a model that is preferred over a trained one.
        legal: rules for suggested trees (``ParseOptions.legal``).
        annotated: the sentences on which its tags are measured.
        verdicts: answers about suspicious annotations, by the keys of words.
        """
        self._annotated, self._measuring, self._measured = annotated, threading.Lock(), False
        self._events, self._new_model, self._trained = events, new_model, trained
        self._legal = legal
        self._lock = threading.Lock()
        self._cache: OrderedDict[tuple[int, bytes, bool], Future[SentenceSuggestions]] = OrderedDict()
        self._generation = 0  # part of the cache key, so that a late result of an earlier model is never used
        self._models: dict[Which, LoadedModel] = {}
        self._trainer = BackgroundTrainer(file, on_change=self._training_changed)
        self._trainings = len(self._trainer.history)
        self._errors = ErrorDetection(verdicts=verdicts, on_change=self._detection_changed)
        if model is not None:
            self._models["given"] = LoadedModel.of("given", *model, legal=legal)
        trained_parser = self._trainer.model()
        if trained_parser is not None:
            self._models["trained"] = self._trained_model(trained_parser)
        # The model on the command line was chosen; the trained one merely exists next to the file.
        self.model = self._models.get("given") or self._models.get("trained")

    def _trained_model(self, parser: Parser) -> LoadedModel:
        return LoadedModel.of("trained", "trained", parser, self._trainer.tag_accuracy(), legal=self._legal)

    def _measure_tags(self) -> None:
        """Measure the tags of the given model on the annotated sentences, before its first suggestion."""
        with self._measuring:
            model = self._models.get("given")
            if self._measured or model is None or self.model is not model:
                return
            self._measured = True
            accuracy = given_accuracy(model.parser, self._annotated())
            measured = replace(model, tag_accuracy=accuracy)
            self._models["given"] = self.model = measured

    def to_json(self) -> Json:
        """The active model and the available ones."""
        return {
            "model": self.model.to_json() if self.model else None,
            "models": [model.to_json() for model in self._models.values()],
        }

    def suggest(self, sentence: Sentence, *, gains: bool = False) -> SentenceSuggestions | None:
        """Suggestions for a sentence; None without a model. Concurrent requests share one computation."""
        if not self._measured:
            self._measure_tags()
        with self._lock:
            model, key = self.model, (self._generation, sentence.source_bytes, gains)
            if model is None or not len(sentence):
                return None
            pending = self._cache.get(key)
            if pending is not None:
                self._cache.move_to_end(key)
            else:
                # Stored before it is computed, so that a second request waits instead of computing it too.
                future = self._cache[key] = Future()
                while len(self._cache) > CACHED:
                    self._cache.popitem(last=False)
        if pending is not None:
            return pending.result()
        try:
            future.set_result(model.suggest(sentence, gains=gains))
        except BaseException as error:  # any: other threads may be waiting for the future
            with self._lock:
                self._cache.pop(key, None)
            future.set_exception(error)
        return future.result()

    def cached(self, sentence: Sentence) -> SentenceSuggestions | None:
        """Suggestions for a sentence if they have been computed; never waits."""
        with self._lock:
            future = self._cache.get((self._generation, sentence.source_bytes, False))
        return future.result() if future is not None and future.done() and not future.exception() else None

    def tokenizer(self) -> tuple[str, Tokenizer] | None:
        """The tokenizer of the active model, else of another one, with the model's name; None without one."""
        models = [self.model, *self._models.values()]
        if not any(models):
            return None
        from arcwise.pipeline.pipeline import as_pipeline  # a model is loaded, and with it the pipeline

        for model in models:
            pipeline = as_pipeline(model.parser) if model else None
            if model and pipeline:
                return model.name, pipeline.tokenizer
        return None

    def use(self, which: str) -> None:
        """Switch to another model."""
        model = {str(name): model for name, model in self._models.items()}.get(which)
        if model is None:
            raise InputError(
                f"which: found {which!r}, expected one of {', '.join(self._models) or 'none yet'}"
            )
        with self._lock:
            self.model = model
            self._generation += 1
            self._cache.clear()
        self._new_model()
        self._events.publish("model", model=model.to_json())

    def train(self, treebank: Treebank) -> Json:
        """Start a training on the annotation of a treebank."""
        self._trainer.start(treebank)
        return self.training()

    def cancel(self) -> Json:
        """Stop the training."""
        self._trainer.cancel()
        return self.training()

    def training(self) -> Json:
        """The state of the training, and the history of all trainings of the file."""
        state = self._trainer.state
        return {
            "state": state.state,
            "progress": state.progress,
            "message": state.message,
            "history": [asdict(record) for record in self._trainer.history],
        }

    def _training_changed(self, state: TaskState) -> None:
        self._progress("train", state)
        if state.state != "idle":
            return
        history = self._trainer.history
        if len(history) == self._trainings:
            return
        self._trainings = len(history)
        parser = self._trainer.model()
        if parser is not None:
            self._models["trained"] = self._trained_model(parser)
            self.use("trained")
            self._events.publish("trained", **asdict(history[-1]))
            self._trained()

    def detect_errors(self, treebank: Treebank) -> None:
        """Look for suspicious annotations in the background."""
        self._errors.start(treebank)

    def answer_suspicion(self, key: str, verdict: str) -> None:
        """Rerank suspicious annotations after an answer about one."""
        self._errors.answer(key, verdict)

    def detection(self) -> tuple[Json, list[Json]]:
        """The state of the search for suspicious annotations, and its results, most probable error first."""
        state = self._errors.state
        # The name of the state is that of a training, which runs in the same way.
        names = {"training": "running"}
        job = {
            "state": names.get(state.state, state.state),
            "progress": state.progress,
            "message": state.message,
        }
        words = [{"sentence": word.sentence, **_suspicious_json(word)} for word in self._errors.all()]
        return {**job, "searched": self._errors.finished}, words

    def _detection_changed(self, state: TaskState) -> None:
        self._progress("doubts", state)
        if state.state != "training":  # ended: with results, cancelled or failed
            self._events.publish("doubts", message=state.message, state=state.state)

    def _progress(self, work: str, state: TaskState) -> None:
        self._events.publish(
            "progress", work=work, done=state.progress, total=1, message=state.message, state=state.state
        )

    def suspicious_words(self, number: int) -> list[Json]:
        """The suspicious annotations of a sentence."""
        return [_suspicious_json(word) for word in self._errors.of(number)]

    def changed(self, numbers: list[int], count: int | None) -> None:
        """Forget results for changed sentences; ``count``: the new number of sentences, if it changed."""
        self._errors.changed(numbers, count=count)

    def close(self) -> None:
        """Stop all background processes."""
        self._trainer.cancel()
        # A training that has just ended may be reading the document, to start a search.
        self._trainer.wait(10)
        self._errors.cancel()


def given_accuracy(parser: Parser, treebanks: Iterable[Treebank]) -> TagAccuracy | None:
    """The accuracy of a model's tags on annotated sentences; None without a tagger or such sentences."""
    # Imported here: a server without a model never loads the pipeline.
    from arcwise.annotation.tag_accuracy import TagAccuracy
    from arcwise.pipeline.pipeline import as_pipeline

    pipeline = as_pipeline(parser)
    return None if pipeline is None else TagAccuracy.of_tagger(pipeline.tagger, treebanks)


def _suspicious_json(word: SuspiciousWord) -> Json:
    proposed = {"head": word.instead_head, "label": word.instead_label}
    return {
        "row": str(word.word),
        "head": word.head,
        "label": word.label,
        "probability": word.probability,
        "instead": proposed if word.instead_head >= 0 else None,
        "reasons": list(word.reasons),
        "similar": {"query": word.query, "changes": word.changes},
    }
