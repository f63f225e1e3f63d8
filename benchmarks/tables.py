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


def systems_table(record: dict[str, Any]) -> str:
    """Return CPU ns of every system on both engines, and array over fused."""
    rows = [
        (f"`{r['system']}`", *(f"{r['ns'][name]['cpu_ns']:.1f}" for name in ("fused", "array")),
         f"{r['array/fused']:.1f}")
        for r in record["rows"]
    ]  # fmt: skip
    return markdown(("system", "fused, ns", "array, ns", "array / fused"), rows)


def starts_table(record: dict[str, Any]) -> str:
    """Return the CPU seconds of every start, before and now, and now over ``import numpy``."""
    unit, before, after = (record[key] for key in ("import_numpy_seconds", "before", "after"))
    rows = [
        (f"`{name}`", *(f"{unit * of[name]:.2f}" for of in (before, after)), f"{after[name]:.1f}")
        for name in after
    ]
    return markdown(("start", "before, s", "now, s", "now / `import numpy`"), rows)


def shared_table(record: dict[str, Any]) -> str:
    """Return the CPU seconds of commands whose runs share kernels, cold and warm."""
    rows = [
        (f"`{name}`", *(f"{of[f'{state} {when}']:.1f}" for state in ("cold", "warm")
                        for when in ("before", "after")), f"{of['warm ratio']:.1f}")
        for name, of in record.items() if name != "machine"
    ]  # fmt: skip
    return markdown(("command", "cold before, s", "now", "warm before", "now", "warm ratio"), rows)


def stores_table(record: dict[str, Any]) -> str:
    """Return CPU seconds and peak of memory of what is read of a large store, before and now."""
    before, after = record["before"], record["after"]
    rows = [
        (
            what,
            *(f"{of[what]['seconds']:.1f} s, {of[what]['peak_MB']} MB" for of in (before, after)),
        )
        for what in ("results", "frame", "fits", "document")
    ]
    return markdown((f"of {record['cells']:,} cells", "before", "now"), rows)


def moments_table(record: dict[str, Any]) -> str:
    """Return microseconds a step that varies, and seconds of 512 curvatures."""
    head = ("noise", "before, us a step", "now", "without numba", "512 curvatures before, s", "now")
    step, wide = "microseconds_a_step", "seconds_of_512_curvatures"
    of = [(record[when], what)
          for when, what in (("before", step), ("after", step), ("without_numba", step),
                             ("before", wide), ("after", wide))]  # fmt: skip
    rows = [
        (noise, *(f"{one[what][noise]:.2f}" for one, what in of)) for noise in record["after"][step]
    ]
    return markdown(head, rows)


def markdown(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """Return a Markdown table."""
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _short(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


WAITS = {
    "starts": starts_table,
    "shared_kernels": shared_table,
    "stores": stores_table,
    "moments": moments_table,
}


def main() -> None:
    print(fused_table(load("fused")))
    print(plain_table(load("plain")))
    print(peers_table(load("peers")))
    print(systems_table(load("systems")))
    for name, table in WAITS.items():
        print(table(load(name)))


if __name__ == "__main__":
    main()
