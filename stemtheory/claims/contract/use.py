"""Checks of how an oracle is used: evaluated once, combined often, in both precisions, far away.

Paper: Algorithm (Algo_DR-STORM_batch).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stemtheory.claims.contract.probes import FAR, everyone
from stemtheory.claims.contract.rows import ContractRow, faultless
from stemtheory.oracles import Problem
from stemtheory.runtime import UsageError, generator, numpy_backend
from stemtheory.simulator import simulate

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def use_rows(problem: Problem) -> Iterator[ContractRow]:
    """Yield the rows on reuse, dtypes, far points and a short run."""
    note = "an evaluation serves any minibatch, unchanged"
    yield faultless("reuse", _reuse_fault(problem), note)
    faults = filter(None, (dtype_fault(problem, dtype) for dtype in FLOATS))
    yield faultless("dtype", "; ".join(faults), "float64 and float32 stay what they are")
    yield faultless("far points", _far_fault(problem), "finite at 1e6 in float32")
    note = "eight iterations of STEM stay finite in both dtypes"
    yield faultless("run", _run_fault(problem), note)


def _stream() -> np.random.Generator:
    return generator(1)


def _reuse_fault(problem: Problem) -> str:
    """Return what is wrong with evaluate and combine, if anything."""
    x = _stream().standard_normal((3, problem.K, problem.dim))
    minibatch = problem.draw(_stream(), (3,), 2, FLOATS[0])
    again = problem.draw(_stream(), (3,), 2, FLOATS[0])
    if not np.array_equal(minibatch, again):
        return "the same stream gave two different minibatches"
    evaluation = problem.evaluate(x)
    first = np.array(problem.combine(evaluation, minibatch))
    if not np.array_equal(first, problem.combine(evaluation, minibatch)):
        return "the same evaluation and minibatch gave two different gradients"
    if not np.array_equal(minibatch, again):
        return "combine changed its minibatch"
    if not np.array_equal(first, problem.stochastic_gradient(x, minibatch)):
        return "stochastic_gradient differs from combine(evaluate(x), minibatch)"
    return ""


def dtype_fault(problem: Problem, dtype: np.dtype[Any]) -> str:
    """Return which results do not come back in ``dtype``, or an empty text."""
    placed = problem.place(numpy_backend("contract"), dtype)
    x = _stream().standard_normal((2, problem.K, problem.dim)).astype(dtype)
    minibatch = placed.draw(_stream(), (2,), 2, dtype)
    lists = minibatch.dtype.kind == "i"  # of samples, which have no precision
    results = {
        "value": placed.value(x),
        "full_gradient": placed.full_gradient(x),
        "gradient": placed.gradient(x),
        **({} if lists else {"draw": minibatch}),
        "combine": placed.combine(placed.evaluate(x), minibatch),
    }
    wrong = [f"{name} in {v.dtype}" for name, v in results.items() if v.dtype != dtype]
    return f"{dtype} came back as {', '.join(wrong)}" if wrong else ""


def _far_fault(problem: Problem) -> str:
    """Return what is not finite, or overflows on the way, a million away in float32."""
    placed = problem.place(numpy_backend("contract"), FLOATS[1])
    signs = _stream().choice([-1.0, 0.0, 1.0], (16, problem.dim))
    x = (FAR * np.concatenate([signs, np.ones((1, problem.dim))])).astype(np.float32)
    everywhere = everyone(x, problem.K)
    minibatch = placed.draw(_stream(), (len(x),), 2, FLOATS[1])
    try:
        with np.errstate(over="raise", invalid="raise", divide="raise"):
            results = {
                "value": placed.value(x),
                "full_gradient": placed.full_gradient(x),
                "stochastic_gradient": placed.stochastic_gradient(everywhere, minibatch),
            }
    except FloatingPointError as error:
        return str(error)
    wrong = [name for name, v in results.items() if not np.all(np.isfinite(v))]
    return f"not finite: {', '.join(wrong)}" if wrong else ""


def _run_fault(problem: Problem) -> str:
    """Return what a short run says against the problem, if anything."""
    run: dict[str, Any] = {"T": 8, "b": 2, "I": 2, "replicates": 2, "threads": 1}
    for dtype in FLOATS:
        try:
            trace = simulate(problem, dtype=dtype.name, backend="numpy", **run)
        except UsageError as error:
            return str(error)
        if trace.status != "ok":
            return f"the run diverged in {dtype}"
    return ""
