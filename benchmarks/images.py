"""Seconds per step of the networks on images, by workers per call, and against torch.

One step is one minibatch gradient of every worker, in float32; STEM's is two, on one minibatch. The
torch side does the same work: all workers in one call, as grouped convolutions and batched
products, gradients by autograd, which must agree with ours. Both run on one thread and are measured
in CPU time, in one process: the ratio of their medians does not depend on how busy the machine is.
Images are random: speed does not depend on them. Without torch its columns are left out.

    python benchmarks/images.py [--repeats 3] [--K 100] [--out benchmarks/results/images.json]
"""

from __future__ import annotations

# ruff: noqa: E402  (thread counts are read when NumPy is imported)
import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is imported

import importlib.util
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from _common import arguments, machine, timed, write

from stemtheory.algorithms import FedAvg, Stem, Step
from stemtheory.images import ImageProblem, Images
from stemtheory.oracles import problem_entry
from stemtheory.runtime import numpy_backend

CASES = {  # name of the problem, shape of the images, own dials
    "tanh 14x14": ("tanh_network", (1, 14, 14), {"hidden": 32}),
    "cnn small": ("cnn", (1, 14, 14), {"layers": "small"}),
    "cnn mnist": ("cnn", (1, 28, 28), {"layers": "mnist"}),
    "cnn cifar": ("cnn", (3, 32, 32), {"layers": "cifar"}),
}
CHUNKS = (1, 2, 5, 10, 25)


def problem(name: str, K: int) -> ImageProblem:
    """Return a problem on random images."""
    entry, shape, own = CASES[name]
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(0)))
    n = 70 * K
    pixels = rng.integers(0, 256, (n, *shape)).astype(np.uint8)
    images = Images("random", pixels, np.arange(n) % 10, pixels, np.arange(n) % 10, "random")
    made = problem_entry(entry).on(images, K, train=64, test=1, **own)
    return made.place(numpy_backend("benchmark"), np.dtype(np.float32))


def median(run: Callable[[], Any], repeats: int) -> float:
    """Return the median CPU seconds after one call to warm up."""
    run()
    return statistics.median(timed(run).cpu for _ in range(repeats))


def ours(p: ImageProblem, b: int, chunk: int, stem: bool) -> Callable[[], Any]:
    """Return one step of all workers, in chunks, on one thread."""
    x = np.repeat(p.start()[None], p.K, axis=0).astype(np.float32)
    lists = np.broadcast_to(np.arange(b), (p.K, b))
    algorithm, step = (Stem() if stem else FedAvg()), Step(1, 0.01, 0.5, False)
    parts = [slice(i, min(i + chunk, p.K)) for i in range(0, p.K, chunk)]
    subs = [p.workers(part) for part in parts]
    first = [
        algorithm.init(s, x[part], 0.01, lists[part]) for s, part in zip(subs, parts, strict=True)
    ]

    def advance(i: int) -> Any:
        batch = subs[i].gather(lists[parts[i]])
        return algorithm.local_step(subs[i], first[i], step, batch)

    return lambda: [advance(i) for i in range(len(parts))]


def theirs(p: ImageProblem, b: int) -> Callable[[], Any]:
    """Return one gradient of all workers by torch."""
    import torch
    from torch.nn import functional

    K, shapes = p.K, p.network.shapes
    x = torch.tensor(np.repeat(p.start()[None], K, axis=0).astype(np.float32), requires_grad=True)
    scaled = (p.pixels[:, :b].astype(np.float32) - np.float32(p.centre)) * np.float32(p.scale)
    images = torch.tensor(scaled)
    labels = torch.tensor(p.labels[:, :b])
    sizes = [int(np.prod(shape)) for shape in shapes]
    relu_pool = p.name == "cnn"

    def gradient() -> Any:
        parts = [w.reshape(K, *s) for w, s in zip(x.split(sizes, dim=1), shapes, strict=True)]
        a = images  # [K, b, C, H, W]
        if relu_pool:
            side = p.network.widths.side  # type: ignore[attr-defined]
            a = a.transpose(0, 1).reshape(b, -1, *a.shape[3:])
            for i in (0, 2):
                kernel = parts[i].reshape(K * shapes[i][0], -1, side, side)
                a = functional.conv2d(a, kernel, parts[i + 1].reshape(-1), groups=K)
                a = functional.relu(functional.max_pool2d(a, 2))
            a = a.reshape(b, K, -1).transpose(0, 1)
            parts = parts[4:]
        else:
            a = a.reshape(K, b, -1)
        for layer in range(0, len(parts), 2):
            a = torch.baddbmm(parts[layer + 1][:, None], a, parts[layer].transpose(1, 2))
            if layer < len(parts) - 2:
                a = functional.relu(a) if relu_pool else torch.tanh(a)
        loss = functional.cross_entropy(a.reshape(K * b, -1), labels.reshape(-1)) * K
        (found,) = torch.autograd.grad(loss, x)
        return found

    torch.set_num_threads(1)
    expected = p.stochastic_gradient(x.detach().numpy(), np.broadcast_to(np.arange(b), (K, b)))
    error = float(np.abs(gradient().numpy() - expected).max() / np.abs(expected).max())
    assert error < 1e-4, error
    return gradient


def main() -> None:
    args = arguments(__doc__, repeats=3, K=100, cases=",".join(CASES), batches="8,64")
    torch = importlib.util.find_spec("torch") is not None
    rows = []
    for name in args.cases.split(","):
        p = problem(name, args.K)
        for b in map(int, args.batches.split(",")):
            by_chunk = {}
            for chunk in CHUNKS:
                by_chunk[chunk] = median(ours(p, b, chunk, stem=False), args.repeats)
                print(f"{name:10} b {b:3} workers a call {chunk:3}: {by_chunk[chunk]:.4f} s")
            chunk = min(by_chunk, key=by_chunk.__getitem__)
            best: dict[str, Any] = {"case": name, "b": b, "K": args.K, "by_chunk": by_chunk}
            best |= {"chunk": chunk, "seconds": by_chunk[chunk]}
            best["stem"] = median(ours(p, b, chunk, stem=True), args.repeats)
            if torch:
                best["torch"] = median(theirs(p, b), args.repeats)
                best["ratio"] = round(best["seconds"] / best["torch"], 2)
            rows.append(best)
            print({k: round(v, 4) if isinstance(v, float) else v for k, v in best.items()})
    write(args.out, {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()
