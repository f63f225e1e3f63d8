"""Tiny synthetic images, so that image problems can be tested without any data set."""

from typing import Any

import numpy as np

from stemtheory.images.data_sets import Images
from stemtheory.images.problem import ImageProblem
from stemtheory.oracles.catalogue import problem_entry

# name, shape of the images, own dials: small, with odd sizes and the paper's two architectures
CASES: list[tuple[str, tuple[int, int, int], dict[str, Any]]] = [
    ("softmax_regression", (1, 3, 2), {}),
    ("tanh_network", (1, 3, 2), {"hidden": 4}),
    ("cnn", (2, 11, 12), {"layers": "small"}),
    ("cnn", (1, 16, 17), {"layers": "mnist"}),
    ("cnn", (3, 16, 16), {"layers": "cifar"}),
]
IDS = [f"{name}-{next(iter(own.values()), '')}" for name, _, own in CASES]


def toy(shape: tuple[int, int, int] = (1, 3, 2), n: int = 60, levels: int = 256) -> Images:
    """Return n training and n test images; few ``levels`` make ties in the poolings likely."""
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence(6)))
    labels = np.arange(n) % 10
    pixels = rng.integers(0, levels, (2, n, *shape)).astype(np.uint8)
    return Images("toy", pixels[0], labels, pixels[1], labels, "toy images")


def toy_problem(case: int, K: int = 3, **dials: Any) -> ImageProblem:
    """Return one of the cases on toy images, with the regulariser switched on."""
    name, shape, own = CASES[case]
    sizes: dict[str, Any] = {"train": 8, "test": 5, "alpha": 0.03}
    made = problem_entry(name).on(toy(shape), K, **{**sizes, **own, **dials})
    assert isinstance(made, ImageProblem)
    return made


def starts(problem: ImageProblem) -> Any:
    """Return a start of its own for every worker, [K, dim]."""
    return np.stack([problem.start(seed) for seed in range(problem.K)])


def stream(seed: int = 0) -> np.random.Generator:
    """Return a generator."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed)))
