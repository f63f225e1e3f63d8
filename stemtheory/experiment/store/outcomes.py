"""The outcomes of very many cells, packed: a row becomes a ``CellResult`` when it is asked for.

As objects the outcomes of 1e5 cells take 400 MB, most of it facts that hundreds of cells share and
arrays of eight numbers. Here texts that are alike are kept once, and the numbers of a cell are one
row of bytes. Asked for twice, an outcome is made twice.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from stemtheory.experiment.execute.work import CellResult

ARRAYS = ("grad_sq", "last", "best", "diverged_at")
NUMBERS = ("mean_grad_sq", "stderr", "mean_grad_sq_finite", "wall_seconds", "cpu_seconds")
TEXTS = ("status", "reason", "facts", "provenance")


class _Packed(NamedTuple):
    """A row: its arrays in one, their sizes in bytes, its other numbers, texts shared, a record."""

    raw: bytes
    sizes: tuple[int, ...]
    numbers: tuple[float | None, ...]
    texts: tuple[str, ...]
    trace: bytes | None


class Outcomes(Mapping[str, CellResult]):
    """Outcomes by the id of their cell, in the order in which rows came."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        alike: dict[Any, Any] = {}
        self._rows: dict[str, _Packed] = {}
        self._last: CellResult | None = None  # a table asks for one several times in a row
        for row in rows:
            sizes = tuple([len(row[name]) for name in ARRAYS])
            texts = tuple([alike.setdefault(row[name], row[name]) for name in TEXTS])
            self._rows[row["id"]] = _Packed(
                b"".join([row[name] for name in ARRAYS]),
                alike.setdefault(sizes, sizes),
                tuple([row[name] for name in NUMBERS]),
                alike.setdefault(texts, texts),
                row["trace"],
            )

    def __getitem__(self, id_: str) -> CellResult:
        if self._last is not None and self._last.id == id_:
            return self._last
        row = self._rows[id_]
        status, reason, facts, provenance = row.texts
        found: dict[str, Any] = dict(zip(ARRAYS, _arrays(row.raw, row.sizes), strict=True))
        found |= zip(NUMBERS, row.numbers, strict=True)
        found |= {"facts": dict(_facts(facts)), "provenance": provenance, "trace": row.trace}
        self._last = CellResult(id_, status, reason, **found)
        return self._last

    def __contains__(self, id_: object) -> bool:
        return id_ in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


def _arrays(raw: bytes, sizes: Sequence[int]) -> Iterator[Any]:
    numbers, start = np.frombuffer(raw, "<f8"), 0
    for name, size in zip(ARRAYS, sizes, strict=True):
        found = numbers[start : start + size // 8]
        yield found.view("<i8") if name == "diverged_at" else found
        start += size // 8


@lru_cache(maxsize=1024)
def _facts(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    return found
