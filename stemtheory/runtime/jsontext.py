"""JSON for scripts: null, never NaN, and a reason for every null that stands for a number."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
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
