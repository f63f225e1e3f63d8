"""A problem that goes wrong on demand, wherever its cell happens to run: ``fault=NAME``."""

import os
import signal
import time
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from stemtheory import load_problem
from stemtheory.oracles.problem import Problem, ProblemMaker
from stemtheory.runtime.backend import Backend

FAULTS = (
    *("none", "segfault", "kill", "end", "exit", "base", "raise", "memory", "nan", "kill-once"),
    *("print", "sleep"),
)


class Odd(BaseException):
    """What ``except Exception`` does not catch."""


def made(K: int = 4, dim: int = 8, fault: str = "none", mark: str = "", **dials: Any) -> Any:
    """Return a quadratic with a fault; ``mark`` is the file that remembers a first death."""
    assert fault in FAULTS
    return Faulty(load_problem("quadratic", K=K, dim=dim, **dials), fault, mark)


ENTRY = ProblemMaker(made)


@dataclass(frozen=True)
class Faulty:
    """Everything comes from ``sound``; the fault strikes when a run begins."""

    sound: Problem
    fault: str
    mark: str
    name: str = "tests.experiment.faulty:ENTRY"

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # unpickling asks before ``sound`` is there
            raise AttributeError(attribute)
        return getattr(self.sound, attribute)

    def place(self, backend: Backend, dtype: np.dtype[Any]) -> Self:
        _strike(self.fault, self.mark)
        return type(self)(self.sound.place(backend, dtype), self.fault, self.mark)

    def full_gradient(self, x: Any) -> Any:
        gradient = self.sound.full_gradient(x)
        # The first replicate alone: the others must not notice.
        if self.fault == "nan" and gradient.ndim > 1:
            gradient = gradient.copy()
            gradient[0, 0] = np.nan
        return gradient


def _strike(fault: str, mark: str) -> None:
    if fault == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    if fault == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "end":
        os._exit(7)
    if fault == "exit":
        raise SystemExit("the module ends it")
    if fault == "base":
        raise Odd("no exception")
    if fault == "print":
        print("a cell speaks")
    if fault == "sleep":
        time.sleep(600)
    if fault == "raise":
        raise RuntimeError("this cell raises")
    if fault == "memory":
        raise MemoryError("no room for this array")
    if fault == "kill-once" and not os.path.exists(mark):  # noqa: PTH110
        with open(mark, "x", encoding="utf-8"):  # noqa: PTH123
            os.kill(os.getpid(), signal.SIGKILL)
