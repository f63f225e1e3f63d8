"""The engines beside what one would write in JAX, PyTorch or NumPy: same problem, same recording.

    jax        jit(scan over rounds of I unrolled or scanned steps), all replicates at once or
               blocks of them one after the other (lax.map)
    compile    torch.compile of a round or of a step, its noise drawn ahead, in blocks or not
    plain      the recursion in NumPy, all replicates in one array
    loop       torch, worker after worker and sample after sample with autograd, as published
               federated code does it (b = 4 samples, one replicate)
    fused, array, and two bounds: the fused engine's own noise, and numpy's standard_normal alone

All run STEM on the cosine loss with noise that depends on the state, I = 8 local steps, and keep
||grad f(xbar_t)||^2 of every step and replicate. Before anything is timed, all are compared number
by number on the same noise, and their timed runs by their law (``_same_work``). What is tunable is
tuned first; then all take turns. CPU time of all threads is what counts; wall time is beside it.

    python -m venv peers && peers/bin/pip install -e '.[fast]' -r benchmarks/peers-requirements.txt
    peers/bin/python benchmarks/peers.py --out benchmarks/results/peers.json
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from _common import arguments, write

# Steps of a fast engine for one of the others'
FAST = {"default": 8, "small": 16, "medium": 8, "large": 2}
KIND = {"default": ("phase", "float64")}  # noise and dtype; of the others:
USUAL = ("modulated", "float32")
# Replicates advanced together, beside all of them
BLOCKS = {"default": (), "small": (16,), "medium": (16, 64), "large": (1, 4)}
TUNINGS = 2  # runs of each variant before the fastest is taken
LOOP_STEPS = {"default": 16, "small": 16, "medium": 8, "large": 8}
Variant = Callable[..., Callable[[], Any]]  # of (work, given) a run


def jax_variants(size: str, R: int) -> dict[str, Variant]:
    """Return what is tried of JAX: by unrolling and replicates at a time.

    Of its generators threefry2x32 was the fastest in every row of earlier records.
    """
    from _peer_runs import jax_run

    tried = [(8, R), *((1, block) for block in (R, *BLOCKS[size]))]
    return {
        f"unroll {unroll}, {block} replicates at a time": functools.partial(
            jax_run, unroll=unroll, block=block
        )
        for unroll, block in tried
    }


def torch_variants(size: str, R: int) -> dict[str, Variant]:
    """Return what is tried of torch.compile: a round or a step, and replicates at a time.

    Noise drawn ahead was faster than inside in every row of earlier records.
    """
    from _peer_runs import torch_run

    tried = [(True, R), *((False, block) for block in (R, *BLOCKS[size][-1:]))]
    return {
        f"a {'round' if whole else 'step'} a call, {block} replicates at a time": functools.partial(
            torch_run, whole_round=whole, block=block
        )
        for whole, block in tried
    }


def fastest(variants: dict[str, Variant], work: Any) -> tuple[str, Variant, Callable[[], Any]]:
    """Return the variant whose best of a few runs takes least CPU time; what fails is left out."""
    from _common import timed

    best: tuple[float, str, Callable[[], Any]] | None = None
    for name, make in variants.items():
        try:
            run = make(work)
            run()
        except Exception as error:
            print(f"  {name} left out: {type(error).__name__}", file=sys.stderr)
            continue
        taken = min(timed(run).cpu for _ in range(TUNINGS))
        print(f"  {name} {taken:.3f} s", file=sys.stderr, flush=True)
        if best is None or taken < best[0]:
            best = taken, name, run
    assert best is not None
    return best[1], variants[best[1]], best[2]


def few_at_a_time(make: Variant, work: Any, given: Any) -> Callable[[], Any]:
    """Return a variant's run of the few replicates that are compared, in blocks if it has them."""
    block = make.keywords["block"]  # type: ignore[attr-defined]
    return make(work, block=min(block, work.R // 2), given=given)


def measure(size: str, repeats: int, threads: int) -> dict[str, Any]:
    """Return medians of one size, and the variants that were taken."""
    import torch
    from _common import SHAPES, STEPS, engine, interleaved, numpy_noise, own_noise
    from _peer_runs import Work, loop_run, plain_run, series_of
    from _same_work import compare, few, same_law

    torch.set_num_threads(threads)
    R, K, dim = SHAPES[size]
    noise, dtype = KIND.get(size, USUAL)
    T, long = STEPS[size], STEPS[size] * FAST[size]
    work = Work(size, noise, dtype, T, R)
    jax_name, jax_make, jax_best = fastest(jax_variants(size, R), work)
    torch_name, torch_make, torch_best = fastest(torch_variants(size, R), work)
    worst = compare(
        {
            "plain": plain_run,
            "jax": functools.partial(few_at_a_time, jax_make),
            "torch_compile": functools.partial(few_at_a_time, torch_make),
            "loop": functools.partial(loop_run, b=1),
        },
        few(size, noise, dtype),
    )
    ours = functools.partial(
        engine, size, noise, dtype, algorithm="stem", threads=threads, record_every=1
    )
    array, plain = ours(name="array", T=T), plain_run(work)
    right = array().series
    for name, run in (("plain", plain), ("jax", jax_best), ("torch_compile", torch_best)):
        same_law(name, series_of(run(), T), right)
    same_law("fused", ours(name="fused", T=T)().series, right)
    loop = loop_run(work._replace(T=LOOP_STEPS[size]))
    runs: dict[str, Any] = {
        "fused": (ours(name="fused", T=long), long),
        "own_noise": (own_noise(size, noise, dtype, long), long),
        "jax": (jax_best, T),
        "torch_compile": (torch_best, T),
        "plain": (plain, T),
        "numpy_normals": (numpy_noise(size, noise, dtype, T), T),
        "array": (array, T),
        "loop": (loop, LOOP_STEPS[size] / R),  # one replicate only
    }
    found = interleaved(runs, R * K * dim, repeats)
    ns = {name: values["cpu_ns"] for name, values in found.items()}
    ratios = {f"{name}/fused": round(ns[name] / ns["fused"], 2) for name in ns if name != "fused"}
    return {
        "size": size, "noise": noise, "dtype": dtype, "threads": threads, "jax": jax_name,
        "torch_compile": torch_name, "worst_difference": worst, "ns": found, "ratios": ratios,
    }  # fmt: skip


def child(args: Namespace) -> None:
    """Measure in this process, whose libraries were told how many threads they have."""
    import jax
    from _common import machine

    jax.config.update("jax_enable_x64", True)  # the default shape is computed in float64
    rows = []
    for size in args.sizes.split(","):
        rows.append(measure(size, args.repeats, args.child))
        print(json.dumps(rows[-1]["ratios"]), file=sys.stderr, flush=True)
    print(json.dumps({"machine": machine(), "rows": rows}))


def environment(threads: int) -> dict[str, str]:
    """Return the environment in which every library uses so many threads."""
    flags = f"--xla_cpu_multi_thread_eigen={'true' if threads > 1 else 'false'}"
    counts = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads))
    more = {"XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu", "NPROC": str(threads)}
    return {**os.environ, **counts, **more}


def main() -> None:
    args = arguments(__doc__, repeats=5, sizes="default,small,medium,large", threads="1,2", child=0)
    missing = [name for name in ("jax", "torch", "numba") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"left out: needs {', '.join(missing)} (benchmarks/peers-requirements.txt)")
        return
    if args.child:
        child(args)
        return
    found: dict[str, Any] = {"rows": []}
    for threads in args.threads.split(","):
        command = [sys.executable, __file__, "--child", threads, "--sizes", args.sizes]
        command += ["--repeats", str(args.repeats)]
        done = subprocess.run(
            command, env=environment(int(threads)), stdout=subprocess.PIPE, check=True, text=True
        )
        part = json.loads(done.stdout.splitlines()[-1])
        found = {"machine": part["machine"], "rows": found["rows"] + part["rows"]}
    for row in found["rows"]:
        values = "  ".join(f"{name} {v['cpu_ns']:.2f}" for name, v in row["ns"].items())
        print(f"{row['size']:7} {row['threads']} threads  {values} ns")
    write(args.out, found)


if __name__ == "__main__":
    main()
