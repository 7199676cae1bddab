"""The parser that thinks along: the one that was given, or the one that was trained on what is decided."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from arcwise.annotation.background_job import TaskState
from arcwise.annotation.background_trainer import BackgroundTrainer
from arcwise.annotation.error_detection import ErrorDetection
from arcwise.annotation.suggestions import SentenceSuggestions
from arcwise.errors import InputError
from arcwise.treebanks import Sentence, Treebank
from arcwise.web.events import Events

if TYPE_CHECKING:
    from arcwise.annotation.assistant import Assistant
    from arcwise.parsing.parser import Parser

REMEMBERED = 256
"""Sentences whose thoughts are kept."""
Which = Literal["given", "trained"]
Json = dict[str, Any]


@dataclass(frozen=True)
class LoadedModel:
    """A parser and what the page shows of it."""

    which: Which
    name: str
    parser: Parser
    assistant: Assistant

    @classmethod
    def of(cls, which: Which, name: str, parser: Parser) -> LoadedModel:
        """A model with its assistant."""
        from arcwise.annotation.assistant import Assistant  # the first page may need none of it

        return cls(which, name, parser, Assistant(parser))

    def to_json(self) -> Json:
        """What the page shows."""
        return {
            "which": self.which,
            "name": self.name,
            "kind": self.parser.kind,
            "labels": list(self.assistant.labels),
            "probabilities": self.assistant.gives_probabilities,
        }


class SuggestionService:
    """SentenceSuggestions of sentences, trainings and doubts. ``new_model`` is called, from any thread, when another parser thinks along, ``trained`` when one
    was trained."""

    def __init__(
        self,
        file: Path,
        given: tuple[str, Parser] | None,
        events: Events,
        *,
        new_model: Callable[[], None] = lambda: None,
        trained: Callable[[], None] = lambda: None,
    ) -> None:
        self._events, self._new_model, self._trained = events, new_model, trained
        self._lock = threading.Lock()
        self._thoughts: OrderedDict[tuple[int, bytes, bool], Future[SentenceSuggestions]] = OrderedDict()
        self._generation = 0
        self._models: dict[Which, LoadedModel] = {}
        self._learner = BackgroundTrainer(file, on_change=self._training_changed)
        self._trainings = len(self._learner.history)
        self._doubts = ErrorDetection(on_change=self._doubts_changed)
        if given is not None:
            self._models["given"] = LoadedModel.of("given", *given)
        learnt = self._learner.model()
        if learnt is not None:
            self._models["trained"] = LoadedModel.of("trained", "trained", learnt)
        self.model = self._models.get("given") or self._models.get("trained")

    def to_json(self) -> Json:
        """The model that thinks along, and those that could."""
        return {
            "model": self.model.to_json() if self.model else None,
            "models": [model.to_json() for model in self._models.values()],
        }

    # ---- thinking

    def think(self, sentence: Sentence, *, gains: bool = False) -> SentenceSuggestions | None:
        """What the parser thinks of a sentence; None without one. Whoever asks while another is at it waits for that."""
        with self._lock:
            model, key = self.model, (self._generation, sentence.source_bytes, gains)
            if model is None or not len(sentence):
                return None
            found = self._thoughts.get(key)
            if found is not None:
                self._thoughts.move_to_end(key)
            else:
                mine = self._thoughts[key] = Future()
                while len(self._thoughts) > REMEMBERED:
                    self._thoughts.popitem(last=False)
        if found is not None:
            return found.result()
        try:
            mine.set_result(model.assistant.suggest(sentence, gains=gains))
        except BaseException as error:
            with self._lock:
                self._thoughts.pop(key, None)
            mine.set_exception(error)
        return mine.result()

    def known(self, sentence: Sentence) -> SentenceSuggestions | None:
        """What the parser thinks of a sentence, if that is known already."""
        with self._lock:
            found = self._thoughts.get((self._generation, sentence.source_bytes, False))
        return found.result() if found is not None and found.done() and not found.exception() else None

    def use(self, which: str) -> None:
        """Another of the models thinks along from now on."""
        model = {str(name): model for name, model in self._models.items()}.get(which)
        if model is None:
            raise InputError(
                f"which: found {which!r}, expected one of {', '.join(self._models) or 'none yet'}"
            )
        with self._lock:
            self.model = model
            self._generation += 1
            self._thoughts.clear()
        self._new_model()
        self._events.publish("model", model=model.to_json())

    # ---- learning

    def train(self, treebank: Treebank) -> Json:
        """Begin to train on what is decided."""
        self._learner.start(treebank)
        return self.training()

    def cancel(self) -> Json:
        """End the training."""
        self._learner.cancel()
        return self.training()

    def training(self) -> Json:
        """Where the training stands, and all trainings of the file."""
        return {
            **asdict(self._learner.state),
            "history": [asdict(trained) for trained in self._learner.history],
        }

    def _training_changed(self, state: TaskState) -> None:
        self._progress("train", state)
        if state.state != "idle":
            return
        history = self._learner.history
        if len(history) == self._trainings:
            return
        self._trainings = len(history)
        parser = self._learner.model()
        if parser is not None:
            self._models["trained"] = LoadedModel.of("trained", "trained", parser)
            self.use("trained")
            self._events.publish("trained", **asdict(history[-1]))
            self._trained()

    # ---- doubts

    def find_doubts(self, treebank: Treebank) -> None:
        """Look for words whose annotation is improbable, in the background."""
        self._doubts.start(treebank)

    def _doubts_changed(self, state: TaskState) -> None:
        self._progress("doubts", state)
        if state.state == "idle":
            self._events.publish("doubts", told=state.told)

    def _progress(self, work: str, state: TaskState) -> None:
        self._events.publish(
            "progress", work=work, done=state.progress, total=1, told=state.told, state=state.state
        )

    def doubts(self, number: int) -> list[Json]:
        """Those of a sentence."""
        return [
            {
                "row": str(doubt.word),
                "head": doubt.head,
                "label": doubt.label,
                "probability": doubt.probability,
                "instead": {
                    "head": doubt.instead_head,
                    "label": doubt.instead_label,
                    "probability": doubt.instead_probability,
                },
            }
            for doubt in self._doubts.of(number)
        ]

    def changed(self, numbers: list[int], count: int | None) -> None:
        """These sentences are not what they were; ``count``: how many there are now, if that changed."""
        self._doubts.changed(numbers, count=count)

    def close(self) -> None:
        """End what runs in other threads and processes."""
        self._learner.cancel()
        self._doubts.cancel()
