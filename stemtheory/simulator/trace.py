"""What a run leaves behind: the measured E||grad f(xbar_a)||^2 and everything that made it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from stemtheory.algorithms import Counts
from stemtheory.oracles import Constants
from stemtheory.runtime import (
    Floats,
    Ints,
    UsageError,
    file_path,
    notebook,
    read_npz,
    refuse_misfits,
    rounded,
    t_quantile,
    write_file,
)
from stemtheory.simulator.run import JUDGES, Margin, Run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Circumstances:
    """What a run met: its problem's constants at the start, and where and how it was computed.

    ``dials`` are all of the problem's, ``first_batch`` is B where the algorithm has one,
    ``schedule`` the numbers that fix the step sizes; ``engine``, ``backend`` and ``noise_source``
    are those taken. ``estimated`` marks constants that are estimates from below.
    """

    constants: Constants
    dials: Mapping[str, Any]
    estimated: bool
    grad_sq_start: float
    first_batch: float | None
    schedule: Mapping[str, float]
    engine: str
    noise_source: str
    backend: str
    device: str
    version: str


@dataclass(frozen=True)
class Trace:
    """A finished run over R replicates: ``run`` is what was asked for.

    ``grad_sq`` has shape (R,): the average over t = 1..T of ||grad f(xbar_t)||^2, so its mean is
    the paper's E||grad f(xbar_a)||^2. ``last`` and ``best`` are of the same shape; ``times`` (n,),
    ``series`` (n, R) and ``running`` (n, R) hold ||grad f(xbar_t)||^2 and its running average.
    ``diverged_at`` (R,) is the iteration whose value was above ``DIVERGED`` = 1e100 or no number,
    0 if none was. On a chain, a problem of floors, ``progress`` (n, R) is how many coordinates
    xbar_t has found, and ``arrived_at`` (R,) the first t at which it has found all, 0 if none.

    Paper: Theorem (Thm: PR_Convergence_Main_App), Definition (Def: StationaryPt).

    Examples
    --------
    >>> from stemtheory import simulate
    >>> [bound.verdict for bound in simulate("cosine", T=64, replicates=8).bounds()][0]
    <Verdict.VACUOUS: 'vacuous'>
    """

    run: Run
    circumstances: Circumstances
    counts: Counts
    grad_sq: Floats
    last: Floats
    best: Floats
    times: Ints
    series: Floats
    running: Floats
    diverged_at: Ints
    progress: Ints
    arrived_at: Ints

    # The bounds live in a room above this one, and say there how a trace is judged.
    judge: ClassVar[Callable[[Trace], tuple[Margin, ...]]]

    def bounds(self) -> tuple[Margin, ...]:
        """Return every bound on the algorithm beside what was measured: value, margin, verdict."""
        import_module(JUDGES)
        return Trace.judge(self)

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The run and its circumstances as one flat mapping, JSON-ready."""
        run, found = self.run, self.circumstances
        constants = asdict(found.constants)
        exact = constants.pop("exact")
        options = run.algorithm.settled
        return {
            "algorithm": run.algorithm.name,
            "algorithm_options": {k: v for k, v in options.items() if k not in _OWN_KEYS},
            **{name: options.get(name, usual) for name, usual in _OWN_KEYS.items()},
            "engine": found.engine,
            "noise_source": found.noise_source,
            **({"estimated": True} if found.estimated else {}),
            "problem": run.problem.name,
            "dim": run.problem.dim,
            **asdict(run.sizes),
            "B": found.first_batch,
            "dtype": run.numerics.dtype,
            "backend": found.backend,
            "device": found.device,
            "seed": run.seed,
            "version": found.version,
            "x1": run.start.tolist(),
            "constants": {k: v if math.isfinite(v) else None for k, v in constants.items()},
            "exact": exact,
            "dials": dict(found.dials),
            "grad_sq_start": found.grad_sq_start,
            "schedule": {"name": run.schedule.name, **found.schedule},
        }

    @property
    def replicates(self) -> int:
        """How many replicates."""
        return len(self.grad_sq)

    @property
    def diverged_replicates(self) -> int:
        """How many replicates left the finite numbers."""
        return int(np.count_nonzero(self.diverged_at))

    @property
    def status(self) -> str:
        """``ok``, or ``diverged`` if any replicate diverged."""
        return "diverged" if self.diverged_replicates else "ok"

    @property
    def mean_grad_sq(self) -> float | None:
        """The measured E||grad f(xbar_a)||^2, or None if any replicate diverged."""
        with np.errstate(over="ignore"):
            return None if self.diverged_replicates else float(self.grad_sq.mean())

    @property
    def mean_grad_sq_finite(self) -> float | None:
        """The mean over the replicates that stayed finite, or None if none did."""
        finite = self.grad_sq[self.diverged_at == 0]
        return float(finite.mean()) if len(finite) else None

    @property
    def stderr(self) -> float | None:
        """Standard error of the mean; None for one replicate or a diverged run."""
        if self.replicates < 2 or self.diverged_replicates:
            return None
        with np.errstate(over="ignore"):  # squares of huge numbers: an infinite error is reported
            return float(self.grad_sq.std(ddof=1) / math.sqrt(self.replicates))

    @property
    def ci95(self) -> tuple[float, float] | None:
        """Two-sided 95 % Student interval of the mean, over replicates."""
        mean, error = self.mean_grad_sq, self.stderr
        if mean is None or error is None:
            return None
        half = t_quantile(self.replicates - 1, 0.975) * error
        return mean - half, mean + half

    def quantiles(self, q: tuple[float, ...] = (0.05, 0.5, 0.95)) -> Floats | None:
        """Return quantiles over replicates of the time average, or None if the run diverged."""
        return None if self.diverged_replicates else np.quantile(self.grad_sq, q)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the setting, what was measured, and what it cost."""
        s, counts = self.settings, self.counts
        sizes = ", ".join(f"{n} = {s[n]:g}" for n in ("T", "K", "b", "I") if n in s)
        low, high = self.ci95 or (None, None)
        rows = (
            ("status", self.status),
            ("measured E||grad f||²", self.mean_grad_sq),
            (
                "95 % interval",
                None if low is None or high is None else f"{rounded(low, 4)} to {rounded(high, 4)}",
            ),
            ("replicates", self.replicates),
            ("replicates that diverged", self.diverged_replicates),
            ("samples per worker", counts.samples_per_worker),
            ("rounds", counts.rounds),
        )
        title = f"{s.get('algorithm', '')} on {s.get('problem', '')}: {sizes}"
        return notebook.table(title, ("", ""), rows)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per recorded time and replicate: t, replicate, grad_sq, running."""
        import pandas as pd  # half of the start-up time of a command that needs no table

        n, R = self.series.shape
        return pd.DataFrame(
            {
                "t": np.repeat(self.times, R),
                "replicate": np.tile(np.arange(R), n),
                "grad_sq": self.series.ravel(),
                "running": self.running.ravel(),
            }
        )

    def save(self, path: str | Path) -> Path:
        """Write the trace as one npz file (no pickle), whole or not at all; return its path."""
        path = file_path("path", path)
        target = path if path.suffix == ".npz" else path.with_name(path.name + ".npz")
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        text = {
            "run": self.run.to_json(),
            "circumstances": asdict(self.circumstances),
            "counts": vars(self.counts),
        }
        return write_file(
            target, lambda file: np.savez(file, text=np.array(json.dumps(text)), **arrays)
        )

    @staticmethod
    def load(path: str | Path) -> Trace:
        """Return the trace that ``save`` wrote.

        Raises
        ------
        UsageError
            If the file is missing or is not a trace.
        """
        path = file_path("path", path)
        found = read_npz(path, _TODO)
        if "text" not in found:
            raise UsageError(f"{path} holds other arrays: {_TODO}.")
        try:
            text = json.loads(str(found.pop("text")))
            met = text["circumstances"]
            met["constants"] = Constants(**met["constants"])
            run, counts = Run.from_json(text["run"]), Counts(**text["counts"])
            circumstances = Circumstances(**met)
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError) as error:
            raise UsageError(
                f"{path} was saved by another version of stemtheory ({error}): run it again."
            ) from error
        per_replicate = np.zeros(run.replicates)
        table = np.zeros((np.size(found.get("times", ())), run.replicates))
        like: dict[str, Any] = dict.fromkeys(_ARRAYS, per_replicate)
        like |= {"series": table, "running": table}
        like |= {"times": np.int64(table[:, 0]), "diverged_at": np.int64(per_replicate)}
        chain = len(found.get("progress", ())) > 0
        like |= {"progress": np.int64(table if chain else table[:0])}
        like |= {"arrived_at": np.int64(per_replicate)}
        refuse_misfits(path, found, like, _TODO)
        return Trace(run, circumstances, counts, **found)


# Options of STEM that stand under their own names.
_OWN_KEYS = {"sync": "literal", "sync_batch": 1}
_TODO = "it is not a saved trace, give a .npz file of one"
_ARRAYS = (
    *("grad_sq", "last", "best", "times", "series", "running", "diverged_at"),
    *("progress", "arrived_at"),
)
