"""HTTP load generators: closed loop with wrk (or an asyncio client without it), and open loop."""

from __future__ import annotations

import asyncio
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

_SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "%(kind)s"
local bodies, at = {}, 0
for line in io.lines("%(bodies)s") do bodies[#bodies + 1] = line end
request = function()
  at = at %% #bodies + 1
  return wrk.format(nil, "%(path)s", nil, bodies[at])
end
done = function(summary, latency, requests)
  local e = summary.errors
  print(string.format("FOUND %%d %%f %%f %%f %%d %%d", summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, e.connect + e.write + e.status + e.timeout, e.read))
end
"""


@dataclass(frozen=True)
class Load:
    """Outcome of a load run."""

    requests: int
    seconds: float
    median_ms: float
    p99_ms: float
    errors: int
    cpu_ms: float = 0.0
    """CPU milliseconds of the service per request."""

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.requests / self.seconds


def ask(
    address: str,
    path: str,
    kind: str,
    bodies: Sequence[str],
    *,
    connections: int,
    seconds: float,
    closes: bool = False,
) -> Load:
    """Send requests on a number of connections, with wrk if it is installed.

    ``closes``: the service ends responses by closing the connection, which wrk counts as an error.
    """
    if shutil.which("wrk") is None:
        return asyncio.run(_ask(address, path, kind, bodies, connections, seconds))
    with tempfile.TemporaryDirectory() as folder:
        script, data = Path(folder) / "ask.lua", Path(folder) / "bodies.txt"
        data.write_text("\n".join(bodies))
        script.write_text(_SCRIPT % {"kind": kind, "bodies": data, "path": path})
        command = [
            "wrk",
            "-t1",
            f"-c{connections}",
            f"-d{seconds:g}s",
            "--timeout",
            "30s",
            "-s",
            str(script),
            address,
        ]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    fields = next(line for line in said.splitlines() if line.startswith("FOUND ")).split()[1:]
    errors = int(fields[4]) + (0 if closes else int(fields[5]))
    return Load(int(fields[0]), float(fields[1]), float(fields[2]), float(fields[3]), errors)


def arrive(
    address: str, path: str, kind: str, bodies: Sequence[str], *, rate: float, seconds: float, seed: int = 1
) -> Load:
    """Send requests at random times, ``rate`` per second on average (a Poisson process), on free
    connections.

    Latency counts from when a request was due, not from when a connection became free.
    """
    return asyncio.run(_arrive(address, path, kind, bodies, rate, seconds, random.Random(seed)))


class _Connection:
    """A connection to a service, for one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, address: str) -> _Connection:
        place = urlsplit(address)
        return cls(*await asyncio.open_connection(place.hostname, place.port))

    async def asked(self, path: str, kind: str, body: bytes) -> bool:
        """Whether the response is a success."""
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = answer.split(b"content-length: ")[1].split(b"\r\n")[0]
        await self._reader.readexactly(int(length))
        return b" 200 " in answer.split(b"\r\n")[0]

    def close(self) -> None:
        self._writer.close()


def _load(times: list[float], seconds: float, errors: int) -> Load:
    times.sort()
    middle, late = (1e3 * times[int(share * len(times))] for share in (0.5, 0.99))
    return Load(len(times), seconds, middle, late, errors)


async def _arrive(
    address: str,
    path: str,
    kind: str,
    bodies: Sequence[str],
    rate: float,
    seconds: float,
    draws: random.Random,
) -> Load:
    free: list[_Connection] = []
    times: list[float] = []
    errors = 0

    async def one(body: bytes, due: float) -> None:
        nonlocal errors
        connection = free.pop() if free else await _Connection.open(address)
        errors += not await connection.asked(path, kind, body)
        times.append(time.perf_counter() - due)
        free.append(connection)

    due = began = time.perf_counter()
    asked: list[asyncio.Task[None]] = []
    while due < began + seconds:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        asked.append(asyncio.create_task(one(bodies[len(asked) % len(bodies)].encode(), due)))
        due += draws.expovariate(rate)
    await asyncio.gather(*asked)
    for connection in free:
        connection.close()
    return _load(times, time.perf_counter() - began, errors)


async def _ask(
    address: str, path: str, kind: str, bodies: Sequence[str], connections: int, seconds: float
) -> Load:
    end = time.perf_counter() + seconds
    times: list[float] = []
    errors = 0

    async def client(number: int) -> None:
        nonlocal errors
        connection = await _Connection.open(address)
        at = number
        while time.perf_counter() < end:
            body = bodies[at % len(bodies)].encode()
            at += connections
            began = time.perf_counter()
            errors += not await connection.asked(path, kind, body)
            times.append(time.perf_counter() - began)
        connection.close()

    await asyncio.gather(*(client(number) for number in range(connections)))
    return _load(times, seconds, errors)
