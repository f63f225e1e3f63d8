"""What is wrong with an algorithm's moves: each function returns that in words, or an empty text.

Paper: Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

import random  # noqa: TID251 - looked at, to show that nobody else does
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from stemtheory.algorithms import Algorithm, Entry, choices_of
from stemtheory.oracles import Problem, load_problem
from stemtheory.runtime import numpy_backend
from stemtheory.schedules import Constant
from stemtheory.simulator import Run, Trace, Visit, gaussian_draw, simulate, walk

DIM = 4
REPLICATES = 3
ROUNDS = 4
FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
STEPS = Constant(0.05, 0.2)  # of an algorithm that is only followed, whatever its theory


@dataclass(frozen=True)
class Tried:
    """An algorithm with its options, and the seed of the noise it is tried with."""

    entry: Entry
    options: Mapping[str, Any]
    seed: int

    @property
    def K(self) -> int:
        """An odd number of workers, unless it fixes one."""
        return int(self.entry.pin("K") or 3)

    @property
    def I(self) -> int:
        """Some local steps, unless it fixes them."""
        return int(self.entry.pin("I") or 3)

    def made(self, L: float = 1.0) -> Algorithm:
        """Return it, made anew."""
        return self.entry.make(self.options, L)

    def problem(self, **dials: Any) -> Problem:
        """Return a nonconvex problem that it is tried on."""
        zeta = 0.0 if self.K == 1 else 1.0
        return load_problem("cosine", self.K, DIM, **{"zeta": zeta, **dials})

    def run(self, **more: Any) -> Run:
        """Return a run by its own theory."""
        sizes: dict[str, Any] = {"T": ROUNDS * self.I, "b": 2, "I": self.I}
        asked = sizes | {"replicates": REPLICATES, "seed": self.seed, "backend": "numpy"} | more
        return Run.of(
            self.problem(), self.entry, algorithm_options=self.options, engine="array", **asked
        )

    def visits(
        self,
        problem: Problem,
        part: slice | None = None,
        dtype: np.dtype[Any] = FLOATS[0],
        replicates: int = REPLICATES,
    ) -> Iterator[Visit]:
        """Yield its steps on a problem, with every state in the open."""
        placed = problem.place(numpy_backend("contract"), dtype)
        return walk(
            placed, self.made(), STEPS, T=ROUNDS * self.I, I=self.I, x1=1.5,
            draw=gaussian_draw(placed, self.seed, replicates, dtype), b=2.0,
            replicates=replicates, seed=self.seed, part=part, dtype=dtype,
        )  # fmt: skip


def repeat_fault(tried: Tried) -> str:
    """Return how two runs with the same seed differ: one object run twice, and one made anew."""
    run = tried.run()
    first = _bits(simulate(run, threads=1))
    if _bits(simulate(run, threads=1)) != first:
        return "the same object gave other numbers when it ran again: keep all state in the state"
    return "" if _bits(simulate(tried.run(), threads=1)) == first else "two runs of a seed differ"


def random_fault(tried: Tried) -> str:
    """Return what an algorithm does with random numbers that are not handed to it."""
    return global_fault(tried) or own_noise_fault(tried)


def global_fault(tried: Tried) -> str:
    """Return how it uses the generators that all code shares; they are left as they were."""
    kept = np.random.get_state(), random.getstate()  # noqa: NPY002 - put back below
    try:
        found = []
        for seed in (1, 2):
            np.random.seed(seed)  # noqa: NPY002 - set to show that nothing depends on it
            random.seed(seed)
            before = repr(np.random.get_state()), random.getstate()  # noqa: NPY002
            found.append(_bits(simulate(tried.run(), threads=1)))
            if (repr(np.random.get_state()), random.getstate()) != before:  # noqa: NPY002
                return "it draws from the global generator of numpy or random"
        return "" if found[0] == found[1] else "a run changes with the global generators' seed"
    finally:
        np.random.set_state(kept[0])  # noqa: NPY002
        random.setstate(kept[1])


def own_noise_fault(tried: Tried) -> str:
    """Return whether workers that are alike part without noise: something of its own parts them."""
    if choices_of(tried.made()):
        return ""
    for visit in tried.visits(tried.problem(sigma=0.0, zeta=0.0)):
        x = np.asarray(visit.after.x)
        if not np.array_equal(x, np.broadcast_to(x[:1, :1], x.shape)):
            return f"without noise, workers that are alike part at t = {visit.step.t}"
    return ""


def mixing_fault(tried: Tried) -> str:
    """Return where a replicate among others is not the run that it would be alone."""
    problem = tried.problem()
    together = [visit.after for visit in tried.visits(problem)]
    for r in range(REPLICATES):
        part = slice(r, r + 1)
        for visit, state in zip(tried.visits(problem, part), together, strict=True):
            if not np.array_equal(visit.after.x, state.x[part]):
                return f"replicate {r} differs at t = {visit.step.t} from its run without others"
    return ""


def apart_fault(tried: Tried) -> str:
    """Return where workers hold different points after a synchronisation."""
    for visit in tried.visits(tried.problem()):
        x = np.asarray(visit.after.x)
        if visit.step.synchronises and not np.array_equal(x, np.broadcast_to(x[:, :1], x.shape)):
            return (
                f"workers hold different points after the synchronisation of t = {visit.step.t}:"
                " average them, or say why in Entry(apart=...)"
            )
    return ""


def dtype_fault(tried: Tried) -> str:
    """Return which array of a state does not keep its dtype."""
    for dtype in FLOATS:
        for visit in tried.visits(tried.problem(), dtype=dtype):
            for name, array in arrays(visit.after, "state"):
                if array.dtype.kind == "f" and array.dtype != dtype:
                    return f"{name} is {array.dtype} after t = {visit.step.t} in {dtype}"
    return ""


def finite_fault(tried: Tried) -> str:
    """Return in which dtype a short run by its own step sizes leaves the finite numbers."""
    for dtype in FLOATS:
        trace = simulate(tried.run(dtype=dtype.name, T=16 * tried.I), threads=1)
        if trace.status != "ok":
            return f"a run of {16 * tried.I} iterations diverged in {dtype}"
    return ""


def arrays(thing: Any, name: str) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield every array of a state with the name of its place."""
    if isinstance(thing, np.ndarray):
        yield name, thing
    elif isinstance(thing, Mapping):
        for key, item in thing.items():
            yield from arrays(item, f"{name}.{key}")
    elif isinstance(thing, tuple | list):
        names = getattr(thing, "_fields", range(len(thing)))
        for key, item in zip(names, thing, strict=True):
            yield from arrays(item, f"{name}.{key}")
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from arrays(getattr(thing, field.name), f"{name}.{field.name}")


def _bits(trace: Trace) -> tuple[bytes, ...]:
    return trace.grad_sq.tobytes(), trace.last.tobytes(), trace.best.tobytes()
