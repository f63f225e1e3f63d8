"""Training on real images as in the paper's experiments: STEM, FedAvg, SCAFFOLD and their kin.

Between synchronisations workers do not know of each other, so a round is computed for a few workers
at a time (what the cache holds), in threads, all I steps in one go; the minibatch of a step is read
once for both of STEM's gradients. Several seeds run side by side: state arrays are [seeds, K, dim].
The minibatches of a round depend on (seed, round, K, dim, b, I) alone: neither the algorithm nor
chunks, threads or an interruption change them.

A seed that leaves the finite numbers is reported, from the round where it did; the others go on.

Paper: sec: Experiments, Algorithm (Algo_DR-STORM_batch), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from stemtheory._version import __version__
from stemtheory.algorithms import (
    ALGORITHMS,
    Algorithm,
    Step,
    System,
    choices_of,
    full_pass,
    mean_iterate,
)
from stemtheory.images.estimates import along
from stemtheory.images.problem import ImageProblem
from stemtheory.images.schedule import History, PerEpoch, Training
from stemtheory.oracles import Constants
from stemtheory.runtime import (
    NoiseKey,
    UsageError,
    generator,
    one_blas_thread,
    read_npz,
    refuse_misfits,
    write_file,
)

__all__ = ["History", "PerEpoch", "Training", "estimates", "train"]
Visit = Callable[[int, Any], object]
RECORDS = ("loss", "accuracy", "grad_sq", "diverged")
TORN = "remove it to start afresh"


@one_blas_thread()  # workers have threads already, with which those of products would compete
def train(
    problem: ImageProblem,
    training: Training,
    *,
    threads: int | None = None,
    chunk: int | None = None,
    checkpoint: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
    visit: Visit | None = None,
) -> History:
    """Return the history of a training run, from a checkpoint where there is one of the same run.

    ``checkpoint`` is a file that is renewed, whole, whenever the run is looked at; ``chunk`` is how
    many workers advance together. ``visit`` is handed the round and the mean iterates [seeds, dim]
    whenever the run is looked at.

    Raises
    ------
    UsageError
        If the checkpoint belongs to another run, or the algorithm makes random choices or draws
        minibatches of another size than b.
    """
    run = _Run(problem, training, threads or os.cpu_count() or 1, chunk, visit)
    name = f"{training.algorithm} on {problem.dials.get('data', problem.name)}"
    with run.pool, np.errstate(all="ignore"):
        done = run.resume(checkpoint)
        if not done:
            run.begin()
        for number in range(done + 1, training.rounds + 1):
            run.round(number)
            if number in training.due:
                run.look(number)
                run.save(number, checkpoint)
                progress(f"{name}: round {number} of {training.rounds}, {run.said()}")
            if run.hopeless:
                break
        return run.history()


@one_blas_thread()
def estimates(problem: ImageProblem, training: Training, points: int = 4) -> Constants:
    """Return the largest L, sigma and zeta met along a run of the first seed: none is exact.

    Paper: Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
    """
    every = max(1, training.rounds // points)
    visited: list[Any] = []
    watched = replace(training, seeds=training.seeds[:1], every=every, gradient=False)
    train(problem, watched, visit=lambda _, x: visited.append(x[0]))
    return along(problem, [x for x in visited if np.isfinite(_host(x)).all()])


class _Run:
    """The state of a training run and what was recorded so far."""

    def __init__(
        self,
        problem: ImageProblem,
        training: Training,
        threads: int,
        chunk: int | None,
        visit: Visit | None,
    ) -> None:
        self.problem, self.training, self.visit = problem, training, visit
        self.algorithm: Algorithm = ALGORITHMS[training.algorithm].make(options=training.options)
        unlike = [kind for kind in self.algorithm.costs.unusual(training.I) if kind.size > 1]
        if choices_of(self.algorithm) or unlike:
            raise UsageError(
                f"{training.algorithm} with {dict(training.options)} makes random choices, or draws"
                " minibatches of another size than b, but image runs have all workers and one b:"
                " leave that option out, or choose stem, fedavg or scaffold."
            )
        together = problem.network.chunk * 8 // max(8, training.b) // len(training.seeds)
        size = chunk or max(1, together)
        K = problem.K
        self.parts = [slice(i, min(i + size, K)) for i in range(0, K, size)]
        self.system = self.algorithm if isinstance(self.algorithm, System) else None
        self.addresses = [
            NoiseKey(seed, problem.dim, K, 0, training.b, training.I).seed_sequence(0, "images")
            for seed in training.seeds
        ]
        self.pool = ThreadPoolExecutor(threads if problem.xp is np else 1)
        n, records = len(training.seeds), len(training.due)
        self.state: Any = None
        self.loss, self.accuracy, self.grad_sq = np.full((3, n, records), np.nan)
        self.diverged = np.zeros(n, dtype=np.int64)

    @property
    def hopeless(self) -> bool:
        """Whether every seed is lost."""
        return bool((self.diverged > 0).all())

    def begin(self) -> None:
        """Set the state at t = 1, from a start of its own for every seed."""
        problem, training = self.problem, self.training
        starts = np.stack([problem.start(seed) for seed in training.seeds])
        x = np.repeat(starts[:, None], problem.K, axis=1).astype(problem.dtype)
        batch = None
        if self.algorithm.costs.initial_batch:
            batch = self._picks(0, 1, training.b * training.I)[0]
        eta = float(training.schedule.eta(1.0))
        self.state = self.algorithm.init(problem, problem.xp.asarray(x), eta, batch)
        self.look(0)

    def round(self, number: int) -> None:
        """Advance by I local steps and a synchronisation."""
        training, problem = self.training, self.problem
        I, eta, momentum = training.I, training.schedule.eta, training.schedule.momentum
        steps = [
            Step(t, float(eta(float(t))), float(momentum(float(t + 1))), t % I == 0)
            for t in range((number - 1) * I + 1, number * I + 1)
        ]
        if self.system is not None:
            self.state = self.system.start_round(problem, self.state, steps[0], {})
        picks = self._picks(number, training.I, training.b)
        K, state = problem.K, self.state

        def advance(part: slice) -> Any:
            some, mine = problem.workers(part), _slice(state, part, K)
            with np.errstate(all="ignore"):  # the setting is the thread's own
                for step, lists in zip(steps, picks, strict=True):
                    batch = some.gather(lists[:, part])
                    mine = self.algorithm.local_step(some, mine, step, batch)
            return mine

        states = list(self.pool.map(advance, self.parts))
        self.state = self.algorithm.synchronise(problem, _join(states, state, K))
        x = mean_iterate(self.state)
        fresh = ~np.asarray(_host(problem.xp.isfinite(x.sum(axis=-1)))) & (self.diverged == 0)
        self.diverged[fresh] = number

    def _picks(self, number: int, steps: int, b: int) -> Any:
        """Return the minibatches of a round, [steps, seeds, K, b]: round 0 is the initial one."""
        problem = self.problem
        lists = []
        for address in self.addresses:
            # the number of the round is one more word of the run's address
            key = (*address.spawn_key, number)
            seed = np.random.SeedSequence(address.entropy, spawn_key=key)
            stream = generator(seed)
            lists.append(problem.draw(stream, (steps,), b, problem.dtype))
        return problem.xp.asarray(np.stack(lists, axis=1))

    def look(self, number: int) -> None:
        """Record training loss and test accuracy at the mean iterate of every seed."""
        problem, at = self.problem, self.training.due.index(number)
        x = mean_iterate(self.state)
        if self.visit is not None:
            self.visit(number, x)

        def one(seed: int) -> tuple[float, float, float]:
            with np.errstate(all="ignore"):
                square = np.nan
                if self.training.gradient:
                    g = problem.full_gradient(x[seed])
                    square = float((g * g).sum())
                return float(problem.value(x[seed])), float(problem.accuracy(x[seed])), square

        for seed, (loss, accuracy, square) in enumerate(self.pool.map(one, range(len(x)))):
            if np.isfinite(loss) and self.diverged[seed] == 0:
                self.loss[seed, at], self.accuracy[seed, at] = loss, accuracy
                self.grad_sq[seed, at] = square
            elif self.diverged[seed] == 0:
                self.diverged[seed] = max(1, number)

    def said(self) -> str:
        """Return the last record in words."""
        seen = ~np.isnan(self.loss)
        if self.hopeless or not seen.any():
            return "diverged"
        at = int(np.flatnonzero(seen.any(axis=0))[-1])
        return (
            f"loss {np.nanmean(self.loss[:, at]):.4f}, test accuracy"
            f" {np.nanmean(self.accuracy[:, at]):.4f}"
        )

    def history(self) -> History:
        """Return what was recorded, with what it cost."""
        b, I, problem = float(self.training.b), self.training.I, self.problem
        paid = [
            self.algorithm.costs.counts(
                number * I, b=b, I=I, B=b * I, K=problem.K, dim=problem.dim,
                pass_samples=full_pass(problem),
            )
            for number in self.training.due
        ]  # fmt: skip
        return History(
            np.array(self.training.due, dtype=np.int64),
            np.array([counts.draws_per_worker for counts in paid], dtype=np.float64),
            np.array([counts.samples_per_worker for counts in paid], dtype=np.float64),
            self.loss,
            self.accuracy,
            self.grad_sq,
            self.diverged,
        )

    # -- checkpoints

    def identity(self) -> str:
        """Return what a checkpoint must belong to: everything that can change a number."""
        training, problem = self.training, self.problem
        told = {
            "version": __version__,
            **{k: v for k, v in asdict(training).items() if k != "schedule"},
            "schedule": [training.schedule.name, training.schedule.parameters()],
            "problem": [problem.name, problem.K, problem.dim, problem.dtype.name],
            "dials": {k: v for k, v in problem.dials.items() if k != "folder"},
        }
        text = json.dumps(told, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

    def save(self, number: int, path: Path | None) -> None:
        """Write the checkpoint, whole or not at all."""
        if path is None:
            return
        fields = {f"state_{k}": _host(v) for k, v in self.state._asdict().items() if v is not None}
        told = {"identity": self.identity(), "number": number}
        arrays: dict[str, Any] = {
            **told,
            **{name: getattr(self, name) for name in RECORDS},
            **fields,
        }
        write_file(path, lambda file: np.savez(file, **arrays), "folder")

    def resume(self, path: Path | None) -> int:
        """Return the round that a checkpoint of the same run holds, 0 where there is none."""
        if path is None or not path.exists():
            return 0
        held = read_npz(path, TORN)
        if str(held.get("identity")) != self.identity():
            raise UsageError(f"{path} belongs to another run: remove it or choose another folder.")
        problem, n = self.problem, len(self.training.seeds)
        x = problem.xp.zeros((n, problem.K, problem.dim), dtype=problem.dtype)
        batch = problem.xp.zeros((n, problem.K, 1), dtype=np.int64)
        empty: Any = self.algorithm.init(problem, x, 1.0, batch)  # its shapes matter, no number
        state = {f"state_{k}": _host(v) for k, v in empty._asdict().items() if v is not None}
        records = {name: getattr(self, name) for name in RECORDS}
        refuse_misfits(path, held, {"identity": "", "number": 0, **records, **state}, TORN)
        for name in RECORDS:
            setattr(self, name, held[name])
        values = (held.get(f"state_{name}") for name in empty._fields)
        self.state = type(empty)(
            *(v if v is None else problem.xp.asarray(v) if v.ndim else v.item() for v in values)
        )
        return int(held["number"])


def _slice(state: Any, part: slice, K: int) -> Any:
    """Return the state of some of the workers; what all share (the server's) stays whole."""
    return type(state)(*(v[..., part, :] if _per_worker(v, K) else v for v in state))


def _join(states: list[Any], whole_state: Any, K: int) -> Any:
    """Return the state of all workers from those of the parts."""
    parts = [
        np.concatenate(values, axis=-2) if len(states) > 1 and _per_worker(before, K) else values[0]
        for before, *values in zip(whole_state, *states, strict=True)
    ]
    return type(whole_state)(*parts)


def _per_worker(value: Any, K: int) -> bool:
    return getattr(value, "ndim", 0) >= 2 and value.shape[-2] == K


def _host(value: Any) -> Any:
    """Return an array in the memory of the host."""
    return value.get() if hasattr(value, "get") else np.asarray(value)
