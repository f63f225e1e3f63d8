"""What a network is: a flat vector of parameters per worker, and its loss and gradient by hand.

A network is bound to the shape of its images. Its parameters are one vector per worker, cut into
the arrays that ``shapes`` lists; ``inputs`` prepares a minibatch once (for a convolution, the
columns of the first layer), and any number of points can be evaluated on it: STEM takes two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from stemtheory.runtime import Floats

Shapes = Sequence[tuple[int, ...]]


class Network(Protocol):
    """A classifier of images into ten classes; arrays are [n, ..., B], n workers, B samples."""

    @property
    def shapes(self) -> Shapes:
        """The shapes of its parameters: weights [out, in] and biases [out] in turn."""

    @property
    def chunk(self) -> int:
        """How many workers one call advances fastest: what fits into a cache."""

    def inputs(self, images: Any) -> Any:
        """Return what evaluations of the same minibatch share: images [n, C, H, W, B]."""

    def logits(self, weights: list[Any], inputs: Any) -> Any:
        """Return the logits [n, 10, B] of one set of weights per worker."""

    def gradient(self, weights: list[Any], inputs: Any, labels: Any, into: list[Any]) -> None:
        """Write the gradient of the mean loss of each worker's minibatch into views ``into``."""


def dimension(shapes: Shapes) -> int:
    """Return P, how many parameters there are."""
    return sum(math.prod(shape) for shape in shapes)


def unpack(x: Any, shapes: Shapes) -> list[Any]:
    """Return views of x [n, P] in the shapes of the parameters: [n, *shape] each."""
    views, start = [], 0
    for shape in shapes:
        end = start + math.prod(shape)
        views.append(x[:, start:end].reshape(len(x), *shape))
        start = end
    return views


def starting_point(shapes: Shapes, stream: np.random.Generator) -> Floats:
    """Return a random start [P]: uniform within 1/sqrt(inputs) of 0, weights and biases alike."""
    parts, fan_in = [], 1
    for shape in shapes:
        if len(shape) > 1:
            fan_in = shape[1]  # a bias follows its weights
        parts.append(stream.uniform(-1, 1, math.prod(shape)) / math.sqrt(fan_in))
    return np.concatenate(parts)
