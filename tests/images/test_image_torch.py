"""Gradients by hand against torch autograd; skipped where torch is not installed."""

import importlib.util
from typing import Any

import numpy as np
import pytest

from stemtheory.images.networks import unpack
from stemtheory.images.problem import ImageProblem
from stemtheory.runtime.backend import numpy_backend
from tests.helpers.images_toy import CASES, IDS, starts, stream, toy, toy_problem

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
]
# Of the largest entry of a gradient; float32 carries 24 bits through some hundred additions.
LIMITS = {"float64": 1e-10, "float32": 1e-4}


def autograd(problem: ImageProblem, x: Any, lists: Any, worker: int) -> Any:
    """Return the minibatch gradient of one worker, from torch, in the dtype of x."""
    import torch
    from torch.nn import functional

    flat = torch.tensor(x[worker], requires_grad=True)
    images = problem.pixels[worker][lists[worker]].astype(x.dtype) - x.dtype.type(problem.centre)
    a = torch.tensor(images * x.dtype.type(problem.scale))
    labels = torch.tensor(problem.labels[worker][lists[worker]])
    sizes = [int(np.prod(shape)) for shape in problem.network.shapes]
    parts = [
        part.reshape(shape)
        for part, shape in zip(flat.split(sizes), problem.network.shapes, strict=True)
    ]
    if problem.name == "cnn":
        side = problem.network.widths.side  # type: ignore[attr-defined]
        for W, w in ((parts[0], parts[1]), (parts[2], parts[3])):
            kernel = W.reshape(len(W), -1, side, side)
            a = functional.relu(functional.max_pool2d(functional.conv2d(a, kernel, w), 2))
        parts = parts[4:]
    a = a.flatten(1)
    for layer in range(0, len(parts), 2):
        a = functional.linear(a, parts[layer], parts[layer + 1])
        if layer < len(parts) - 2:
            a = torch.tanh(a) if problem.name == "tanh_network" else functional.relu(a)
    penalty = problem.alpha * (flat * flat / (1 + flat * flat)).sum()
    (functional.cross_entropy(a, labels) + penalty).backward()
    assert flat.grad is not None
    return flat.grad.numpy()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("case", range(len(CASES)), ids=IDS)
def test_gradients_agree_with_autograd(case: int, dtype: str) -> None:
    problem = toy_problem(case).place(numpy_backend("test"), np.dtype(dtype))
    x = starts(problem).astype(dtype)
    lists = problem.draw(stream(1), (), 5, np.dtype(dtype))
    ours = problem.stochastic_gradient(x, lists)
    assert ours.dtype == np.dtype(dtype)
    for worker in range(problem.K):
        theirs = autograd(problem, x, lists, worker)
        error = np.abs(ours[worker] - theirs).max() / np.abs(theirs).max()
        assert error <= LIMITS[dtype]


def test_ties_of_the_pooling_are_broken_as_in_torch() -> None:
    """Images of two grey levels and weights of three values: most squares have ties."""
    from stemtheory.oracles.catalogue import problem_entry

    entry = problem_entry("cnn")
    problem = entry.on(toy((1, 12, 13), levels=2), 2, train=8, test=5, layers="small")
    x = np.round(2 * starts(problem)) / 2
    lists = problem.draw(stream(1), (), 5, np.dtype(np.float64))
    first = problem.network.logits(unpack(x, problem.network.shapes), problem.gather(lists).inputs)
    assert np.isfinite(first).all()
    ours = problem.stochastic_gradient(x, lists)
    for worker in range(problem.K):
        np.testing.assert_allclose(ours[worker], autograd(problem, x, lists, worker), atol=1e-12)
