"""The tables of `docs/performance.md`, from the records in `benchmarks/results/`.

python benchmarks/tables.py     # prints them; a test compares the page with them
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
OTHERS = {
    "own_noise": "its own noise alone",
    "numpy_normals": "NumPy's `standard_normal` alone",
    "array": "array engine",
    "plain": "plain NumPy",
    "jax": "JAX, tuned",
    "torch_compile": "`torch.compile`, tuned",
    "loop": "worker by worker, autograd",
}


def load(name: str) -> dict[str, Any]:
    """Return one record."""
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    return found


def fused_table(record: dict[str, Any]) -> str:
    """Return nanoseconds of the fused engine, and its ratios, for every size, noise and dtype."""
    head = ("size", "noise", "dtype", "fused STEM, ns", "/ own noise", "FedAvg / own noise",
            "/ `standard_normal`", "array / fused", "two threads / one")  # fmt: skip
    keys = ("fused/own_noise", "fedavg/own_noise", "fused/numpy_normals", "array/fused",
            "two_threads/one")  # fmt: skip
    rows = [
        (r["size"], r["noise"], r["dtype"], f"{r['ns']['fused']['cpu_ns']:.2f}",
         *(f"{r['ratios'][key]:.2f}" for key in keys))
        for r in record["rows"]
    ]  # fmt: skip
    return markdown(head, rows)


def peers_table(record: dict[str, Any]) -> str:
    """Return CPU ns per worker-coordinate-step of everyone, and in brackets over the fused one."""
    sizes = [(row["size"], row["threads"]) for row in record["rows"]]
    head = ("", *(f"{size}, {n} thread{'s' if n > 1 else ''}" for size, n in sizes))
    rows = [("fused engine", *(f"{row['ns']['fused']['cpu_ns']:.2f}" for row in record["rows"]))]
    for name, text in OTHERS.items():
        if any(name not in row["ns"] for row in record["rows"]):
            continue
        cells = [
            f"{_short(row['ns'][name]['cpu_ns'])} ({_short(row['ratios'][f'{name}/fused'])})"
            for row in record["rows"]
        ]
        rows.append((text, *cells))
    return markdown(head, rows)


def plain_table(record: dict[str, Any]) -> str:
    """Return CPU ns of the array engine, of plain NumPy and of the normals alone, and the ratio."""
    head = ("size", "noise", "dtype", "array engine, ns", "plain NumPy, ns",
            "its normals alone, ns", "array / plain")  # fmt: skip
    names = ("array", "plain", "numpy_normals")
    rows = [
        (r["size"], r["noise"], r["dtype"], *(f"{r['ns'][n]['cpu_ns']:.2f}" for n in names),
         f"{r['array/plain']:.2f}")
        for r in record["rows"]
    ]  # fmt: skip
    return markdown(head, rows)


def markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def main() -> None:
    print(fused_table(load("fused")))
    print(plain_table(load("plain")))
    print(peers_table(load("peers")))


if __name__ == "__main__":
    main()
