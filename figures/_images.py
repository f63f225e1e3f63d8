"""The runs behind the paper's figures on images: settings by mode, tuning, and what was measured.

Two rows are always run. In the first, step sizes are the paper's: 0.1 (large minibatch) or 0.01
(small) for FedAvg and SCAFFOLD, and for STEM the best pair with kappa and cbar in the paper's
ranges. In the second, all three are tuned on the same terms: by the training loss after a third of
the rounds, on a seed that is not among those shown. Both rows hold "FedAvg on STEM's schedule",
which has STEM's step sizes and nothing else of it.

Paper: sec: Experiments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stemtheory.figures._image_table import (
    BORROWED,
    FEDAVG,
    SCAFFOLD,
    STEM,
    ImageCase,
    Trained,
    table_of,
)
from stemtheory.images import (
    History,
    ImageProblem,
    PerEpoch,
    Training,
    available,
    missing,
    train,
)
from stemtheory.images.training import estimates
from stemtheory.oracles import load_problem
from stemtheory.report import FigureTable, Progress, writable_folder
from stemtheory.runtime import UsageError, numpy_backend
from stemtheory.schedules import Constant, Schedule

SEED = 0
TUNING_SEED = 1000
LARGE = 64  # a minibatch of this size is large, in the paper's words
RESULTS = Path("results")  # where --full keeps its checkpoints

ALGORITHM = {STEM: "stem", FEDAVG: "fedavg", SCAFFOLD: "scaffold", BORROWED: "fedavg"}
PAPER_ROW, TUNED_ROW = "the paper's step sizes", "tuned step sizes"
ROWS = (PAPER_ROW, TUNED_ROW)


# -- settings

CLASSES = {2: 10, 3: 10, 4: 5, 5: 5}
PAPER_I = {2: (61,), 3: (7,), 4: (61,), 5: (67, 536)}


def case_of(figure: int, mode: str) -> ImageCase:
    """Return the settings of one figure in one mode, on the best data that is there.

    Raises
    ------
    UsageError
        If no data are there; it says what to install.
    """
    b, classes = (LARGE if figure == 3 else 8), CLASSES[figure]
    return {"quick": _quick, "default": _default, "full": _full}[mode](figure, b, classes)


def _quick(figure: int, b: int, classes: int) -> ImageCase:
    local = (16, 128) if figure == 5 else (130 // b,)
    rounds = (32, 4) if figure == 5 else (30,)
    dials = {"data": "digits", "hidden": 16, "train": 130, "test": 40, "classes": classes}
    return ImageCase("tanh_network", dials, 10, b, local, rounds, 2, (0, 1, 2), 0.9)


def _default(figure: int, b: int, classes: int) -> ImageCase:
    dials: dict[str, Any]
    if figure == 5:
        dials = {"data": "mnist-5k", "shrink": 2, "layers": "small", "classes": classes}
        return ImageCase("cnn", dials, 10, b, (50, 400), (32, 4), 2, (0, 1, 2), 0.9)
    if available("fashion-mnist"):
        dials = {
            "data": "fashion-mnist",
            "shrink": 2,
            "hidden": 32,
            "classes": classes,
        }
        dials |= {"train": 490, "test": 90}
        return ImageCase("tanh_network", dials, 100, b, (490 // b,), (30,), 3, (0, 1, 2), 0.8)
    dials = {"data": "mnist-5k", "shrink": 2, "hidden": 32, "classes": classes}
    return ImageCase("tanh_network", dials, 10, b, (400 // b,), (30,), 3, (0, 1, 2), 0.8)


def _full(figure: int, b: int, classes: int) -> ImageCase:
    wanted = ("mnist", "fashion-mnist") if figure == 5 else ("cifar10", "fashion-mnist")
    data = next((name for name in wanted if available(name)), None)
    if data is None:
        raise UsageError(
            f"paper_figure{figure} --full needs {wanted[0]} in a folder below the one that"
            " STEMTHEORY_DATA names, or Fashion-MNIST: apt-get install dataset-fashion-mnist."
        )
    train, test = (540, 80) if figure == 5 else (490, 90)
    dials: dict[str, Any] = {"data": data, "layers": "cifar" if data == "cifar10" else "mnist"}
    dials |= {"shrink": 1, "train": train, "test": test, "classes": classes}
    rounds = (64, 8) if figure == 5 else (60,)
    return ImageCase("cnn", dials, 100, b, PAPER_I[figure], rounds, 4, (0, 1, 2), 0.75)


def lacks(figure: int, mode: str) -> str | None:
    """Return in one sentence what to install for a figure, or None where its data are there."""
    try:
        return missing(case_of(figure, mode).dials["data"])
    except UsageError as error:
        return str(error)


def problem_of(case: ImageCase) -> ImageProblem:
    """Return the problem of a case, in float32."""
    made = load_problem(case.problem, K=case.K, **case.dials)
    assert isinstance(made, ImageProblem)
    return made.place(numpy_backend("figures of images"), np.dtype(np.float32))


# -- tuning

FIRST_RATES, MOST = (0.1, 0.3, 1.0), 10.0
CBARS = (1.0, 3.0, 10.0)


def paper_rate(b: int) -> float:
    """Return the paper's step of FedAvg and SCAFFOLD."""
    return 0.1 if b >= LARGE else 0.01


def top_kappa(b: int) -> float:
    """Return the largest kappa of the paper's range for this b; smaller ones are slower here."""
    return 0.5 if b >= LARGE else 0.1


class ImageSteps(NamedTuple):
    """Step sizes of one row."""

    stem: PerEpoch
    fedavg: float
    scaffold: float


Try = Callable[[str, Schedule], float]


def tune(case: ImageCase, attempt: Try, epoch: int) -> dict[str, ImageSteps]:
    """Return the step sizes of both rows; ``attempt`` returns the loss of a short run."""
    top, rate = top_kappa(case.b), paper_rate(case.b)

    def best_cbar(kappa: float) -> PerEpoch:
        losses = {c: attempt("stem", PerEpoch(kappa, c, epoch)) for c in CBARS}
        return PerEpoch(kappa, least(losses), epoch)

    paper = best_cbar(top)
    kappas = (top, 2 * top, 4 * top)
    kappa = climb(lambda k: attempt("stem", PerEpoch(k, paper.cbar, epoch)), kappas)
    fedavg, scaffold = (
        climb(lambda rate, name=name: attempt(name, Constant(rate)), FIRST_RATES)  # type: ignore[misc]
        for name in ("fedavg", "scaffold")
    )
    stem = paper if kappa == top else best_cbar(kappa)
    return {PAPER_ROW: ImageSteps(paper, rate, rate), TUNED_ROW: ImageSteps(stem, fedavg, scaffold)}


def climb(loss: Callable[[float], float], first: tuple[float, ...]) -> float:
    """Return the value with the least loss, going on beyond either end of ``first`` if need be."""
    seen = {value: loss(value) for value in first}
    while True:
        best, low, high = least(seen), min(seen), max(seen)
        if best == high and high < MOST:
            value = high * first[-1] / first[-2]
        elif best == low and low > 1 / MOST**2:
            value = low * first[0] / first[1]
        else:
            return best
        value = float(f"{value:.1g}")
        if value in seen:
            return best
        seen[value] = loss(value)


def least(losses: dict[float, float]) -> float:
    """Return the key of the least loss; a diverged run never wins."""
    return min(losses, key=lambda key: losses[key] if math.isfinite(losses[key]) else math.inf)


def schedules(tuned: ImageSteps) -> dict[str, Schedule]:
    """Return the schedule of every curve of a row."""
    return {
        STEM: tuned.stem,
        FEDAVG: Constant(tuned.fedavg),
        SCAFFOLD: Constant(tuned.scaffold),
        BORROWED: tuned.stem,
    }


# -- runs


def compare(figure: int, mode: str, progress: Progress) -> FigureTable:
    """Return all curves of one figure, run now; ``full`` resumes from its checkpoints."""
    case = case_of(figure, mode)
    problem = problem_of(case)
    epoch = max(1, problem.size // case.b)
    folder = writable_folder(RESULTS / f"paper_figure{figure}") if mode == "full" else None
    curves: list[Trained] = []
    for I, rounds in zip(case.local, case.rounds, strict=True):
        run = _Runner(case, problem, I, rounds, folder, progress)
        progress(f"paper_figure{figure}: tuning step sizes at I = {I}")
        for row, tuned in tune(case, run.attempt, epoch).items():
            for name, schedule in schedules(tuned).items():
                progress(f"paper_figure{figure}: {name} at I = {I}, {row}")
                curves.append(Trained(row, name, I, schedule, run.whole(ALGORITHM[name], schedule)))
    met = constants_met(problem, case, curves[0], progress)
    images = {"note": problem.note, "train": problem.size, "test": problem.test_labels.shape[1]}
    facts = {"figure": figure, "mode": mode, "dim": problem.dim, "met": met, **images}
    return table_of(curves, case, **facts)


def constants_met(
    problem: ImageProblem, case: ImageCase, stem: Trained, progress: Progress
) -> tuple[float, float, float]:
    """Return the larger L, sigma and zeta of two: at the start, and after a third of STEM's run."""
    progress("estimating L, sigma and zeta along a run of STEM: minutes, for a large network")
    rounds = max(1, case.rounds[0] // 3)
    run = Training("stem", stem.schedule, rounds, stem.I, case.b)
    found = estimates(problem, run, points=1)
    return found.L, found.sigma, found.zeta


@dataclass(frozen=True)
class _Runner:
    """Runs one algorithm after the other on the same problem; what rows share is run once."""

    case: ImageCase
    problem: ImageProblem
    I: int
    rounds: int
    folder: Path | None
    progress: Progress
    done: dict[tuple[object, ...], History] = field(default_factory=dict)

    def attempt(self, algorithm: str, schedule: Schedule) -> float:
        """Return the training loss after a third of the rounds, on the seed for tuning."""
        rounds = max(1, self.rounds // 3)
        training = self._training(algorithm, schedule, rounds, (TUNING_SEED,), rounds)
        return float(self._train(training, "tuning-").loss[0, -1])

    def whole(self, algorithm: str, schedule: Schedule) -> History:
        """Return the history of a whole run."""
        every = self.case.every if self.rounds > 10 else 1
        training = self._training(algorithm, schedule, self.rounds, self.case.seeds, every)
        return self._train(training)

    def _train(self, training: Training, prefix: str = "") -> History:
        """Return the history of a training; with a folder it is kept there and goes on from it."""
        key = (prefix, training.algorithm, training.schedule)
        if key not in self.done:
            self.done[key] = self._trained(training, prefix)
        return self.done[key]

    def _trained(self, training: Training, prefix: str) -> History:
        if self.folder is None:
            return train(self.problem, training)
        numbers = "-".join(f"{v:g}" for v in training.schedule.parameters().values())
        name = f"{prefix}{self.case.dials['data']}-{training.algorithm}-{training.I}-{numbers}"
        path = self.folder / f"{name}.npz"
        return train(self.problem, training, checkpoint=path, progress=self.progress)

    def _training(
        self, algorithm: str, schedule: Schedule, rounds: int, seeds: tuple[int, ...], every: int
    ) -> Training:
        return Training(algorithm, schedule, rounds, self.I, self.case.b, seeds, every)
