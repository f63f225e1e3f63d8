"""JSON for scripts: null, never NaN, and a reason for every null that stands for a number."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np


def to_json(document: Mapping[str, Any]) -> str:
    """Return the document as JSON text, one line break at the end.

    NumPy values become plain ones. A float that is not finite becomes null, and ``reasons`` gains
    the dotted path to it with what it was.
    """
    found: dict[str, str] = {}
    plain = _plain(document, "", found)
    if found:
        plain["reasons"] = {**found, **plain.get("reasons", {})}
    return json.dumps(plain, indent=2, allow_nan=False) + "\n"


def each_json(
    name: str, rows: Iterable[Mapping[str, Any]], reasons: Callable[[], Mapping[str, str]]
) -> Iterator[str]:
    """Yield ``to_json({name: [*rows], "reasons": reasons()})`` row by row: never all of it is held.

    ``reasons`` is called when the last row has been seen.
    """
    found: dict[str, str] = {}
    yield f'{{\n  "{name}": ['
    end = "]"
    for n, row in enumerate(rows):
        yield f"{',' if n else ''}\n    {_indented(_plain(row, f'{name}.{n}', found), 4)}"
        end = "\n  ]"
    yield f'{end},\n  "reasons": {_indented({**found, **reasons()}, 2)}\n}}\n'


def canonical(value: Any) -> str:
    """Return one text for one value, whatever the order of keys: JSON, so that it is injective.

    1 and 1.0 are the same number, 1 and true are not; floats are written by ``repr``.

    Raises
    ------
    ValueError
        For a number that is not finite, which would equal nothing, not even itself.
    TypeError
        For a value that is no number, text, truth value, None, sequence or mapping of them.
    """
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, Mapping):
        items = (f"{json.dumps(name)}:{canonical(item)}" for name, item in sorted(value.items()))
        return f"{{{','.join(items)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(canonical(item) for item in value)}]"
    if hasattr(value, "item"):
        return canonical(value.item())
    if isinstance(value, int):
        return repr(value)
    if not isinstance(value, float):
        raise TypeError(f"{value!r} cannot be part of a run.")
    if not math.isfinite(value):
        raise ValueError(f"{value} is not finite and cannot be part of a run.")
    return repr(int(value)) if value.is_integer() else repr(value)


def _indented(plain: Any, spaces: int) -> str:
    """Return JSON text as it stands so deep in a document; a line break in a text is escaped."""
    return json.dumps(plain, indent=2, allow_nan=False).replace("\n", "\n" + " " * spaces)


def _plain(value: Any, path: str, found: dict[str, str]) -> Any:
    if isinstance(value, Mapping):
        items = value.items()
        return {str(key): _plain(item, _join(path, str(key)), found) for key, item in items}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item, _join(path, str(i)), found) for i, item in enumerate(value)]
    if isinstance(value, float) and not math.isfinite(value):
        found[path] = "not a number" if math.isnan(value) else "beyond the finite numbers"
        return None
    return value


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
