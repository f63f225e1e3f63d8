"""Letters drawn at random as a scene: no run, so that no two terms of a line are tied."""

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from stemtheory.claims.language import At, Evaluation, Expr, Line, Over, Symbol, Times
from stemtheory.claims.language.expression import Young, expr

# What the second transcription calls a letter, where it has another name there.
NAMES = {"batch": "b", "unit_step": "one"}


class RandomScene:
    """The letters of ``second_hand.random_run`` for the language."""

    def __init__(self, r: SimpleNamespace) -> None:
        r.one = 1.0
        self.r = r
        self.evaluation = Evaluation(self)

    def sides(self, line: Line, t: int) -> list[tuple[Any, Any]]:
        """Return both sides of every comparison of a line at a time, as it is printed."""
        r = self.r
        times = Times({"t": np.array([t]), "start": np.array([r.start(t)]), "T": np.array([r.T])})
        return [
            (self._value(step.left, times), self._value(step.right, times)) for step in line.steps
        ]

    def _value(self, node: Expr, times: Times) -> Any:
        return np.squeeze(self.evaluation.value(self._with_beta(node), times))

    def _with_beta(self, node: Expr) -> Expr:
        """Return the expression with the beta of the assignment, which the claims minimise over."""
        if isinstance(node, Young):
            beta = Fraction(self.r.beta)
            one, other = (self._with_beta(part) for part in (node.one, node.other))
            return expr(1 + beta) * one + expr(1 + 1 / beta) * other
        return node.rebuilt(self._with_beta)

    def number(self, value: Fraction) -> float:
        """Return the nearest float."""
        return float(value)

    def letter(self, symbol: Symbol, times: Times) -> Any:
        """Return a letter's values [n, 1, k, j(, dim)]."""
        if symbol.name in ("fresh", "stale"):
            found = self.r.x[times[symbol.at[0]] - (symbol.name == "stale")]
        else:
            found = getattr(self.r, NAMES.get(symbol.name, symbol.name))
            if not symbol.at or np.ndim(found) == 0:
                return found
            found = found[times[symbol.at[0]]]
        return self._axes(symbol, found)

    def _axes(self, symbol: Symbol, found: Any) -> Any:
        worker = [index.name for index in symbol.at[1:]]
        dims = found.shape[-1:] if symbol.vector else ()
        K = found.shape[1] if worker else 1
        return found.reshape(len(found), 1, *((1, K) if worker == ["j"] else (K, 1)), *dims)

    def apply(self, node: At, point: Any, times: Times) -> Any:
        """Return what the assignment says of a loss or gradient at a named point."""
        r, at = self.r, node.point
        assert isinstance(at, Symbol)
        t, old = times[at.at[0]], at.name == "stale"
        if node.function in ("f", "grad"):
            found = (r.f if node.function == "f" else r.G)[t]
            return found.reshape(len(t), 1, 1, 1, *found.shape[1:])
        exact = r.g[t - old] if at.name != "xbar" else r.gm[t]
        sample, mean = (r.gx_old, r.gs_old) if old else (r.gx, r.gs)
        found = {
            "grad_k": exact,
            "noise_k": sample[t] - exact,
            "mean_noise_k": mean[t] - exact,
            "sampled_k": mean[t],
        }[node.function]
        return found[:, None, :, None] if node.worker == "k" else found[:, None, None]

    def there(self, place: str, times: Times) -> Any:
        """Return whether the assignment is at the jump."""
        return np.array([self.r.jump])

    def total(self, node: Over, times: Times) -> None:
        """No sum is known."""

    def rounding(self, node: Symbol | At, value: Any) -> Any:
        """Rounding is of no interest here."""
        return 0.0

    def slope(self, node: At, value: Any) -> Any:
        """Nor here."""
        return 0.0
