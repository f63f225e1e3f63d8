"""Problems whose gradients are no numbers: everywhere, at some points, or at one worker."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from stemtheory import load_problem
from stemtheory.oracles import Problem, ProblemMaker


class Unsound:
    """A quadratic; ``lose`` is where its gradients, of shape [..., K or 1, dim], are NaN."""

    separable = False

    def __init__(self, sound: Problem, lose: Any) -> None:
        self.sound, self.lose = sound, lose

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("sound", "lose"):  # unpickling asks before they are
            raise AttributeError(name)
        return getattr(self.sound, name)

    def place(self, backend: Any, dtype: Any) -> Self:
        return type(self)(self.sound.place(backend, dtype), self.lose)

    def full_gradient(self, x: Any) -> Any:
        everyone = np.repeat(x[..., None, :], self.sound.K, axis=-2)
        return self.gradient(everyone).mean(axis=-2)

    def gradient(self, x: Any) -> Any:
        return np.where(self.lose(x), np.nan, self.sound.gradient(x))

    def evaluate(self, x: Any) -> Any:
        return x, self.sound.evaluate(x)

    def combine(self, evaluation: Any, minibatch: Any) -> Any:
        x, inner = evaluation
        return np.where(self.lose(x), np.nan, self.sound.combine(inner, minibatch))

    def stochastic_gradient(self, x: Any, minibatch: Any) -> Any:
        return self.combine(self.evaluate(x), minibatch)


def everywhere(x: Any) -> Any:
    return np.ones(x.shape, bool)


def near_the_end(x: Any) -> Any:
    return x < 0.9  # runs begin at 1 and come here


def first_worker(x: Any) -> Any:
    return np.broadcast_to(np.arange(x.shape[-2])[:, None] == 0, x.shape)


def _maker(lose: Any) -> ProblemMaker:
    return ProblemMaker(
        lambda K, dim, **dials: Unsound(load_problem("quadratic", K=K, dim=dim, **dials), lose)
    )


EVERYWHERE, SOMEWHERE, ONE_WORKER = map(_maker, (everywhere, near_the_end, first_worker))
