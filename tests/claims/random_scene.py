"""Letters drawn at random as a scene: no run, so that no two terms of a line are tied."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from stemtheory.claims.language import (
    At,
    Expr,
    Index,
    Line,
    Over,
    Scene,
    Symbol,
    Times,
    letters,
)
from stemtheory.claims.language.expression import Young, expr, put

T_NOW = letters.t
# What the second transcription calls a letter, where it has another name there.
NAMES = {"batch": "b", "unit_step": "one", "c_b": "cb"}
POINTS = {"p": ("x1v", "gp", "gsp"), "p2": ("x2v", "gp2", "gsp2")}
OF_ROUND = ("q", "Y")  # known by their place in the round


class RandomScene(Scene):
    """The letters of ``second_hand.random_run`` at a time t for the language."""

    def __init__(self, r: SimpleNamespace, t: int, given: Index = T_NOW) -> None:
        super().__init__()
        r.one = 1.0
        self.r, self.t = r, t
        self.start = r.start(t + given.shift)

    def sides(self, line: Line) -> list[tuple[Any, Any]]:
        """Return both sides of every comparison of a line, as it is printed."""
        at = {"t": self.t, "start": self.start, "T": self.r.T, "end": self.start + self.r.I}
        at["s"] = (self.start - 1) // self.r.I + 1
        times = Times({name: np.array([value]) for name, value in at.items()})
        return [
            (self._value(step.left, times), self._value(step.right, times)) for step in line.steps
        ]

    def value(self, node: Expr) -> Any:
        """Return an expression at T, in which no other time stands."""
        return self._value(node, Times({"T": np.array([self.r.T]), "t": np.array([self.t])}))

    def _value(self, node: Expr, times: Times) -> Any:
        return np.squeeze(self.evaluation.value(self._plain(node), times))

    def _plain(self, node: Expr) -> Expr:
        """Return the expression with the assignment's beta, a rise by its ends, b samples alike."""
        match node:
            case Young(one, other):
                beta = Fraction(self.r.beta)
                one, other = self._plain(one), self._plain(other)
                return expr(1 + beta) * one + expr(1 + 1 / beta) * other
            case Over("rise", index, body, Index() as first, Index() as last):
                return self._plain(put(body, index, last + 1) - put(body, index, first))
            case Over("sum", Index("xi"), body):
                return letters.b * self._plain(body)
        return node.rebuilt(self._plain)

    def letter(self, symbol: Symbol, times: Times) -> Any:
        """Return a letter's values [n, 1, k, j(, dim)]."""
        r, name = self.r, symbol.name
        if name == "i":
            return float(self.t - self.start)
        if name in POINTS:
            return getattr(r, POINTS[name][0])
        if name in ("pbar", "xbar_a"):
            return np.zeros(2)  # only its gradients are spoken of
        found: Any = getattr(r, NAMES.get(name, name), None)
        if name in ("fresh", "stale"):
            found = r.x[times[symbol.at[0]] - (name == "stale")]
        elif symbol.at and np.ndim(found):
            found = found[times[symbol.at[0]] - (self.start if name in OF_ROUND else 0)]
        elif (
            symbol.at and name != "batch"
        ):  # one number for a letter that stands at an index: another at another
            found = found * (1 + symbol.at[0].shift / 7)
        return self._axes(symbol, found) if np.ndim(found) else found

    def _axes(self, symbol: Symbol, found: Any) -> Any:
        worker = [index.name for index in symbol.at[1:]]
        dims = found.shape[-1:] if symbol.vector else ()
        K = found.shape[1] if worker else 1
        return found.reshape(len(found), 1, *((1, K) if worker == ["j"] else (K, 1)), *dims)

    def apply(self, node: At, point: Any, times: Times) -> Any:
        """Return what the assignment says of a loss or gradient at a named point."""
        r, at = self.r, node.point
        assert isinstance(at, Symbol)
        if at.name == "xbar_a":  # a vector whose squared norm is the mean over t
            return np.sqrt(np.mean(np.sum(r.G[1 : r.T + 1] ** 2, axis=-1)) / 2) * np.ones(2)
        if at.name in POINTS:
            found = getattr(r, POINTS[at.name][1 if node.function == "grad_k" else 2])[None]
        elif node.function in ("f", "grad"):
            t = times[at.at[0]] if at.at else np.array([self.t])
            found = (r.f if node.function == "f" else r.G)[t]
            return found.reshape(len(t), 1, 1, 1, *found.shape[1:])
        else:
            found = self._of_workers(node, at, times)
        return found[:, None, :, None] if node.worker == "k" else found[:, None, None]

    def _of_workers(self, node: At, at: Symbol, times: Times) -> Any:
        r, old = self.r, at.name == "stale"
        t = times[at.at[0]] if at.at else np.array([self.t])
        exact = r.gm[t] if at.name in ("xbar", "pbar") else r.g[t - old]
        sample, mean = (r.gx_old, r.gs_old) if old else (r.gx, r.gs)
        return {
            "grad_k": exact,
            "noise_k": sample[t] - exact,
            "sample_k": sample[t],
            "mean_noise_k": mean[t] - exact,
            "sampled_k": mean[t],
        }[node.function]

    def there(self, place: str, times: Times) -> Any:
        """Return whether the assignment is at the jump."""
        return np.array([self.r.jump])
