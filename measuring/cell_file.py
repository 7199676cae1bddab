"""Results of cells as lines of JSON, kept in the repository beside the page they fill.

A cell is one computation: its kind, its specification, the hashes of its sources and data, its figures, what
it took, and the commit, date and machine that computed it. A page of results is written from such a file
alone. Files of two machines are merged by concatenating their lines; where a cell occurs twice, the one
computed by the present code counts, then the newer one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.treebanks.files import open_output
from measuring.sources import code_hash


def key_of(kind: str, spec: Any) -> str:
    """Identify a computation, whatever code and data it runs with."""
    text = json.dumps([kind, spec], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Cell:
    """The result of a computation."""

    kind: str
    """Names the sources it depends on (``measuring.sources.KINDS``)."""
    spec: dict[str, Any]
    """Everything else that determines the figures, except the data."""
    code: str
    data: str
    figures: dict[str, Any]
    """Reproducible to the digit."""
    resources: dict[str, float]
    """Seconds, memory, speed: they differ from run to run."""
    commit: str
    date: str
    machine: str

    @property
    def key(self) -> str:
        return key_of(self.kind, self.spec)


@dataclass(frozen=True)
class Blessing:
    """A change of the sources that left a sample of the cells identical to the digit."""

    kind: str
    before: str
    """Hash of the sources that computed the cells."""
    after: str
    """Hash of the sources that computed the sample again."""
    sample: tuple[str, ...]
    """Keys of the cells of the sample."""
    cells: int
    """Number of cells of this kind on the page."""
    date: str
    machine: str


@dataclass
class CellFile:
    """The cells and blessings of a page."""

    path: Path
    read_only: bool = False
    """Missing figures end the program instead of being computed."""
    used: dict[str, Cell] = field(default_factory=dict)
    """Cells that this process has used, by key."""

    def __post_init__(self) -> None:
        self._cells: dict[str, Cell] = {}
        self.blessings: list[Blessing] = []
        self._read()

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells.values())

    def current(self, kind: str, spec: Any, data: str | None) -> Cell | None:
        """The cell of a computation, if the present code and these data computed it.

        ``data``: None where the data are not at hand, which is enough to write a page.
        """
        cell = self._cells.get(key_of(kind, spec))
        if cell is None or not self.is_current(cell) or data not in (None, cell.data):
            return None
        self.used[cell.key] = cell
        return cell

    def is_current(self, cell: Cell) -> bool:
        """Whether the present code computed a cell, or code that was blessed since."""
        return code_hash(cell.kind) in self.blessed(cell)

    def blessed(self, cell: Cell) -> set[str]:
        """The hash of the sources of a cell, and those that blessings lead to."""
        hashes, steps = {cell.code}, [b for b in self.blessings if b.kind == cell.kind]
        for _ in steps:
            hashes |= {step.after for step in steps if step.before in hashes}
        return hashes

    def put(self, cell: Cell) -> None:
        """Add a cell and write the file."""
        self._read()  # another process may have added cells
        self._cells[cell.key] = self.used[cell.key] = cell
        self.write()

    def keep_used(self) -> None:
        """Forget the cells that this process has not used: the page no longer has them."""
        if self._cells.keys() != self.used.keys():
            self._cells = dict(self.used)
            self.write()

    def bless(self, blessings: Iterable[Blessing]) -> None:
        """Add blessings and write the file."""
        self._read()
        self.blessings += blessings
        self.write()

    def write(self) -> None:
        """Write one line per cell, ordered, so that versions differ only in the lines of changed cells."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps({"cell": key, **asdict(cell)}) for key, cell in sorted(self._cells.items())]
        lines += [json.dumps({"blessing": asdict(blessing)}) for blessing in self.blessings]
        with open_output(self.path) as stream:
            stream.write("".join(line + "\n" for line in lines).encode())

    def _read(self) -> None:
        if not self.path.exists():
            return
        self.blessings = []
        for number, line in enumerate(self.path.read_text(encoding="utf-8").splitlines(), start=1):
            try:
                self._add(json.loads(line))
            except (ValueError, TypeError, KeyError) as error:
                raise SystemExit(f"{self.path}:{number}: not a cell: {error}") from None

    def _add(self, values: dict[str, Any]) -> None:
        if "blessing" in values:
            blessing = Blessing(**values["blessing"] | {"sample": tuple(values["blessing"]["sample"])})
            if blessing not in self.blessings:
                self.blessings.append(blessing)
            return
        key = values.pop("cell")
        cell = Cell(**values)
        if cell.key != key:
            raise ValueError(f"key {key}, where kind and specification have {cell.key}")
        before = self._cells.get(key)
        if before is None or self._rank(before) <= self._rank(cell):
            self._cells[key] = cell

    def _rank(self, cell: Cell) -> tuple[bool, str]:
        return cell.code == code_hash(cell.kind), cell.date


def packed(values: npt.NDArray[Any]) -> str:
    """Numbers as short text: compressed bits for flags, 16-bit numbers otherwise.

    >>> unpacked(packed(np.array([True, False, True]))).tolist()
    [True, False, True]
    >>> unpacked(packed(np.array([3, 500]))).tolist()
    [3, 500]
    """
    if values.dtype == np.bool_:
        text, data = f"b{len(values)}:", np.packbits(values).tobytes()
    else:
        text, data = "n:", values.astype("<u2").tobytes()
    return text + base64.b85encode(zlib.compress(data, 9)).decode()


def unpacked(text: str) -> npt.NDArray[Any]:
    """Reverse ``packed``."""
    head, _, body = text.partition(":")
    data = np.frombuffer(zlib.decompress(base64.b85decode(body)), np.uint8)
    if head == "n":
        return data.view("<u2").astype(np.int64)
    return np.unpackbits(data, count=int(head[1:])).astype(bool)


def differences(before: Any, after: Any, where: str = "") -> list[str]:
    """Describe where two sets of figures differ, to the last digit.

    >>> differences({"uas": 0.5, "n": [1, 2]}, {"uas": 0.25, "n": [1, 2]})
    ['uas: 0.5, now 0.25']
    """
    if isinstance(before, dict) and isinstance(after, dict):
        pairs = [(f"{where} {key}".strip(), key) for key in sorted(before.keys() | after.keys())]
        return [line for place, key in pairs for line in differences(before.get(key), after.get(key), place)]
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        items = enumerate(zip(before, after, strict=True))
        return [line for place, pair in items for line in differences(*pair, f"{where}[{place}]")]
    if before == after or (_is_packed(before) and _is_packed(after) and _same(before, after)):
        return []
    if _is_packed(before):
        return [f"{where}: not the same words"]
    return [f"{where}: {before}, now {after}"]


def _is_packed(value: Any) -> bool:
    return isinstance(value, str) and re.match(r"(b\d+|n):", value) is not None


def _same(before: str, after: str) -> bool:
    """Whether the numbers are the same; versions of zlib may compress them differently."""
    return np.array_equal(unpacked(before), unpacked(after))
