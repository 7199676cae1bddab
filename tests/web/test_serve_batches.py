"""Requests done together: the same answers as alone, in any company; lines, limits, time."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn")

from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.errors import ArcwiseError
from arcwise.inference import Constraints, TreeDistribution
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank
from arcwise.web import serve_batches, serve_tasks
from arcwise.web.serve_batches import LONG, Batcher, RequestQueues
from arcwise.web.serve_input import Source
from arcwise.web.serve_limits import (
    DeadlineExceeded,
    Limits,
    RequestRefused,
    WorkDeadline,
    WorkStopped,
    deadline,
)
from arcwise.web.serve_metrics import ServiceMetrics
from arcwise.web.serve_models import ServedModel
from arcwise.web.serve_tasks import ParseTask, TaskResult, run_tasks
from web.serving import english, serving_here, small_graph_parser
from web.waiting import until

MODEL = ServedModel("english", english())
GRAPH = ServedModel("graph", small_graph_parser())
ROWS = "# text = Birds sing\n1\tBirds\t_\tNOUN\t_\t_\t_\t_\t_\t_\n2\tsing\t_\tVERB\t_\t_\t_\t_\t_\t_\n"
CONFIDENT = ParseOptions(confidence=True)


def task(text: str = "Birds sing. They don't fly!", **settings: Any) -> ParseTask:
    return ParseTask(settings.pop("model", MODEL), Source("text", text), **settings)


KINDS = [
    task(),
    task("The cat saw a dog."),
    task(""),
    task("Birds sing.", options=CONFIDENT),
    task("The cat saw a dog.", options=CONFIDENT),
    task("A dog.", parse=False),
    task("Two dogs.", parse=False, tag=False),
    task("Cats sleep.", tag=False),
    task("Cats sleep. Dogs, too.", options=ParseOptions(k_best=3)),
    ParseTask(MODEL, Source("conllu", ROWS)),
    ParseTask(MODEL, Source("conllu", ROWS + "\n\n")),
    ParseTask(MODEL, Source("conllu", "\ufeff" + ROWS)),
    ParseTask(MODEL, Source("conllu", (ROWS + "\n").replace("\n", "\r\n")), options=CONFIDENT),
    ParseTask(
        MODEL, Source("conllu", ROWS + "\n"), options=CONFIDENT, constraints=[Constraints(required=[(0, 1)])]
    ),
    ParseTask(MODEL, Source("conllu", ROWS + "\n"), constraints=[Constraints(required=[(7, 1)])]),
    ParseTask(MODEL, Source("conllu", "rubbish")),
    ParseTask(MODEL, Source("conllu", "# a comment, and no sentence\n")),
    ParseTask(MODEL, Source("conllu", ROWS + "\n# a comment after the last sentence\n")),
    ParseTask(MODEL, Source("conllu", "\n\n# a\n\n# b\n" + ROWS)),
    ParseTask(MODEL, Source("horizontal", "Birds sing\nDogs bark")),
    ParseTask(GRAPH, Source("conllu", ROWS + "\n"), tag=False),
    ParseTask(GRAPH, Source("text", "Birds sing.")),
    task("one two three four five", limits=Limits(max_words=3)),
]


def told(answer: TaskResult) -> object:
    return (type(answer), str(answer)) if isinstance(answer, Exception) else answer.data


ALONE = [told(run_tasks([own])[0]) for own in KINDS]


@given(st.lists(st.integers(0, len(KINDS) - 1), max_size=12))
@settings(max_examples=60, deadline=None)
def test_in_any_company_as_alone(chosen: list[int]) -> None:
    found = run_tasks([KINDS[at] for at in chosen])
    assert [told(answer) for answer in found] == [ALONE[at] for at in chosen]


def test_alone_as_the_library() -> None:
    nlp = english()
    text = "Birds sing. They don't fly!"
    assert ALONE[0] == nlp.parse(nlp.tokenizer.tokenize(text).treebank).data
    assert ALONE[3] == nlp.parse(nlp.tokenizer.tokenize("Birds sing.").treebank, options=CONFIDENT).data
    assert [kind for kind, *_ in (a for a in ALONE if isinstance(a, tuple))].count(RequestRefused) == 1


def test_one_native_call_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    parse = type(english()).parse

    def counted(self: Any, treebank: Treebank, **options: Any) -> Treebank:
        calls.append(len(treebank))
        return parse(self, treebank, **options)

    monkeypatch.setattr(type(english()), "parse", counted)
    run_tasks([task("Birds sing."), task("Cats sleep."), ParseTask(MODEL, Source("conllu", ROWS))])
    assert calls == [3]


# ---- lines


class SlowWork:
    """Work that waits until it may go on, and notes what it was given."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go = threading.Event()
        self.begun = threading.Event()

    def __call__(self, tasks: Sequence[ParseTask]) -> list[TaskResult]:
        self.batches.append([own.source.data for own in tasks])
        self.begun.set()
        assert self.go.wait(10)
        return [Treebank(b"") for _ in tasks]


def in_a_loop(work: Any) -> Any:
    return asyncio.run(work())


def test_what_gathers_meanwhile_is_done_together() -> None:
    slow = SlowWork()

    async def run() -> None:
        batcher = Batcher(Limits(), ServiceMetrics(), work=slow)
        asked = [asyncio.ensure_future(batcher.do(task("first")))]
        await asyncio.to_thread(slow.begun.wait, 10)
        asked += [asyncio.ensure_future(batcher.do(task(name))) for name in "abc"]
        await asyncio.sleep(0)
        assert batcher.waiting == 3
        slow.go.set()
        await asyncio.gather(*asked)
        batcher.stop()

    in_a_loop(run)
    assert slow.batches == [["first"], ["a", "b", "c"]]


def test_a_batch_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_batches, "BATCH", 10)
    slow = SlowWork()

    async def run() -> None:
        batcher = Batcher(Limits(), ServiceMetrics(), work=slow)
        asked = [asyncio.ensure_future(batcher.do(task("x")))]
        await asyncio.to_thread(slow.begun.wait, 10)
        asked += [asyncio.ensure_future(batcher.do(task(size * "y"))) for size in (4, 6, 1, 25, 2)]
        await asyncio.sleep(0)
        slow.go.set()
        await asyncio.gather(*asked)
        batcher.stop()

    in_a_loop(run)
    assert [[len(text) for text in batch] for batch in slow.batches] == [[1], [4, 6], [1], [25], [2]]


def test_too_many_wait() -> None:
    slow = SlowWork()

    async def run() -> None:
        batcher = Batcher(Limits(queue=2), ServiceMetrics(), work=slow)
        asked = [asyncio.ensure_future(batcher.do(task("first")))]
        await asyncio.to_thread(slow.begun.wait, 10)
        asked += [asyncio.ensure_future(batcher.do(task(name))) for name in "ab"]
        await asyncio.sleep(0)
        with pytest.raises(RequestRefused, match="2 requests are waiting") as refused:
            await batcher.do(task("c"))
        assert refused.value.status == 429
        slow.go.set()
        await asyncio.gather(*asked)
        batcher.stop()

    in_a_loop(run)


def test_too_slow_and_what_is_given_up_is_not_done() -> None:
    slow = SlowWork()

    async def run() -> None:
        batcher = Batcher(Limits(max_seconds=0.05), ServiceMetrics(), work=slow)
        asked = [asyncio.ensure_future(batcher.do(task("first")))]
        await asyncio.to_thread(slow.begun.wait, 10)
        asked.append(asyncio.ensure_future(batcher.do(task("waits"))))
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [own.status for own in found if isinstance(own, RequestRefused)] == [503, 503]
        slow.go.set()
        batcher.stop()

    in_a_loop(run)
    assert slow.batches == [["first"]]


def test_a_mistake_ends_neither_thread_nor_others() -> None:
    def broken(tasks: Sequence[ParseTask]) -> list[TaskResult]:
        raise MemoryError("no more")

    async def run() -> None:
        batcher = Batcher(Limits(), ServiceMetrics(), work=broken)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="MemoryError: no more"):
                await batcher.do(task("a"))
        batcher.stop()

    in_a_loop(run)


def test_short_requests_do_not_wait_for_long_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def work(tasks: Sequence[ParseTask]) -> list[TaskResult]:
        assert go.wait(10)
        return [Treebank(b"") for _ in tasks]

    monkeypatch.setattr(serve_batches, "run_tasks", work)

    async def run() -> None:
        lines = RequestQueues(Limits(), ServiceMetrics())
        long = asyncio.ensure_future(lines.do_long(task(LONG * "x")))
        await lines.do_short(task("short"))
        assert not long.done()
        go.set()
        await long
        lines.stop()

    in_a_loop(run)


def test_within() -> None:
    async def run() -> None:
        with deadline(10):
            await asyncio.sleep(0)
        with pytest.raises(DeadlineExceeded):
            with deadline(0.01):
                await asyncio.sleep(10)
        await asyncio.sleep(0)  # nothing is left over
        with pytest.raises(ValueError, match="own"):
            with deadline(10):
                raise ValueError("own")

    in_a_loop(run)


# ---- through the service


def test_many_at_once() -> None:
    texts = [f"Bird number {i} sings. It flies." for i in range(24)]
    with serving_here() as service, ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda text: service.parse(text=text).json(), texts))
        metrics = service.get("/metrics").text
    for text, own in zip(texts, found, strict=True):
        alone = english()(text)
        assert own["text"] == text
        assert [[w["head"] for w in s["words"]] for s in own["sentences"]] == [
            s.heads.tolist()[1:] for s in alone
        ]
    assert "arcwise_batched_requests_total 24" in metrics


@pytest.mark.slow
def test_limits_of_a_request() -> None:
    limits = Limits(max_body=2000, max_words=5, max_work=500, max_answer=100_000)
    with serving_here(limits) as service:
        long = service.process(data="one two three four five six", input="horizontal", parser="")
        assert (long.status, long.text) == (413, "sentence 1: found 6 words, expected at most 5\n")
        large = service.process(data="x" * 3000, tokenizer="")
        assert (large.status, large.text) == (413, "body: is larger than 2000 bytes\n")
        pieces = service.ask(
            "POST", "/v1/parse", headers={"Content-Type": "application/json"}, body=[b"x" * 1500] * 5
        )
        assert (pieces.status, pieces.json()) == (413, {"error": "body: is larger than 2000 bytes"})
        many = service.parse(words=50 * [["a", "b", "."]], k_best=100)
        assert many.status == 413
        assert many.json()["error"].startswith("k_best: the response would have about 6400000 bytes")
        work = service.parse(words=60 * [["a", "b", "."]])
        assert (work.status, work.json()["error"][:54]) == (
            413,
            "sentences: their words times their lengths are 540, ex",
        )
        assert service.process(data="fine", tokenizer="").status == 200


def test_time_of_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(tasks: Sequence[ParseTask]) -> list[TaskResult]:
        time.sleep(0.3)
        return run_tasks(tasks)

    monkeypatch.setattr(Batcher.__init__, "__kwdefaults__", {"work": slow})
    with serving_here(Limits(max_seconds=0.1)) as service:
        answer = service.parse(text="Birds sing.")
        assert answer.status == 503
        assert answer.json()["error"].startswith("time: the response took longer than 0.1 seconds")
        assert answer.headers["retry-after"] == "5"


def test_too_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = SlowWork()
    monkeypatch.setattr(Batcher.__init__, "__kwdefaults__", {"work": slow})
    with serving_here(Limits(queue=1)) as service, ThreadPoolExecutor(2) as threads:
        first = threads.submit(service.parse, text="first")
        assert slow.begun.wait(10)
        second = threads.submit(service.parse, text="waits")
        until(lambda: "arcwise_open_requests 3" in service.get("/metrics").text)
        refused = service.parse(text="too many")
        assert (refused.status, refused.headers["retry-after"]) == (429, "1")
        assert refused.json() == {"error": "queue: 1 requests are waiting; try again in a second"}
        assert [service.get(path).status for path in ("/livez", "/healthz", "/readyz")] == [200, 200, 503]
        slow.go.set()
        assert (first.result().status, second.result().status) == (200, 200)
        assert service.get("/readyz").status == 200


def test_errors_of_the_library_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(tasks: Sequence[ParseTask]) -> list[TaskResult]:
        return [ArcwiseError("one sentence") if t.source.data == "a" else KeyError("x") for t in tasks]

    monkeypatch.setattr(Batcher.__init__, "__kwdefaults__", {"work": broken})
    with serving_here() as service:
        assert (service.parse(text="a").status, service.parse(text="a").json()) == (
            400,
            {"error": "one sentence"},
        )
        assert service.parse(text="b").json() == {"error": "Internal error: KeyError: 'x'"}
        assert service.parse(text="b").status == 500


def test_a_parser_that_ignores_its_limit_is_noticed() -> None:
    """The worker then gives no sign of life, and the supervisor restarts it."""
    slow = SlowWork()

    async def run() -> None:
        batcher = Batcher(Limits(), ServiceMetrics(), work=slow)
        assert batcher.stuck_seconds == 0
        # Long enough for the work to begin before the limit on a busy machine.
        asked = asyncio.ensure_future(batcher.do(task("slow", deadline=WorkDeadline(0.5))))
        assert await asyncio.to_thread(slow.begun.wait, 10)
        with pytest.raises(RequestRefused, match="took longer"):
            await asked
        await asyncio.sleep(0.05)
        assert batcher.stuck_seconds > 0
        slow.go.set()
        batcher.stop()
        assert batcher.stuck_seconds == 0

    in_a_loop(run)


def test_slices_give_the_same_as_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Birds sing. They don't fly! The cat saw a dog near the old river, and ran. " * 4
    for options in (ParseOptions(), CONFIDENT, ParseOptions(k_best=2), ParseOptions(keep=("upos",))):
        whole = told(run_tasks([task(text, options=options)])[0])
        for words, work in ((1, 10**9), (10**9, 1), (20, 300)):
            monkeypatch.setattr(serve_tasks, "SLICE_WORDS", words)
            monkeypatch.setattr(serve_tasks, "SLICE_WORK", work)
            assert told(run_tasks([task(text, options=options)])[0]) == whole
        monkeypatch.undo()


def test_work_stops_between_slices_when_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve_tasks, "SLICE_WORDS", 1)
    deadline, calls = WorkDeadline(60), []
    parse = type(english()).parse

    def counted(self: Any, treebank: Treebank, **options: Any) -> Treebank:
        calls.append(len(treebank))
        deadline.cancel()
        return parse(self, treebank, **options)

    monkeypatch.setattr(type(english()), "parse", counted)
    (result,) = run_tasks([task("Birds sing. They fly. Dogs bark.", deadline=deadline)])
    assert isinstance(result, RequestRefused)
    assert (result.status, calls) == (503, [1])


def test_work_stops_inside_a_long_sentence() -> None:
    """The kernels check the deadline too, and the next question is answered as usual."""
    distribution = TreeDistribution(np.zeros((151, 151)), projective=True, single_root=True)
    deadline = WorkDeadline(60)
    with pytest.raises(WorkStopped), deadline:
        deadline.cancel()
        _ = distribution.marginals
    assert distribution.marginals.shape == (151, 151)
