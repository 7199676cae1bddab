"""Background work yields to requests; events reach every listener."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pytest

from arcwise.web.background import PATIENCE, Background
from arcwise.web.events import MAX_WAITING, Events
from web.waiting import until


def test_work_is_done_step_by_step_and_side_by_side() -> None:
    done: list[str] = []

    def work(name: str, steps: int) -> None:
        left = [steps]

        def step() -> bool:
            done.append(name)
            left[0] -= 1
            return left[0] > 0

        background.add(step)

    background = Background()
    work("a", 3)
    work("b", 2)
    background.start()
    until(lambda: len(done) == 5)
    background.stop()
    assert done == ["a", "b", "a", "b", "a"]


def test_no_step_begins_while_a_request_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arcwise.web.background.PATIENCE", 600)
    background, steps = Background(), list[float]()

    def step() -> bool:
        steps.append(time.monotonic())
        return True

    background.add(step)
    background.start()
    until(lambda: len(steps) > 2)
    with background.foreground():
        before = len(steps)
        time.sleep(0.2)
        assert len(steps) <= before + 1  # the one that had begun
    until(lambda: len(steps) > before + 3)
    background.stop()


def test_requests_without_end_do_not_keep_work_from_being_done() -> None:
    background, done = Background(), threading.Event()
    background.add(lambda: bool(done.set()))
    with background.foreground():
        background.start()
        assert done.wait(10 * PATIENCE)
    background.stop()


def test_what_fails_is_told_and_the_rest_goes_on() -> None:
    told: list[str] = []
    background, done, ticks = Background(told.append), threading.Event(), list[int]()

    def broken() -> bool:
        raise ValueError("what went wrong")

    background.add(broken)
    background.add(lambda: bool(done.set()))
    background.every(0.01, lambda: ticks.append(1))
    background.start()
    assert done.wait(10)
    until(lambda: len(ticks) > 3)
    background.stop()
    assert told == ["ValueError: what went wrong"]


# ---- events


def heard(parts: list[bytes]) -> list[object]:
    return [json.loads(p.partition(b"data: ")[2]) for p in parts if b"data: " in p]


def test_every_listener_hears_everything_from_then_on() -> None:
    events = Events()
    events.publish("before")

    async def listen(count: int) -> list[bytes]:
        parts = []
        async for part in events.listen():
            parts.append(part)
            if len(parts) == count:
                break
        return parts

    async def both() -> list[list[bytes]]:
        listening = [asyncio.create_task(listen(3)) for _ in range(2)]
        while events.listeners < 2:
            await asyncio.sleep(0.01)
        threading.Thread(target=lambda: [events.publish("one", text="a\n\nb"), events.publish("two")]).start()
        return await asyncio.gather(*listening)

    for parts in asyncio.run(both()):
        assert heard(parts) == [{"kind": "listening"}, {"kind": "one", "text": "a\n\nb"}, {"kind": "two"}]
        assert all(part.count(b"\n\n") <= 2 for part in parts)


@pytest.mark.parametrize("how", ["close", "flood"])
def test_a_stream_ends(how: str) -> None:
    """With the server; and for a listener that does not keep up, which asks anew."""
    events = Events()

    async def listen() -> int:
        stream = events.listen()
        await stream.__anext__()
        if how == "close":
            events.close()
        for number in range(MAX_WAITING + 10 if how == "flood" else 0):
            events.publish("flood", number=number)
        return len([part async for part in stream])

    assert asyncio.run(listen()) <= 10
    assert events.listeners == 0


def test_after_the_end_nobody_listens() -> None:
    events = Events()
    events.close()

    async def listen() -> list[bytes]:
        return [part async for part in events.listen()]

    assert asyncio.run(listen()) == []
    events.publish("nobody")
