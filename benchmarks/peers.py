"""The fused engine beside what one would write in JAX or PyTorch: same problem, same recording.

    jax        jit(scan over rounds of I unrolled or scanned steps), the faster generator of three
    compile    torch.compile of a round or of a step, noise inside or drawn ahead: the fastest
    loop       torch, worker after worker and sample after sample with autograd, as published
               federated code does it (b = 4 samples, one replicate)
    fused, array, and two bounds: the fused engine's own noise, and numpy's standard_normal alone

All run STEM on the cosine loss with noise that depends on the state, I = 8 local steps, and keep
||grad f(xbar_t)||^2 of every step. What is tunable is tuned first; then all take turns. CPU time of
all threads is what counts, wall time stands beside it.

    python -m venv peers && peers/bin/pip install -e '.[fast]' -r benchmarks/peers-requirements.txt
    peers/bin/python benchmarks/peers.py --out benchmarks/results/peers.json
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from _common import arguments, write

ROW = tuple[Callable[[], object], int]
FAST = {"small": 16, "medium": 8, "large": 2}  # steps of a fast engine for one of the others'
TUNINGS = 3  # runs of each variant before the fastest is taken


def formula(size: str, noise: str) -> tuple[dict[str, float], Any]:
    """Return the numbers of the loss and of its noise, as the engines have them."""
    from _common import problem

    loss = problem(size, noise)
    weight, rho, ripple, rest = loss.slope_arguments
    return {"weight": weight, "rho": rho, "ripple": ripple, "rest": rest}, loss.field_arguments


def jax_run(size: str, T: int, generator: str, unroll: int) -> Callable[[], object]:
    """Return the run in JAX: two nested scans, no branch, everything on the device."""
    import jax
    import jax.numpy as jnp
    from _common import ETA, SIZES, A, I

    R, K, dim = SIZES[size]
    c, (level, swing, frequency) = formula(size, "modulated")

    def slope(x: Any) -> Any:
        return c["weight"] * (c["rho"] * x + c["rest"] * jnp.sin(c["ripple"] * x))

    def field(x: Any) -> Any:
        return level + swing * jnp.sin(frequency * x)

    def step(state: Any, key: Any) -> Any:
        x, d, force, n = state
        gradient = slope(x.mean(axis=1))
        measured = (gradient * gradient).sum(axis=-1)
        xi = jax.random.normal(key, x.shape, dtype=jnp.float32)
        x = x - ETA * d
        here, now = slope(x), field(x)
        d = here + xi * now + (1 - A) * (d - force - xi * n)
        return (x, d, here, now), measured

    def one_round(state: Any, key: Any) -> Any:
        state, measured = jax.lax.scan(step, state, jax.random.split(key, I), unroll=unroll)
        x, d, force, n = state
        x = jnp.broadcast_to(x.mean(axis=1, keepdims=True), x.shape)
        d = jnp.broadcast_to(d.mean(axis=1, keepdims=True), d.shape)
        return (x, d, force, n), measured

    @jax.jit
    def run(key: Any) -> Any:
        first, rest = jax.random.split(key)
        x = jnp.ones((R, K, dim), jnp.float32)
        force, n = slope(x), field(x)
        d = force + jax.random.normal(first, x.shape, dtype=jnp.float32) * n
        d = jnp.broadcast_to(d.mean(axis=1, keepdims=True), d.shape)
        return jax.lax.scan(one_round, (x, d, force, n), jax.random.split(rest, T // I))[1]

    key = jax.random.key(0, impl=generator)
    return lambda: run(key).block_until_ready()


def torch_run(size: str, T: int, whole_round: bool, ahead: bool) -> Callable[[], object]:
    """Return the run under torch.compile: a round or a step a call, noise inside or drawn ahead."""
    import torch
    from _common import ETA, SIZES, A, I

    R, K, dim = SIZES[size]
    c, (level, swing, frequency) = formula(size, "modulated")

    def slope(x: Any) -> Any:
        return c["weight"] * (c["rho"] * x + c["rest"] * torch.sin(c["ripple"] * x))

    def field(x: Any) -> Any:
        return level + swing * torch.sin(frequency * x)

    def step(x: Any, d: Any, force: Any, n: Any, given: Any) -> Any:
        gradient = slope(x.mean(dim=1))
        measured = (gradient * gradient).sum(dim=-1)
        xi = given if ahead else torch.randn(R, K, dim)
        x = x - ETA * d
        here, now = slope(x), field(x)
        d = here + xi * now + (1 - A) * (d - force - xi * n)
        return x, d, here, now, measured

    def averaged(x: Any) -> Any:
        return x.mean(dim=1, keepdim=True).expand(R, K, dim).contiguous()

    def one_round(x: Any, d: Any, force: Any, n: Any, given: Any) -> Any:
        rows = []
        for i in range(I):
            x, d, force, n, measured = step(x, d, force, n, given[i] if ahead else None)
            rows.append(measured)
        return averaged(x), averaged(d), force, n, torch.stack(rows)

    compiled = torch.compile(one_round if whole_round else step, dynamic=False)
    spread = torch.compile(averaged, dynamic=False)
    noise = torch.empty(I, R, K, dim) if ahead else None

    def run() -> Any:
        torch.manual_seed(0)
        x = torch.ones(R, K, dim)
        force, n = slope(x), field(x)
        d = averaged(force + torch.randn(R, K, dim) * n)
        rows = []
        for _ in range(T // I):
            given = None if noise is None else noise.normal_()
            if whole_round:
                x, d, force, n, measured = compiled(x, d, force, n, given)
                rows.append(measured)
                continue
            for i in range(I):
                x, d, force, n, measured = compiled(
                    x, d, force, n, None if given is None else given[i]
                )
                rows.append(measured)
            x, d = spread(x), spread(d)
        return rows

    def without_gradients() -> Any:
        with torch.no_grad():
            return run()

    return without_gradients


def loop_run(size: str, T: int, b: int = 4) -> Callable[[], object]:
    """Return one replicate the way published code runs it: for worker, for sample, autograd."""
    import torch
    from _common import ETA, SIZES, A, I

    _, K, dim = SIZES[size]
    c, (level, swing, frequency) = formula(size, "modulated")
    ripple = c["ripple"]

    def loss(x: Any, xi: Any) -> Any:
        smooth = c["rho"] * x * x / 2 + c["rest"] * (1 - torch.cos(ripple * x)) / ripple
        noise = xi * (level * x - swing / frequency * torch.cos(frequency * x))
        return (c["weight"] * smooth + noise).sum()

    def gradient(x: Any, samples: Any) -> Any:
        point = x.detach().requires_grad_()
        total = sum(loss(point, xi) for xi in samples) / len(samples)
        return torch.autograd.grad(total, point)[0]

    def run() -> Any:
        torch.manual_seed(0)
        x = [torch.ones(dim) for _ in range(K)]
        d = [gradient(p, torch.randn(b, dim)) for p in x]
        measured = []
        for t in range(1, T + 1):
            mean = torch.stack(x).mean(dim=0)
            measured.append(float(gradient(mean, torch.zeros(1, dim)).square().sum()))
            for k in range(K):
                samples = torch.randn(b, dim)
                new = x[k] - ETA * d[k]
                d[k] = gradient(new, samples) + (1 - A) * (d[k] - gradient(x[k], samples))
                x[k] = new
            if t % I == 0:
                x = [torch.stack(x).mean(dim=0)] * K
                d = [torch.stack(d).mean(dim=0)] * K
        return measured

    return run


def fastest(variants: dict[str, Callable[[], object]]) -> tuple[str, Callable[[], object]]:
    """Return the variant whose best of a few runs takes least CPU time; what fails is left out."""
    from _common import timed

    best: tuple[float, str, Callable[[], object]] | None = None
    for name, run in variants.items():
        try:
            run()
        except Exception as error:
            print(f"  {name} left out: {type(error).__name__}", file=sys.stderr)
            continue
        taken = min(timed(run).cpu for _ in range(TUNINGS))
        print(f"  {name} {taken:.3f} s", file=sys.stderr, flush=True)
        if best is None or taken < best[0]:
            best = taken, name, run
    assert best is not None
    return best[1], best[2]


def measure(size: str, repeats: int, threads: int) -> dict[str, Any]:
    """Return medians of one size, and the variants that were taken."""
    import torch
    from _common import SIZES, STEPS, engine, interleaved, numpy_noise, own_noise

    torch.set_num_threads(threads)
    R, K, dim = SIZES[size]
    T, long = STEPS[size], STEPS[size] * FAST[size]
    jax_name, jax_best = fastest(
        {f"{g}, unroll {u}": jax_run(size, T, g, u)
         for g in ("threefry2x32", "rbg", "unsafe_rbg") for u in (1, 8)}
    )  # fmt: skip
    torch_name, torch_best = fastest(
        {f"{'round' if w else 'step'}, noise {'ahead' if a else 'inside'}": torch_run(size, T, w, a)
         for w in (True, False) for a in (True, False)}
    )  # fmt: skip
    few = {"small": 16, "medium": 8, "large": 8}[size]
    loop_steps = few / R  # one replicate only
    runs: dict[str, Any] = {
        "fused": (engine(size, "modulated", "float32", "fused", "stem", long, threads), long),
        "own_noise": (own_noise(size, "modulated", "float32", long), long),
        "jax": (jax_best, T),
        "torch_compile": (torch_best, T),
        "numpy_normals": (numpy_noise(size, "modulated", "float32", T), T),
        "array": (engine(size, "modulated", "float32", "array", "stem", T, threads), T),
        "loop": (loop_run(size, few), loop_steps),
    }
    found = interleaved(runs, R * K * dim, repeats)
    ns = {name: values["cpu_ns"] for name, values in found.items()}
    ratios = {f"{name}/fused": round(ns[name] / ns["fused"], 2) for name in ns if name != "fused"}
    return {
        "size": size, "threads": threads, "jax": jax_name, "torch_compile": torch_name,
        "ns": found, "ratios": ratios,
    }  # fmt: skip


def child(args: Namespace) -> None:
    """Measure in this process, whose libraries were told how many threads they have."""
    from _common import machine

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
    args = arguments(__doc__, repeats=5, sizes="small,medium,large", threads="1,2", child=0)
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
