"""What a problem is: a loss, its gradient oracle, and the constants the theorems speak of.

A problem evaluates its oracle at a point once (``evaluate``) and combines the result with a
minibatch (``combine``): the same minibatch can be used at two points, which is what makes the
two-sided momentum of STEM work, and a point is never evaluated twice.

Paper: eq. (Eq: Problem), Assumption (Ass: Lip_Smoothness), Assumption (Ass: Unbiased_Var_Grad).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol, Self

import numpy as np

from stemtheory.runtime import Backend, Floats, UsageError, by_name, notebook

Exactness = Literal["unbounded"] | bool
# How the exactness of a constant is said.
EXACTNESS: Mapping[Exactness, str] = {
    True: "attained",
    False: "bound",
    "unbounded": "unbounded",
}


@dataclass(frozen=True)
class Constants:
    """The constants of the paper's assumptions, and f* and the gap f(x_1) - f*.

    ``exact`` says of each name whether it is attained (true), an upper bound (false; a lower bound
    for f_star) or infinite ("unbounded").
    """

    L: float
    sigma: float
    zeta: float
    f_star: float
    gap: float
    exact: Mapping[str, Exactness] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: every constant, and whether it is attained."""
        return self.table("constants")

    def table(self, title: str) -> str:
        """Return the constants as a table in HTML; only those declared have an exactness."""
        names = [f.name for f in fields(self) if f.name != "exact"]
        said = {name: EXACTNESS[exact] for name, exact in self.exact.items()}
        return notebook.table(
            title, ("", "value", ""), ((n, getattr(self, n), said.get(n)) for n in names)
        )


@dataclass(frozen=True)
class Witness:
    """Where a constant is attained, in closed form.

    ``points`` has shape (n, dim): two points for L, one for sigma, zeta and f_star, one for a
    direction of negative curvature. ``workers`` are the workers compared.
    """

    constant: str
    points: Floats
    workers: tuple[int, ...]
    how: str


class ProblemEntry(ABC):
    """What makes a problem of ``package.module:NAME``: of what is named, nothing else is called.

    A name may come from a file that somebody sent, so a mere callable is no entry.
    """

    @abstractmethod
    def __call__(self, K: int, dim: Any, **dials: Any) -> Any:
        """Return the problem with K workers in ``dim`` dimensions."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it by its name, in the module of one of its functions."""
        return by_name(self, *filter(callable, vars(self).values()))

    def __deepcopy__(self, memo: Any) -> Self:
        """Return itself: nothing of it changes."""
        return self


@dataclass(frozen=True)
class ProblemMaker(ProblemEntry):
    """The entry of any class or function ``make(K, dim, **dials)`` that returns a problem."""

    make: Callable[..., Any]

    def __call__(self, K: int, dim: Any, **dials: Any) -> Any:
        """Return what ``make`` returns."""
        return self.make(K, dim, **dials)


class Problem(Protocol):
    """A loss f = (1/K) sum_k f^(k) on R^dim with a stochastic gradient oracle per worker."""

    @property
    def name(self) -> str:
        """The catalogue name."""

    @property
    def K(self) -> int:
        """How many workers."""

    @property
    def dim(self) -> int:
        """Length of x."""

    @property
    def nonconvex(self) -> bool:
        """Whether f has a direction of negative curvature somewhere."""

    @property
    def separable(self) -> bool:
        """Whether coordinates do not interact, so that compiled kernels apply."""

    @property
    def noisy(self) -> bool:
        """Whether the oracle draws anything."""

    @property
    def dials(self) -> Mapping[str, Any]:
        """The settings that define this problem, as JSON-ready values."""

    def constants(self, start: Floats | None = None) -> Constants:
        """Return the constants; the gap is f(start) - f*, or its supremum without a start."""

    def witnesses(self) -> tuple[Witness, ...]:
        """Return a witness of every exact constant."""

    def place(self, backend: Backend, dtype: np.dtype[Any]) -> Self:
        """Return the same problem with its arrays on the backend's device, in ``dtype``."""

    def value(self, x: Any) -> Any:
        """Return f(x): shape [..., dim] to [...]."""

    def full_gradient(self, x: Any) -> Any:
        """Return grad f(x): shape [..., dim] to [..., dim]."""

    def gradient(self, x: Any) -> Any:
        """Return grad f^(k)(x_k) for every worker: shape [..., K, dim] to the same."""

    def draw(self, stream: Any, shape: tuple[int, ...], b: float, dtype: np.dtype[Any]) -> Any:
        """Return minibatches of b samples for every leading index: shape ``[*shape, K, ...]``."""

    def evaluate(self, x: Any) -> Any:
        """Return all that ``combine`` needs to know of the points x, shape [..., K, dim]."""

    def combine(self, evaluation: Any, minibatch: Any) -> Any:
        """Return the minibatch gradients, shape [..., K, dim], at the points evaluated."""

    def stochastic_gradient(self, x: Any, minibatch: Any) -> Any:
        """Return the minibatch gradients at x, shape [..., K, dim]."""

    def noise_variance(self, x: Any) -> Any:
        """Return E||noise||^2 of one sample per worker at x: shape [..., K, dim] to [..., K]."""

    def noise_change(self, x: Any, y: Any, keep: float = 1.0) -> Any:
        """Return E||n(x) - keep n(y)||^2 of one sample per worker: shape [..., K]."""


class Staged(Protocol):
    """What a problem has beside the protocol where its coordinates are found one by one."""

    @property
    def links(self) -> int:
        """How many there are to find."""

    def start(self) -> float:
        """Return where none is found: a run starts there unless told otherwise."""

    def progress(self, x: Any) -> Any:
        """Return how many are found: shape [..., dim] to [...]."""


def staged(problem: Any) -> Staged | None:
    """Return a problem that counts what is found of it; None for any other."""
    return problem if hasattr(problem, "progress") else None


MEMBERS = tuple(sorted(name for name in vars(Problem) if not name.startswith("_")))


def refuse_no_problem(
    thing: object, name: object, has: Callable[[object, str], bool] = hasattr
) -> None:
    """Refuse what lacks a part of the protocol.

    Raises
    ------
    UsageError
        With the parts that are missing.
    """
    missing = [member for member in MEMBERS if isinstance(thing, type) or not has(thing, member)]
    if missing:
        raise UsageError(
            f"{name!s:.60} is no problem, it lacks {', '.join(missing)}: see"
            " stemtheory.oracles.Problem, build a separable loss with Family, or say how it is made"
            " with ProblemMaker."
        )
