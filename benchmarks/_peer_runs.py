"""STEM as one would write it without this package: NumPy, JAX, PyTorch, and worker by worker.

Every maker takes the work to be done and returns a run of it. ``given`` is noise to be used in the
place of the peer's own, [T + 1, M, R, K, dim] with the initial batch first: with the numbers that
the product drew, a peer has to find the numbers that it found (``_same_work``). What a run returns
is turned into ||grad f(xbar_t)||^2, [T, R], by ``series_of``, outside of what is timed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from _common import ETA, SHAPES, TERMS, A, I, problem

Run = Callable[[], Any]


class Work(NamedTuple):
    """What all have to do: R replicates of T steps of STEM on the comparison's loss."""

    size: str
    noise: str
    dtype: str
    T: int
    R: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """R, K, dim."""
        return self.R, *SHAPES[self.size][1:]

    @property
    def initial(self) -> float:
        """What the initial batch of B = b I = I samples does to its noise."""
        return 1 / math.sqrt(I)


def formulas(work: Work, sin: Any, cos: Any) -> tuple[Any, Any, Any]:
    """Return grad f, (grad f, n_1, ..) and a minibatch's gradient, of any library's arrays."""
    loss = problem(work.size, work.noise)
    weight, rho, ripple, rest = loss.slope_arguments
    numbers = loss.field_arguments

    def slope(x: Any) -> Any:
        return weight * (rho * x + rest * sin(ripple * x))

    def modulated(x: Any) -> Any:
        level, swing, frequency = numbers
        return slope(x), level + swing * sin(frequency * x)

    def phase(x: Any) -> Any:
        amplitude, frequency = numbers
        return slope(x), amplitude * cos(frequency * x), amplitude * sin(frequency * x)

    def combine(here: Any, xi: Any) -> Any:
        total = here[0]
        for m in range(TERMS[work.noise]):
            total = total + xi[m] * here[m + 1]
        return total

    return slope, {"modulated": modulated, "phase": phase}[work.noise], combine


def plain_run(work: Work, given: Any = None) -> Run:
    """Return the run in plain NumPy: the recursion as it is read, all replicates in one array."""
    R, K, dim = work.shape
    shape, dtype = (TERMS[work.noise], R, K, dim), np.dtype(work.dtype)
    slope, evaluate, combine = formulas(work, np.sin, np.cos)

    def run() -> Any:
        stream = np.random.Generator(np.random.SFC64(0))

        def noise(t: int) -> Any:
            return stream.standard_normal(shape, dtype) if given is None else given[t]

        def spread(mean: Any) -> Any:
            return np.broadcast_to(mean[:, None], (R, K, dim))

        first = noise(0)
        if given is None:
            first = first * dtype.type(work.initial)
        x = np.ones((R, K, dim), dtype)
        here = evaluate(x)
        d = spread(combine(here, first).mean(axis=1))
        series = np.empty((work.T, R))
        for t in range(1, work.T + 1):
            gradient = slope(x.mean(axis=1))
            series[t - 1] = (gradient * gradient).sum(axis=-1)
            xi, previous = noise(t), here
            x = x - ETA * d
            here = evaluate(x)
            d = combine(here, xi) + (1 - A) * (d - combine(previous, xi))
            if t % I == 0:
                x, d = spread(x.mean(axis=1)), spread(d.mean(axis=1))
        return series

    return run


def jax_run(work: Work, unroll: int, block: int, given: Any = None) -> Run:
    """Return the run in JAX: nested scans, ``block`` replicates at a time, all on the device."""
    import jax
    import jax.numpy as jnp

    R, K, dim = work.shape
    shape, dtype = (TERMS[work.noise], block, K, dim), jnp.dtype(work.dtype)
    slope, evaluate, combine = formulas(work, jnp.sin, jnp.cos)

    def noise(token: Any) -> Any:
        return token if given is not None else jax.random.normal(token, shape, dtype=dtype)

    def split(token: Any, n: int) -> Any:
        return token if given is not None else jax.random.split(token, n)

    def spread(x: Any) -> Any:
        return jnp.broadcast_to(x.mean(axis=1, keepdims=True), x.shape)

    def step(state: Any, token: Any) -> Any:
        x, d, previous = state
        gradient = slope(x.mean(axis=1))
        measured = (gradient * gradient).sum(axis=-1)
        xi = noise(token)
        x = x - ETA * d
        here = evaluate(x)
        d = combine(here, xi) + (1 - A) * (d - combine(previous, xi))
        return (x, d, here), measured

    def one_round(state: Any, token: Any) -> Any:
        (x, d, here), measured = jax.lax.scan(step, state, split(token, I), unroll=unroll)
        return (spread(x), spread(d), here), measured

    def one_block(token: Any) -> Any:
        first, rest = token
        x = jnp.ones((block, K, dim), dtype)
        here = evaluate(x)
        xi = noise(first) if given is not None else noise(first) * work.initial
        state = x, spread(combine(here, xi)), here
        return jax.lax.scan(one_round, state, split(rest, work.T // I))[1]

    @jax.jit
    def run(tokens: Any) -> Any:
        return jax.lax.map(one_block, tokens)

    blocks = R // block
    if given is None:
        keys = jax.random.split(jax.random.key(0, impl="threefry2x32"), (2, blocks))
        tokens = keys[0], keys[1]
    else:
        cut = jnp.moveaxis(jnp.asarray(given).reshape(-1, shape[0], blocks, block, K, dim), 2, 0)
        tokens = cut[:, 0], cut[:, 1:].reshape(blocks, work.T // I, I, *shape)
    return lambda: run(tokens).block_until_ready()


def torch_run(work: Work, whole_round: bool, block: int, given: Any = None) -> Run:
    """Return the run under torch.compile: a round or a step a call, a round's noise drawn ahead."""
    import torch

    R, K, dim = work.shape
    shape, dtype = (TERMS[work.noise], block, K, dim), getattr(torch, work.dtype)
    slope, evaluate, combine = formulas(work, torch.sin, torch.cos)

    def step(x: Any, d: Any, previous: Any, xi: Any) -> Any:
        gradient = slope(x.mean(dim=1))
        measured = (gradient * gradient).sum(dim=-1)
        x = x - ETA * d
        here = evaluate(x)
        d = combine(here, xi) + (1 - A) * (d - combine(previous, xi))
        return x, d, here, measured

    def averaged(x: Any) -> Any:
        return x.mean(dim=1, keepdim=True).expand(block, K, dim).contiguous()

    def one_round(x: Any, d: Any, here: Any, noise: Any) -> Any:
        rows = []
        for i in range(I):
            x, d, here, measured = step(x, d, here, noise[i])
            rows.append(measured)
        return averaged(x), averaged(d), here, torch.stack(rows)

    compiled = torch.compile(one_round if whole_round else step, dynamic=False)
    spread = torch.compile(averaged, dynamic=False)
    buffer = torch.empty(I, *shape, dtype=dtype)

    def one_block(mine: Any) -> Any:
        x = torch.ones(block, K, dim, dtype=dtype)
        here = evaluate(x)
        first = torch.randn(shape, dtype=dtype) * work.initial if mine is None else mine[0]
        d = averaged(combine(here, first))
        rows = []
        for t in range(0, work.T, I):
            noise = buffer.normal_() if mine is None else mine[t + 1 : t + 1 + I]
            if whole_round:
                x, d, here, measured = compiled(x, d, here, noise)
                rows.append(measured)
                continue
            for i in range(I):
                x, d, here, measured = compiled(x, d, here, noise[i])
                rows.append(measured[None])
            x, d = spread(x), spread(d)
        return torch.cat(rows)

    def run() -> Any:
        torch.manual_seed(0)
        with torch.no_grad():
            parts = []
            for r in range(0, R, block):
                mine = None
                if given is not None:
                    mine = torch.as_tensor(np.ascontiguousarray(given[:, :, r : r + block]))
                parts.append(one_block(mine))
            return torch.stack(parts)

    return run


def loop_run(work: Work, b: int = 4, given: Any = None) -> Run:
    """Return replicate 0 the way published code runs it: for worker, for sample, autograd."""
    import torch

    _, K, dim = work.shape
    dtype, terms = getattr(torch, work.dtype), TERMS[work.noise]
    loss_of = problem(work.size, work.noise)
    weight, rho, ripple, rest = loss_of.slope_arguments
    numbers = loss_of.field_arguments

    def random_part(x: Any, xi: Any) -> Any:
        if work.noise == "phase":
            amplitude, frequency = numbers
            sine, cosine = torch.sin(frequency * x), torch.cos(frequency * x)
            return amplitude / frequency * (xi[0] * sine - xi[1] * cosine)
        level, swing, frequency = numbers
        return xi[0] * (level * x - swing / frequency * torch.cos(frequency * x))

    def loss(x: Any, xi: Any) -> Any:
        smooth = rho * x * x / 2 + rest * (1 - torch.cos(ripple * x)) / ripple
        return (weight * smooth + random_part(x, xi)).sum()

    def gradient(x: Any, samples: Any) -> Any:
        point = x.detach().requires_grad_()
        total = sum(loss(point, xi) for xi in samples) / len(samples)
        return torch.autograd.grad(total, point)[0]

    def noise(t: int, k: int, n: int) -> Any:
        if given is not None:
            return torch.as_tensor(given[t, :, 0, k])[None]
        return torch.randn(n, terms, dim, dtype=dtype)

    def run() -> Any:
        torch.manual_seed(0)
        x = [torch.ones(dim, dtype=dtype) for _ in range(K)]
        first = [gradient(p, noise(0, k, b * I)) for k, p in enumerate(x)]
        d = [torch.stack(first).mean(dim=0)] * K
        own = list(x)  # averaging leaves them: the next difference subtracts there
        measured = []
        for t in range(1, work.T + 1):
            mean = torch.stack(x).mean(dim=0)
            silent = torch.zeros(1, terms, dim, dtype=dtype)
            measured.append(float(gradient(mean, silent).square().sum()))
            for k in range(K):
                samples = noise(t, k, b)
                x[k] = x[k] - ETA * d[k]
                d[k] = gradient(x[k], samples) + (1 - A) * (d[k] - gradient(own[k], samples))
                own[k] = x[k]
            if t % I == 0:
                x = [torch.stack(x).mean(dim=0)] * K
                d = [torch.stack(d).mean(dim=0)] * K
        return measured

    return run


def series_of(found: Any, T: int) -> Any:
    """Return ||grad f(xbar_t)||^2 of a run, [T, R] in float64: its blocks put together."""
    rows = np.asarray(found, np.float64)
    if rows.ndim <= 2 and len(rows) == T:
        return rows.reshape(T, -1)
    rows = rows.reshape(len(rows), T, -1)  # [blocks, T, replicates of a block]
    return rows.transpose(1, 0, 2).reshape(T, -1)
