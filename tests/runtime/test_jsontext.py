"""JSON row by row: the bytes of the whole document, without holding it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from stemtheory.runtime.jsontext import each_json, to_json

ROWS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "one": [{"a": 1, "b": [1.5, None], "c": {}, "d": []}],
    "an empty one": [{}, {"a": {"b": [{"c": 0}]}}],
    "numbers that are none": [{"a": 1.0}, {"a": math.inf, "b": [math.nan, 2.0]}],
    "line breaks and letters": [{"a": "x\ny", "\u00e9\n": "\u00b5"}],
    "of NumPy": [{"a": np.float64(0.1), "b": np.arange(3)}],
}


@pytest.mark.parametrize("reasons", [{}, {"rows[].a": "why\nnot", "rows.1.a": "known"}])
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_the_bytes_are_those_of_the_document(
    rows: list[dict[str, Any]], reasons: dict[str, str]
) -> None:
    text = "".join(each_json("rows", iter(rows), lambda: reasons))
    assert text == to_json({"rows": rows, "reasons": reasons})


def test_a_row_is_made_when_the_one_before_is_written() -> None:
    """And the reasons last. Mutant: a list of the rows."""
    seen: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        for n in range(3):
            seen.append(n)
            yield {"n": n}

    pieces = each_json("rows", rows(), lambda: {"seen": str(len(seen))})
    assert [(next(pieces)[-2:], len(seen)) for _ in range(4)] == [
        (" [", 0), (" }", 1), (" }", 2), (" }", 3),
    ]  # fmt: skip
    assert '"seen": "3"' in next(pieces)
