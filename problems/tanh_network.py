r"""A network with one hidden layer of tanh units on images: z = V tanh(W a + w) + v.

f^(k) is the mean cross entropy over worker k's own images a_i. x holds W, w, V, v in this order;
``hidden`` (32) is the number of units. By hand, with h = tanh(W a + w):

    dz = softmax(z) - onehot(y),   dV = dz h',   dv = dz
    du = (V' dz)(1 - h^2),         dW = du a',   dw = du

Smooth, and nonconvex: permuting the hidden units permutes the minima. L, sigma and zeta are
estimated from below, never proved.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stemtheory.images import ImageFamily, Network, affine, affine_gradient, cross_entropy_gradient
from stemtheory.runtime import whole


@dataclass(frozen=True)
class TanhNetwork:
    """z = V tanh(W a + w) + v."""

    pixels: int
    hidden: int
    classes: int = 10
    chunk: int = 25

    @property
    def shapes(self) -> Sequence[tuple[int, ...]]:
        """W, w, V and v."""
        hidden, classes = self.hidden, self.classes
        return [(hidden, self.pixels), (hidden,), (classes, hidden), (classes,)]

    def inputs(self, images: Any) -> Any:
        """Return the pixels in one column per sample: [n, pixels, B]."""
        return images.reshape(len(images), self.pixels, images.shape[-1])

    def logits(self, weights: list[Any], inputs: Any) -> Any:
        """Return V tanh(W a + w) + v."""
        W, w, V, v = weights
        return affine(V, v, np.tanh(affine(W, w, inputs)))

    def gradient(self, weights: list[Any], inputs: Any, labels: Any, into: list[Any]) -> None:
        """Write dW, dw, dV and dv."""
        W, w, V, v = weights
        h = np.tanh(affine(W, w, inputs))
        dz = cross_entropy_gradient(affine(V, v, h), labels)
        affine_gradient(dz, h, (into[2], into[3]))
        h *= h
        du = np.swapaxes(V, 1, 2) @ dz
        du -= du * h
        affine_gradient(du, inputs, (into[0], into[1]))


def make(shape: tuple[int, int, int], hidden: int = 32) -> Network:
    """Return the network for images of this shape."""
    return TanhNetwork(math.prod(shape), whole("hidden", hidden))


ENTRY = ImageFamily(
    name="tanh_network",
    summary="one hidden layer of tanh units on real images",
    formula=(
        r"f^{(k)}(x) = \frac{1}{n} \sum_i \left[\log \sum_c e^{z_c} - z_{y_i}\right],"
        r" \quad z = V \tanh(W a_i + w) + v"
    ),
    network=make,
    own={"hidden": 32},
    visible="The paper's comparison of algorithms at a size that two cores finish in a minute.",
)
