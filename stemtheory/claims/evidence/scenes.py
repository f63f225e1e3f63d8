"""A recorded run as a scene: every letter of a line at every t, and what is known of the future.

Axes as in ``language.evaluation``: [instance, replicate, worker k, worker j], and coordinates.

Paper: Algorithm (Algo_DR-STORM_batch_App), Algorithm (Algo_FedAvg).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stemtheory.claims.evidence import closed_forms
from stemtheory.claims.evidence.brackets import minibatch, noise
from stemtheory.claims.evidence.fedavg_path import FedAvgPath
from stemtheory.claims.evidence.futures import FEDAVG, STEM, compared
from stemtheory.claims.evidence.path import Path
from stemtheory.claims.evidence.recorded import Recorded, schedule_of, square
from stemtheory.claims.evidence.states.run import Directed, StateRun
from stemtheory.claims.language import (
    EPS,
    At,
    Index,
    Relation,
    Scene,
    Symbol,
    Times,
    letters,
)
from stemtheory.claims.language.letters import Letter
from stemtheory.runtime import Floats, UsageError


def scene_of(path: Recorded) -> RunScene:
    """Return the scene of a recorded run, kept with it, so that all lines share their norms."""
    kept: RunScene = vars(path).setdefault("scene", RunScene(path))
    return kept


OF_POINTS = ("xbar",)  # what follows from the points of any run
# What is a field's letter in a line, and something else of a recorded run.
HIDDEN = {*vars(Recorded)} - {*OF_POINTS}
# Closed forms of what comes after F_u, of STEM alone.
CLOSED = ("growth", "next_drift", "bracket_noise", "moved_gradients", "apart_gradients")
NOISY = 8  # standard deviations: larger noise in a gradient is not expected, for rounding alone


class RunScene(Scene):
    """Letters of a recorded run."""

    def __init__(self, path: Recorded) -> None:
        super().__init__()
        self.path = path
        self._instances: dict[Index, Times] = {}

    @cached_property
    def sizes(self) -> dict[str, Any]:
        """The letters without indices."""
        s = self.path.setting
        return {
            **{
                name: getattr(s, name) for name in ("K", "I", "b", "L", "sigma", "zeta", "gap", "T")
            },
            "B": s.initial_batch,
            "m": s.sync_batch,
            "c": self._momentum_constant(),
            "step": self._constant_step(),
        }

    def _constant_step(self) -> float:
        """The step size where it is the same at every t."""
        path = self.path
        if isinstance(path, StateRun):
            steps = path.eta[1:-1]
            return float(steps[0]) if (steps == steps[0]).all() else np.nan
        return path.eta if isinstance(path, FedAvgPath) else np.nan

    def _momentum_constant(self) -> float:
        """c as the schedule declares it, or else as its first step has it."""
        path = self.path
        if not isinstance(path, Path):
            return np.nan
        declared = schedule_of(path.case).parameters()
        return declared.get("c", float(path.a[2] / path.eta[1] ** 2))

    def letter(self, symbol: Symbol, times: Times) -> Any:
        """Return the values of a letter at its indices."""
        if not symbol.at:
            return self.sizes[symbol.name]
        every, at = self._array(symbol.name), times[symbol.at[0]]
        kept = every[np.clip(at, 0, len(every) - 1)]
        if np.any(outside := (at < 0) | (at >= len(every))):  # only a wrong version asks for these
            kept[outside] = np.nan
        workers = [index.name for index in symbol.at[1:]]
        dims = (kept.shape[-1],) if symbol.vector else ()
        body = kept.shape[1 : kept.ndim - len(dims)]  # (), (R,) or (R, K)
        R, K = (*body, 1, 1)[:2]
        axes = (R, 1, K) if workers == ["j"] else (R, K, 1)
        return kept.reshape(len(kept), *axes, *dims)

    def _array(self, name: str) -> Floats:
        """Return the values of a letter at every t: [T + 2], then replicates, workers, coordinates.

        Raises
        ------
        UsageError
            If the run has no such letter.
        """
        letter = letters.LETTERS[name]
        if (states := self._states(letter)) is not None:
            return self._field(states, letter)
        path, asked = self.path, letter.field or name
        if asked == "x":
            return path.p
        if asked in CLOSED and isinstance(path, Path):
            return self._closed(path, asked)
        return np.asarray(getattr(path, asked))

    def _states(self, letter: Letter) -> StateRun | None:
        """Return the run by the fields of its state, for a letter that is one of these."""
        path, asked = self.path, letter.field or letter.name
        if isinstance(path, StateRun):
            return path
        assert isinstance(path, Directed)
        derived = asked not in HIDDEN and np.ndim(getattr(path, asked, 0)) > 0
        if (derived or asked in ("x", *CLOSED)) and not letter.unaveraged:
            return None
        if asked not in path.letters:
            raise path.refusal(asked)
        return path.states

    def _field(self, path: StateRun, letter: Letter) -> Floats:
        """Return a field of the state of any algorithm; of the server's without their axis."""
        asked = letter.field or letter.name
        if asked in OF_POINTS:
            return np.asarray(getattr(path, asked))
        every = path.local(asked) if letter.unaveraged else path[asked]
        if not letter.vector or "k" in letter.indices:
            return every
        if every.shape[2] > 1:
            raise UsageError(
                f"{letter.name} is at times alone, but {asked} is every worker's in a run of"
                f" {path.case.algorithm}: let the letter stand at workers too."
            )
        return every[:, :, 0]

    def _closed(self, path: Path, name: str) -> Floats:
        """Return what is known of the future of STEM."""
        if name == "growth":
            return self._growth
        own = {"next_drift": "expected_drift", "bracket_noise": "noise_change"}
        if name in own:
            return np.asarray(getattr(path, own[name]))
        return np.asarray(getattr(closed_forms, name)(path))

    @cached_property
    def _growth(self) -> Floats:
        assert isinstance(self.path, Path)
        return np.pad(closed_forms.growth(self.path), ((1, 1), (0, 0)), constant_values=np.nan)

    def apply(self, node: At, point: Any, times: Times) -> Any:
        """Return a loss or a gradient at points [n, R, k, j, dim]."""
        problem = self.path.problem
        if node.function == "f":
            return problem.value(point)
        if node.function == "grad":
            return problem.full_gradient(point)
        if node.function == "mean_noise_k":
            return self._mean_noise(node, times)
        if node.function != "grad_k":  # what is drawn has a closed form, or none
            raise TypeError(node)
        # the oracle wants its workers on the axis before the last
        other = 3 if node.worker == "k" else 2
        workers = point.squeeze(axis=other)
        shape = (*workers.shape[:2], self.path.case.K, workers.shape[-1])
        return np.expand_dims(problem.gradient(np.broadcast_to(workers, shape)), axis=other)

    def _mean_noise(self, node: At, times: Times) -> Any:
        """Return the noise of the run's own minibatch of d_t at a point of that estimate."""
        path, point = self.path, node.point
        assert isinstance(point, Symbol)
        every = self._array(point.name)
        at = times[point.at[0]]
        if isinstance(path, StateRun):
            return np.stack([path.noise(int(t), every[t]) for t in at])[:, :, :, None]
        assert isinstance(path, Path)
        return np.stack([noise(path, every[i], minibatch(path, int(i) - 1)) for i in at])[
            :, :, :, None
        ]

    def compared(self, step: Relation, given: Index) -> Relation:
        """Return a comparison in excess form, with the closed forms of what comes after F_u."""
        known = {Path: STEM, FedAvgPath: FEDAVG}
        return compared(step, given, known.get(type(self.path), ()))

    def there(self, place: str, times: Times) -> Any:
        """Return at which instances a place is."""
        return self.where(place, times.at["t"]) == "sync"

    def where(self, place: str, t: Any) -> Any:
        """Return 'sync' or 'off-sync' for each time; see ``Path.where``."""
        path = self.path
        literal = path.case.reading == "literal"
        match place:
            case "all":
                return np.full(len(t), "all")
            case "jump":
                none = path.case.reading == "overwrite"
                return path.where(t, "start" if literal or none else "end")
            case "round":  # a sum over the round so far: literal ones begin with the jump
                later = (path.base(t) > 1) & (path.case.I > 1)
                return np.where(later, "sync", "off-sync") if literal else path.where(t, "end")
        return path.where(t, place)

    def times(self, given: Index) -> Times:
        """Return the instances: F_u is given for u = 1..T, and ``given`` says how t follows."""
        if given not in self._instances:
            self._instances[given] = self.instances(self.path.t, given)
        return self._instances[given]

    def instances(self, u: Any, given: Index = letters.t) -> Times:
        """Return chosen instances: round [start, end - 1] holds u."""
        start, T = self.path.base(u), np.array([self.path.T])
        end = start + self.path.case.I
        return Times({"t": u - given.shift, "start": start, "end": end, "T": T})

    def rounding(self, node: Symbol | At, value: Any) -> Any:
        """Points are sums of up to I steps and means of K; gradients cost their terms' ulps."""
        path = self.path
        if isinstance(node, At) and node.function == "f":
            return 16 * EPS * np.abs(value)
        if isinstance(node, At) or node.name == "next_value":
            size = np.abs(value) + path.setting.L * (1 + self._largest)
            return 8 * EPS * (size + NOISY * path.setting.sigma)
        if not node.at:
            return 0.0
        if node.name == "U":  # squares of differences of noise that is as large as sigma
            return 16 * EPS * (value + path.setting.sigma * np.sqrt(value))
        letter = letters.LETTERS[node.name]
        if node.name not in ("x", "xbar") and (states := self._states(letter)) is not None:
            return path.T * EPS * (np.abs(value) + self._reach(states, letter))
        if node.vector:
            grown = path.case.I + path.case.K if node.name in ("x", "xbar") else 8
            return grown * EPS * np.abs(value)
        return 16 * EPS * np.abs(value)

    def _reach(self, states: StateRun, letter: Letter) -> float:
        """How large what a field is computed from may be: points, and gradients as x/eta."""
        every = self._array(letter.name)
        own = float(np.nanmax(np.abs(every), initial=0.0))
        if letter.units == letters.GRADIENT:
            return own + self._largest / float(np.nanmin(states.eta[1:-1]))
        return own + (self._largest if letter.units == letters.x.units else 0.0)

    @cached_property
    def _largest(self) -> float:
        return float(np.nanmax(np.abs(self.path.p)))

    def slope(self, node: At, point: Any) -> Any:
        """L for gradients; the norm of the gradient for the loss."""
        if node.function == "f":
            return np.sqrt(square(self.path.problem.full_gradient(point)))
        return self.path.setting.L
